import { Hash } from "../parts/hash.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { counted } from "../words/amounts.ts";
import { networkName } from "../words/names.ts";
import { useAction } from "./acting.ts";
import type { QuarantinedEscrow } from "./answers.ts";
import { QUARANTINE } from "./api.ts";
import { Outcome } from "./form-parts.tsx";
import { ListBody, ListHead } from "./list-parts.tsx";
import { useList } from "./lists.ts";

/** Escrows whose moves couldn't be applied, with the error of each. */
export function QuarantineView() {
  const reading = useList<QuarantinedEscrow>(QUARANTINE);
  return (
    <>
      <ListHead title="Quarantine" of={reading} />
      <p class="lead">
        A move of each of these escrows couldn't be applied, so its events wait. No money waits: the chain has it. A
        worker retries each by itself, after 5 seconds to an hour.
      </p>
      <ListBody of={reading} name="Quarantined escrows" empty="No escrow is in quarantine.">
        {(escrow) => <Escrow key={escrow.id} escrow={escrow} />}
      </ListBody>
    </>
  );
}

function Escrow({ escrow }: { escrow: QuarantinedEscrow }) {
  const { id, network, escrowId, error, attempts, at, retryAt } = escrow;
  const { step, send } = useAction();
  const retry = () =>
    send<object>(
      `${QUARANTINE}/${encodeURIComponent(id)}`,
      { method: "POST", body: {} },
      () => "A worker retries it now. Read again in a few seconds: if it is gone, it was applied.",
    );
  return (
    <li class="panel">
      <h2>
        <Hash value={escrowId} what="the escrow's id" to={`/deals/${escrowId}?network=${network}`} isApart />{" "}
        <span class="aside">{networkName(network)}</span>
      </h2>
      <p class="words">
        <strong>{error.name}</strong>: <StrangersText text={error.message} />
      </p>
      <p class="aside">
        {counted(attempts, "attempt")}, the first <Time at={at} />, the next{" "}
        {retryAt === null ? "as soon as a worker gets to it" : <Time at={retryAt} />}
      </p>
      <div class="buttons">
        <button type="button" class="quiet" disabled={step.at === "sending"} onClick={() => void retry()}>
          Retry now
        </button>
      </div>
      <Outcome step={step} />
    </li>
  );
}
