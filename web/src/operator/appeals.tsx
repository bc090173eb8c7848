import { useState } from "preact/hooks";

import { State } from "../parts/state.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { useAction } from "./acting.ts";
import type { AuditedDecision, LodgedAppeal } from "./answers.ts";
import { APPEALS, DECISIONS } from "./api.ts";
import { CaseSwitch } from "./case-switch.tsx";
import type { CaseState } from "./case-switch.tsx";
import { Outcome, TextField, textOf } from "./form-parts.tsx";
import { ListBody, ListHead } from "./list-parts.tsx";
import { useList } from "./lists.ts";
import { Subject } from "./subject.tsx";
import { CASE_STATES, DECIDED, reasonWords } from "./words.ts";

const TEXT_LENGTH = 1_000;

/** What agents say against decisions about them. */
export function AppealsView() {
  const [state, setState] = useState<CaseState>("open");
  const reading = useList<LodgedAppeal>(`${APPEALS}?state=${state}`);
  return (
    <>
      <ListHead title="Appeals" of={reading} />
      <CaseSwitch name="Which appeals" value={state} onChoose={setState} />
      <ListBody
        of={reading}
        name={`${state === "open" ? "Open" : "Answered"} appeals`}
        empty={
          state === "open"
            ? "No appeal waits for you. An agent may appeal once against each decision about it."
            : "No appeal has been answered yet."
        }
      >
        {(appeal) => <Appeal key={appeal.decisionId} appeal={appeal} onAnswered={reading.refresh} />}
      </ListBody>
    </>
  );
}

function Appeal({ appeal, onAnswered }: { appeal: LodgedAppeal; onAnswered: () => void }) {
  const { decision, text, state, at, answer, answeredAt, decisionId } = appeal;
  return (
    <li class="panel">
      <h2>
        Appeal of <Subject subject={decision.subject} /> <State words={CASE_STATES[state]} name={state} />
      </h2>
      <p class="words">
        <StrangersText text={text} />{" "}
        <span class="aside">
          <Time at={at} />
        </span>
      </p>
      <dl class="facts">
        <dt>Your decision</dt>
        <dd>
          {DECIDED[decision.action].name}, {reasonWords(decision.reason)}: {decision.text} <Time at={decision.at} />
        </dd>
        {answer !== null && answeredAt !== null && (
          <>
            <dt>Your answer</dt>
            <dd>
              {answer} <Time at={answeredAt} />
            </dd>
          </>
        )}
      </dl>
      {state === "open" && <AnswerForm decisionId={decisionId} subject={decision.subject} onAnswered={onAnswered} />}
    </li>
  );
}

/** Rejects an appeal, or restores its subject: that grants it. */
function AnswerForm({
  decisionId,
  subject,
  onAnswered,
}: {
  decisionId: string;
  subject: AuditedDecision["subject"];
  onAnswered: () => void;
}) {
  const { step, send } = useAction();
  const submit = async (text: string, isGranted: boolean) => {
    const answered = isGranted
      ? await send<object>(
          DECISIONS,
          { method: "POST", body: { subject, action: "restore", reason: "appeal", text } },
          () => "Restored. The agent reads your text.",
        )
      : await send<object>(
          `${APPEALS}/${encodeURIComponent(decisionId)}`,
          { method: "POST", body: { text } },
          () => "Rejected. The agent reads your text.",
        );
    if (answered !== undefined) onAnswered();
  };
  return (
    <form
      class="form"
      onSubmit={(event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
        event.preventDefault();
        const { submitter } = event;
        const isGranted = submitter instanceof HTMLButtonElement && submitter.value === "grant";
        void submit(textOf(event.currentTarget, "text"), isGranted);
      }}
    >
      <TextField name="text" label="Answer, which the agent reads" max={TEXT_LENGTH} />
      <div class="buttons">
        <button type="submit" class="quiet" value="reject" disabled={step.at === "sending"}>
          Reject
        </button>
        <button type="submit" class="quiet" value="grant" disabled={step.at === "sending"}>
          Restore
        </button>
      </div>
      <Outcome step={step} />
    </form>
  );
}
