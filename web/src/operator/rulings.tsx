import { useState } from "preact/hooks";

import { NETWORKS } from "../data/answers.ts";
import { Notice } from "../parts/notice.tsx";
import { counted } from "../words/amounts.ts";
import { networkName } from "../words/names.ts";
import { duration } from "../words/times.ts";
import { useAction } from "./acting.ts";
import type { NetworkReadiness } from "./answers.ts";
import { rulingPath } from "./api.ts";
import { Choice, IdField, Outcome, TextField, textOf } from "./form-parts.tsx";
import { ReadyNotice } from "./ready-notice.tsx";
import { useReady } from "./ready.ts";
import { problemWords } from "./words.ts";

const RATIONALE_LENGTH = 5_000;
const WHOLE = 100;

/** What waits for the chain, and the form of an admin's ruling. */
export function RulingsView() {
  const ready = useReady();
  return (
    <>
      <div class="title">
        <h1>Rulings</h1>
      </div>
      <div class="beside">
        <div>
          <ReadyNotice of={ready} />
          {ready.data !== undefined &&
            NETWORKS.map((network) => (
              <Delays key={network} name={networkName(network)} disputes={ready.data?.networks[network].disputes ?? null} />
            ))}
        </div>
        <RulingForm />
      </div>
    </>
  );
}

/** Overdue and held rulings of a network. */
function Delays({ name, disputes }: { name: string; disputes: NetworkReadiness["disputes"] }) {
  if (disputes === null) return <Notice tone="care">The rulings of {name} can't be counted at the moment.</Notice>;
  const held = Object.entries(disputes.held).filter(([, count]) => count > 0);
  return (
    <section class="panel" aria-label={name}>
      <h2>{name}</h2>
      <p>
        {disputes.overdue === 0
          ? "No ruling is overdue."
          : `${counted(disputes.overdue, "ruling is", "rulings are")} overdue: not on chain ten minutes after the time for evidence.`}
        {disputes.oldestSeconds !== null && ` That of the oldest one ended ${duration(disputes.oldestSeconds)} ago.`}
      </p>
      {held.length === 0 ? (
        <p>No ruling is held.</p>
      ) : (
        <dl class="facts">
          {held.map(([problem, count]) => [
            <dt key={problem}>
              <code>{problem}</code>
            </dt>,
            <dd key={`${problem}-words`}>
              {counted(count, "ruling", "rulings")}. {problemWords(problem)}
            </dd>,
          ])}
        </dl>
      )}
    </section>
  );
}

/** Reads the shares of a form: only `Split` has any. */
function sharesOf(form: HTMLFormElement): { buyerPercent?: number; sellerPercent?: number } {
  const given = textOf(form, "buyerPercent");
  if (given === "") return {};
  const buyerPercent = Number(given);
  return { buyerPercent, sellerPercent: WHOLE - buyerPercent };
}

function RulingForm() {
  const [outcome, setOutcome] = useState("BuyerRefund");
  const { step, send } = useAction();
  const submit = async (form: HTMLFormElement) => {
    const disputeId = textOf(form, "disputeId");
    const body = { outcome, ...sharesOf(form), rationale: textOf(form, "rationale") };
    await send<object>(
      rulingPath(disputeId),
      { method: "POST", body },
      () => "The ruling is stored. A worker puts it on chain with the admin resolver's key.",
    );
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
      <p class="aside">Only while a dispute has no ruling: the first one counts.</p>
      <IdField name="disputeId" label="Id of the dispute" />
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
