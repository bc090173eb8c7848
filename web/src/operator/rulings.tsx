import { useEffect, useRef, useState } from "preact/hooks";

import { NETWORKS } from "../data/answers.ts";
import type { Network } from "../data/answers.ts";
import { rulingsAddress } from "../data/operator-place.ts";
import { useNow } from "../parts/browser.ts";
import { Hash } from "../parts/hash.tsx";
import { ViewLink } from "../parts/live.tsx";
import { State } from "../parts/state.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { counted } from "../words/amounts.ts";
import { networkName } from "../words/names.ts";
import { OUTCOMES } from "../words/states.ts";
import { useAction } from "./acting.ts";
import type { OpenDispute } from "./answers.ts";
import { openDisputesPath, rulingPath } from "./api.ts";
import { Case } from "./case.tsx";
import { Choice, IdField, Outcome, TextField, textOf } from "./form-parts.tsx";
import { ListBody, ListHead } from "./list-parts.tsx";
import { useList } from "./lists.ts";
import { OVERDUE, problemWords } from "./words.ts";

const RATIONALE_LENGTH = 5_000;
const WHOLE = 100;
const OFTEN_MS = 10_000;
/** From here on `/ready` counts a dispute as overdue. */
const OVERDUE_MS = 600_000;

/** The open disputes of a network with what holds their rulings, and the form of an admin's ruling. */
export function RulingsView({ network }: { network: Network }) {
  const [disputeId, setDisputeId] = useState("");
  const reading = useList<OpenDispute>(openDisputesPath(network));
  return (
    <>
      <ListHead title="Rulings" of={reading} />
      <nav class="switch within" aria-label="Network">
        {NETWORKS.map((one) => (
          <ViewLink key={one} to={rulingsAddress(one)} isCurrent={one === network}>
            {networkName(one)}
          </ViewLink>
        ))}
      </nav>
      <div class="beside">
        <ListBody
          of={reading}
          name={`Open disputes on ${networkName(network)}, the most urgent first`}
          empty={`No dispute is open on ${networkName(network)}.`}
        >
          {(dispute) => <Open key={dispute.disputeId} dispute={dispute} onRule={setDisputeId} />}
        </ListBody>
        {/* Another dispute is another form. */}
        <RulingForm key={disputeId} disputeId={disputeId} onRuled={reading.refresh} />
      </div>
    </>
  );
}

/** An open dispute, and why its ruling isn't on chain. */
function Open({ dispute, onRule }: { dispute: OpenDispute; onRule: (disputeId: string) => void }) {
  const { disputeId, network, escrowId, evidenceEndsAt, attempts, lastError, ruling } = dispute;
  const now = useNow(OFTEN_MS) ?? 0;
  // By this machine's clock: the chain's may be some seconds apart.
  const overMs = now - Date.parse(evidenceEndsAt);
  return (
    <li class="panel">
      <h2>
        Dispute <Hash value={disputeId} what="the dispute's id" />{" "}
        {overMs > OVERDUE_MS && <State words={OVERDUE} name="overdue" />}
      </h2>
      <p>
        {overMs >= 0 ? "The time for evidence ended" : "The time for evidence ends"} <Time at={evidenceEndsAt} />.{" "}
        {ruling === null ? "It has no ruling yet." : rulingWords(ruling)}
      </p>
      {ruling !== null && ruling.problem !== null && (
        <p class="words">
          <code>{ruling.problem}</code>, <Time at={ruling.since} />: {problemWords(ruling.problem)}{" "}
          {ruling.detail !== null && (
            <span class="aside">
              <StrangersText text={ruling.detail} />
            </span>
          )}
        </p>
      )}
      {attempts > 0 && (
        <p class="words">
          {counted(attempts, "attempt")} to rule failed
          {lastError !== null && (
            <>
              , the last with: <StrangersText text={lastError} />
            </>
          )}
        </p>
      )}
      <Case disputeId={disputeId} />
      <p class="links">
        <a href={`/deals/${escrowId}?network=${network}`} target="_blank">
          Its deal <span class="unseen">in another tab</span>
        </a>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            onRule(disputeId);
          }}
        >
          Rule it
        </button>
      </p>
    </li>
  );
}

/** What became of a ruling. */
function rulingWords({ ruledBy, outcome, state }: NonNullable<OpenDispute["ruling"]>): string {
  const who = ruledBy === "admin" ? "An admin's ruling" : "The ruling";
  const where = state === "held" ? "is held" : `isn't final on chain (${state})`;
  return `${who} ${OUTCOMES[outcome] ?? outcome} ${where}.`;
}

/** Reads the shares of a form: only `Split` has any. */
function sharesOf(form: HTMLFormElement): { buyerPercent?: number; sellerPercent?: number } {
  const given = textOf(form, "buyerPercent");
  if (given === "") return {};
  const buyerPercent = Number(given);
  return { buyerPercent, sellerPercent: WHOLE - buyerPercent };
}

function RulingForm({ disputeId: first, onRuled }: { disputeId: string; onRuled: () => void }) {
  const [outcome, setOutcome] = useState("BuyerRefund");
  const { step, send } = useAction();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // On a telephone the form stands below the list.
    if (first !== "") form.current?.querySelector("select")?.focus();
  }, []);
  const submit = async (filled: HTMLFormElement) => {
    const disputeId = textOf(filled, "disputeId");
    const body = { outcome, ...sharesOf(filled), rationale: textOf(filled, "rationale") };
    const ruled = await send<object>(
      rulingPath(disputeId),
      { method: "POST", body },
      () => "The ruling is stored. A worker puts it on chain with the admin resolver's key.",
    );
    if (ruled !== undefined) onRuled();
  };
  return (
    <form
      ref={form}
      class="panel form"
      aria-labelledby="rule"
      onSubmit={(event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
    >
      <h2 id="rule">Rule as admin</h2>
      <p class="aside">Only while a dispute has no ruling, or one of the system that is held and not signed.</p>
      <IdField name="disputeId" label="Id of the dispute" value={first} />
      <Choice
        name="outcome"
        label="Outcome"
        options={[
          ["BuyerRefund", "For the buyer"],
          ["SellerPaid", "For the seller"],
          ["Split", "Divided between both"],
        ]}
        value={outcome}
        onChoose={setOutcome}
      />
      {outcome === "Split" && (
        <label>
          The buyer's share, in percent
          <input name="buyerPercent" type="number" min={0} max={WHOLE} step={1} required autocomplete="off" />
        </label>
      )}
      <TextField name="rationale" label="Rationale, which both parties read" max={RATIONALE_LENGTH} />
      <label class="choice">
        <input type="checkbox" name="sure" required />
        <span>I have read both sides. A ruling moves the deposit, and nobody can take it back.</span>
      </label>
      <div class="buttons">
        <button type="submit" class="main" disabled={step.at === "sending"}>
          {step.at === "sending" ? "Ruling…" : "Rule the dispute"}
        </button>
      </div>
      <Outcome step={step} />
    </form>
  );
}
