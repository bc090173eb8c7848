import type { KeptSession } from "../data/answers.ts";
import { useNow } from "../parts/browser.ts";
import { ApprovalSection } from "./approval-list.tsx";
import { KeySection } from "./key-list.tsx";
import { readApprovals } from "./keys-data.ts";
import type { ApprovalsData, KnownKeys } from "./keys-data.ts";
import { Freshness, useLive } from "./live.tsx";

const EACH_SECOND_MS = 1_000;

/** Keys with their mandates, and the purchases above them. */
export function KeysPage({
  session,
  known,
  onKnown,
  onEnded,
}: {
  session: KeptSession;
  /** The keys, if the wallet has had them shown since the sign-in. */
  known: KnownKeys | undefined;
  onKnown: (keys: KnownKeys) => void;
  onEnded: () => void;
}) {
  const live = useLive<ApprovalsData>(session, () => readApprovals(session), onEnded);
  const { data } = live;
  const now = useNow(EACH_SECOND_MS) ?? data?.readAt ?? 0;
  return (
    <>
      <div class="title">
        <h1>Keys and mandates</h1>
      </div>
      <Freshness of={live} what="Reading what your keys have asked for…" />
      {data !== undefined && (
        <ApprovalSection data={data} now={now} session={session} onDecided={live.refresh} onEnded={onEnded} />
      )}
      <KeySection
        session={session}
        known={known}
        onKnown={(keys) => {
          onKnown(keys);
          // What ended keys have asked for is void.
          live.refresh();
        }}
        onEnded={onEnded}
      />
    </>
  );
}
