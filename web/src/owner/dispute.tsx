import { useRef, useState } from "preact/hooks";

import type { Dispute } from "../../../sdk/src/generated/api-types.ts";
import { useNow } from "../parts/browser.ts";
import { Notice } from "../parts/notice.tsx";
import { State } from "../parts/state.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { askApi, saysEnded } from "./api.ts";
import { disputePath } from "./deal-data.ts";
import { DISPUTE_STATES, disputeRefusal, EVIDENCE_BOUNDS, EVIDENCE_TYPES, evidenceBody } from "./dispute-words.ts";
import type { Side } from "./dispute-words.ts";
import { EvidenceForm } from "./evidence-form.tsx";
import { Left } from "./left.tsx";
import { isSame } from "./needs.ts";
import { Settlement } from "./settlement.tsx";
import type { DisputeProps } from "./settlement.tsx";

const EACH_SECOND_MS = 1_000;

/** A dispute for one of its parties: what both have said, what it may add, and how both may end it. */
export function DisputeSection(props: DisputeProps) {
  const { session, dispute, terms, readAt, onChanged } = props;
  const { deal } = terms;
  const side: Side = isSame(deal.sellerAddress, session.walletAddress) ? "seller" : "buyer";
  const acts = session.scopes.includes(side === "seller" ? "sell" : "buy");
  const now = useNow(EACH_SECOND_MS) ?? readAt;
  return (
    <section class="spaced" aria-labelledby="dispute">
      <h2 id="dispute">The dispute</h2>
      <p>
        <State words={DISPUTE_STATES[dispute.status]} name={dispute.status} /> {DISPUTE_STATES[dispute.status].meaning}
      </p>
      {dispute.status === "open" && <Left until={dispute.evidenceDeadline} now={now} />}
      <Said dispute={dispute} side={side} />
      {deal.status === "disputed" && (
        <div class="buttons">
          <button type="button" class="quiet" onClick={onChanged}>
            Look for what the other party has added
          </button>
        </div>
      )}
      {dispute.status === "open" && acts && <Saying {...props} side={side} />}
      {deal.status === "disputed" && !acts && (
        <Notice>This session only sees. To submit evidence or offer a settlement, sign in with “See and act”.</Notice>
      )}
      <Settlement {...props} side={side} acts={acts} />
    </section>
  );
}

/** What both parties have said. */
function Said({ dispute: { reason, evidence, complete }, side }: { dispute: Dispute; side: Side }) {
  const whose = (by: Side) => (by === side ? "You" : `The ${by}`);
  return (
    <ul class="messages" aria-label="What both parties have said">
      <li class="panel">
        <p class="aside">{whose("buyer")} · what is wrong</p>
        <p class="text">{reason === null ? "Nothing yet." : <StrangersText text={reason} />}</p>
      </li>
      {evidence.map(({ evidenceId, submittedBy, type, description, attachments, submittedAt }) => (
        <li key={evidenceId} class="panel">
          <p class="aside">
            {whose(submittedBy)} · {EVIDENCE_TYPES[type]} · <Time at={submittedAt} />
          </p>
          <p class="text">
            <StrangersText text={description} />
          </p>
          {attachments.map((address) => (
            <p key={address} class="aside">
              <StrangersText text={address} />
            </p>
          ))}
        </li>
      ))}
      <li class="aside">
        {(["buyer", "seller"] as const)
          .map((by) => `${whose(by)}: ${complete[by] ? "nothing more to add" : "may add evidence"}`)
          .join(". ")}
        .
      </li>
    </ul>
  );
}

/** The forms of a party whose evidence is open. */
function Saying({ session, dispute, terms, side, onChanged, onEnded }: DisputeProps & { side: Side }) {
  const { transactionId } = terms.deal;
  const submitted = dispute.evidence.filter(({ submittedBy }) => submittedBy === side).length;
  const isFull = submitted >= EVIDENCE_BOUNDS.items;
  if (dispute.complete[side]) return <p class="aside">You have marked your evidence complete.</p>;
  return (
    <>
      {side === "buyer" && dispute.reason === null && (
        <EvidenceForm
          session={session}
          name="Say what is wrong"
          label="What is wrong with the delivery? You say it once"
          isItem={false}
          path="/api/v1/disputes"
          bodyOf={({ text }) => ({ transactionId, reason: text.trim() })}
          onSent={onChanged}
          onEnded={onEnded}
        />
      )}
      {isFull ? (
        <p class="aside">You have submitted {submitted} items of evidence, which is the most.</p>
      ) : (
        <EvidenceForm
          session={session}
          name="Submit evidence"
          label="What should the ruling take into account?"
          isItem
          path={`${disputePath(dispute.disputeId)}/evidence`}
          bodyOf={evidenceBody}
          onSent={onChanged}
          onEnded={onEnded}
        />
      )}
      <Completing session={session} dispute={dispute} onChanged={onChanged} onEnded={onEnded} />
    </>
  );
}

const CREATED = 201;

/** Says that nothing more comes. */
function Completing({
  session,
  dispute,
  onChanged,
  onEnded,
}: Pick<DisputeProps, "session" | "dispute" | "onChanged" | "onEnded">) {
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const operation = useRef(crypto.randomUUID());
  const send = async () => {
    setBusy(true);
    const request = { method: "POST", body: { complete: true }, operation: operation.current } as const;
    const answer = await askApi(`${disputePath(dispute.disputeId)}/evidence`, request, session);
    setBusy(false);
    if (saysEnded(answer)) onEnded();
    else if (answer.status === CREATED) onChanged();
    else setProblem(disputeRefusal(answer));
  };
  const opens = (next: boolean) => () => {
    setOpen(next);
    setProblem(undefined);
  };
  if (!isOpen) {
    return (
      <div class="buttons">
        <button type="button" class="quiet" onClick={opens(true)}>
          Complete your evidence…
        </button>
      </div>
    );
  }
  return (
    <div class="panel now move">
      <p>
        <strong>Nothing more comes from you. It can't be taken back.</strong> The ruling comes once both parties have
        said so.
      </p>
      {problem !== undefined && <Notice tone="care">{problem}</Notice>}
      <div class="buttons">
        <button type="button" class="main" disabled={isBusy} onClick={() => void send()}>
          Complete it
        </button>
        <button type="button" class="quiet" onClick={opens(false)}>
          Cancel
        </button>
      </div>
    </div>
  );
}
