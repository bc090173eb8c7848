import { useState } from "preact/hooks";

import { NETWORKS } from "../data/answers.ts";
import type { Network } from "../data/answers.ts";
import { useNow } from "../parts/browser.ts";
import { Hash } from "../parts/hash.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { counted } from "../words/amounts.ts";
import { networkName } from "../words/names.ts";
import { OUTCOMES } from "../words/states.ts";
import { useAction } from "./acting.ts";
import type { OpenDispute } from "./answers.ts";
import { openDisputesPath, rulingPath } from "./api.ts";
import { Choice, IdField, Outcome, TextField, textOf } from "./form-parts.tsx";
import { ListBody, ListHead } from "./list-parts.tsx";
import { useList } from "./lists.ts";
import { problemWords } from "./words.ts";

const RATIONALE_LENGTH = 5_000;
const WHOLE = 100;
const OFTEN_MS = 10_000;

/** The open disputes of a network with what holds their rulings, and the form of an admin's ruling. */
export function RulingsView() {
  const [network, setNetwork] = useState<Network>("base-sepolia");
  const [disputeId, setDisputeId] = useState("");
  const reading = useList<OpenDispute>(openDisputesPath(network));
  return (
    <>
      <ListHead title="Rulings" of={reading} />
      <div class="buttons" role="group" aria-label="Network">
        {NETWORKS.map((one) => (
          <button
            key={one}
            type="button"
            class="quiet"
            aria-pressed={one === network}
            onClick={() => {
              setNetwork(one);
            }}
          >
            {networkName(one)}
          </button>
        ))}
      </div>
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
  const isOver = Date.parse(evidenceEndsAt) <= now;
  return (
    <li class="panel">
      <h2>
        Dispute <Hash value={disputeId} what="the dispute's id" />
      </h2>
      <p>
        {isOver ? "The time for evidence ended" : "The time for evidence ends"} <Time at={evidenceEndsAt} />.{" "}
        {ruling === null ? "It has no ruling yet." : rulingWords(ruling)}
      </p>
      {ruling !== null && ruling.problem !== null && (
        <p>
          <code>{ruling.problem}</code>: {problemWords(ruling.problem)}
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
      <p class="links">
        <a href={`/deals/${escrowId}?network=${network}`}>Its deal</a>
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
  const submit = async (form: HTMLFormElement) => {
    const disputeId = textOf(form, "disputeId");
    const body = { outcome, ...sharesOf(form), rationale: textOf(form, "rationale") };
    const ruled = await send<object>(
      rulingPath(disputeId),
      { method: "POST", body },
      () => "The ruling is stored. A worker puts it on chain with the admin resolver's key.",
    );
    if (ruled !== undefined) onRuled();
  };
  return (
    <form
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
