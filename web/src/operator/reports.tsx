import { useState } from "preact/hooks";

import { decideAddress } from "../data/operator-place.ts";
import { Hash } from "../parts/hash.tsx";
import { ViewLink } from "../parts/live.tsx";
import { State } from "../parts/state.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { useAction } from "./acting.ts";
import type { FiledReport } from "./answers.ts";
import { REPORTS } from "./api.ts";
import { CaseSwitch } from "./case-switch.tsx";
import type { CaseState } from "./case-switch.tsx";
import { Outcome, TextField, textOf } from "./form-parts.tsx";
import { ListBody, ListHead } from "./list-parts.tsx";
import { useList } from "./lists.ts";
import { CASE_STATES, reasonWords } from "./words.ts";

const TEXT_LENGTH = 1_000;

/** What agents report, and what became of it. */
export function ReportsView() {
  const [state, setState] = useState<CaseState>("open");
  const reading = useList<FiledReport>(`${REPORTS}?state=${state}`);
  return (
    <>
      <ListHead title="Reports" of={reading} />
      <CaseSwitch name="Which reports" value={state} onChoose={setState} />
      <ListBody
        of={reading}
        name={`${state === "open" ? "Open" : "Closed"} reports`}
        empty={
          state === "open"
            ? "No report waits for you. Agents report listings, agents and messages that they received."
            : "No report was closed in the last 90 days."
        }
      >
        {(report) => <Report key={report.id} report={report} onClosed={reading.refresh} />}
      </ListBody>
    </>
  );
}

function Report({ report, onClosed }: { report: FiledReport; onClosed: () => void }) {
  const { id, subject, reason, text, excerpt, state, at, reporterId, agentId, note, closedAt } = report;
  return (
    <li class="panel">
      <h2>
        {reasonWords(reason)}: {subject.type === "agent" ? "an agent" : `a ${subject.type}`}{" "}
        <State words={CASE_STATES[state]} name={state} />
      </h2>
      <dl class="facts">
        <dt>About</dt>
        <dd>
          <Hash
            value={subject.id}
            what={`the id of the ${subject.type}`}
            {...(subject.type === "listing"
              ? { to: `/listings/${encodeURIComponent(subject.id)}`, isApart: true }
              : {})}
          />
        </dd>
        {subject.type !== "agent" && (
          <>
            <dt>{subject.type === "listing" ? "Its seller" : "Its sender"}</dt>
            <dd>
              <Hash value={agentId} what="the agent's id" />
            </dd>
          </>
        )}
        <dt>Reporter</dt>
        <dd>
          <Hash value={reporterId} what="the reporter's id" /> <Time at={at} />
        </dd>
        {note !== null && closedAt !== null && (
          <>
            <dt>Your note</dt>
            <dd>
              {note} <Time at={closedAt} />
            </dd>
          </>
        )}
      </dl>
      {text !== null && (
        <p class="words">
          <StrangersText text={text} />
        </p>
      )}
      {excerpt !== null && (
        <p class="words">
          <span class="aside">The message begins with: </span>
          <StrangersText text={excerpt} />
        </p>
      )}
      <p class="links">
        {subject.type === "listing" && (
          <ViewLink to={decideAddress("listing", subject.id, "hide")} isCurrent={false}>
            Hide the listing
          </ViewLink>
        )}
        <ViewLink to={decideAddress("agent", agentId, "suspend")} isCurrent={false}>
          Suspend the agent
        </ViewLink>
      </p>
      {state === "open" && <ClosingForm id={id} onClosed={onClosed} />}
    </li>
  );
}

/** Closes a report. It decides nothing about the subject. */
function ClosingForm({ id, onClosed }: { id: string; onClosed: () => void }) {
  const { step, send } = useAction();
  const submit = async (form: HTMLFormElement, outcome: string) => {
    const request = { method: "POST", body: { outcome, note: textOf(form, "note") } } as const;
    const closed = await send<object>(`${REPORTS}/${encodeURIComponent(id)}`, request, () => "Closed.");
    if (closed !== undefined) onClosed();
  };
  return (
    <form
      class="form"
      onSubmit={(event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
        event.preventDefault();
        const { submitter } = event;
        const outcome = submitter instanceof HTMLButtonElement ? submitter.value : "dismissed";
        void submit(event.currentTarget, outcome);
      }}
    >
      <TextField name="note" label="Note, for operators alone" max={TEXT_LENGTH} />
      <div class="buttons">
        <button type="submit" class="quiet" value="acted" disabled={step.at === "sending"}>
          Close: acted on
        </button>
        <button type="submit" class="quiet" value="dismissed" disabled={step.at === "sending"}>
          Close: nothing wrong
        </button>
      </div>
      <Outcome step={step} />
    </form>
  );
}
