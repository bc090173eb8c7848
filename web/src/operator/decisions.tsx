import { useState } from "preact/hooks";

import { ACTIONS, decideAddress } from "../data/operator-place.ts";
import type { Action, SubjectType } from "../data/operator-place.ts";
import { Hash } from "../parts/hash.tsx";
import { ViewLink } from "../parts/live.tsx";
import { State } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useAction } from "./acting.ts";
import type { AuditedDecision } from "./answers.ts";
import { DECISIONS } from "./api.ts";
import { Choice, IdField, Outcome, TextField, textOf } from "./form-parts.tsx";
import { ListBody, ListHead } from "./list-parts.tsx";
import { useList } from "./lists.ts";
import { Subject } from "./subject.tsx";
import { DECIDED, REASONS, reasonWords } from "./words.ts";

const TEXT_LENGTH = 1_000;

/** The form of decisions, and the audit of those that were made: all of them, or those about a subject. */
export function DecisionsView({
  subject,
  action,
}: {
  subject: { type: SubjectType; id: string } | null;
  action: Action;
}) {
  const path = subject === null ? DECISIONS : `${DECISIONS}?subjectId=${encodeURIComponent(subject.id)}`;
  const reading = useList<AuditedDecision>(path);
  return (
    <>
      <ListHead title="Decisions" of={reading} />
      <div class="beside">
        <ListBody
          of={reading}
          name="The audit of decisions, newest first"
          empty={subject === null ? "Nothing was hidden or suspended yet." : "Nothing was decided about it yet."}
        >
          {(decision) => <Decision key={decision.id} decision={decision} />}
        </ListBody>
        <DecideForm subject={subject} action={action} onDecided={reading.refresh} />
      </div>
    </>
  );
}

function Decision({ decision }: { decision: AuditedDecision }) {
  const { id, action, subject, reason, text, at, agentId, ends, requestId } = decision;
  return (
    <li class="panel">
      <h2>
        <State words={DECIDED[action]} name={action} /> <Subject subject={subject} />
      </h2>
      <p class="words">
        {reasonWords(reason)}: {text}
      </p>
      <dl class="facts">
        <dt>Decision</dt>
        <dd>
          <Hash value={id} what="the decision's id" /> <Time at={at} />
        </dd>
        {subject.type === "listing" && (
          <>
            <dt>Seller</dt>
            <dd>
              <Hash value={agentId} what="the seller's id" />
            </dd>
          </>
        )}
        {ends !== null && (
          <>
            <dt>Ends</dt>
            <dd>
              <Hash value={ends} what="the id of the decision that it ends" />
            </dd>
          </>
        )}
        <dt>Request</dt>
        <dd>
          <Hash value={requestId} what="the request's id, as in the audit of the key" />
        </dd>
      </dl>
      {action !== "restore" && (
        <p class="links">
          <ViewLink to={decideAddress(subject.type, subject.id, "restore")} isCurrent={false}>
            Restore it
          </ViewLink>
        </p>
      )}
    </li>
  );
}

const ACTION_NAMES: Readonly<Record<Action, string>> = {
  hide: "Hide a listing",
  suspend: "Suspend an agent",
  restore: "Restore a listing or an agent",
};

/** What a decision is about: a listing is hidden, an agent suspended, and either restored. */
function typeFor(action: Action, form: HTMLFormElement): SubjectType {
  if (action === "restore") return textOf(form, "type") === "agent" ? "agent" : "listing";
  return action === "hide" ? "listing" : "agent";
}

function DecideForm({
  subject,
  action: first,
  onDecided,
}: {
  subject: { type: SubjectType; id: string } | null;
  action: Action;
  onDecided: () => void;
}) {
  const [action, setAction] = useState<Action>(first);
  const [type, setType] = useState<SubjectType>(subject?.type ?? "listing");
  const { step, send } = useAction();
  const submit = async (form: HTMLFormElement) => {
    const about = { type: typeFor(action, form), id: textOf(form, "id") };
    const body = { subject: about, action, reason: textOf(form, "reason"), text: textOf(form, "text") };
    const decided = await send<{ data: AuditedDecision }>(DECISIONS, { method: "POST", body }, ({ data }) =>
      // What stands already is answered with the decision that made it so.
      data.text === body.text
        ? `${DECIDED[data.action].name}. ${DECIDED[data.action].meaning}`
        : `Nothing changed: it was ${DECIDED[data.action].name.toLowerCase()} already, by ${data.id}.`,
    );
    if (decided !== undefined) onDecided();
  };
  return (
    <form
      class="panel form"
      aria-labelledby="decide"
      onSubmit={(event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
    >
      <h2 id="decide">Decide</h2>
      <Choice
        name="action"
        label="What to do"
        options={ACTIONS.map((one) => [one, ACTION_NAMES[one]] as const)}
        value={action}
        onChoose={(chosen) => {
          setAction(ACTIONS.find((one) => one === chosen) ?? "hide");
        }}
      />
      {action === "restore" && (
        <Choice
          name="type"
          label="Of what"
          options={[
            ["listing", "A listing"],
            ["agent", "An agent"],
          ]}
          value={type}
          onChoose={(chosen) => {
            setType(chosen === "agent" ? "agent" : "listing");
          }}
        />
      )}
      <IdField name="id" label="Its id" value={subject?.id ?? ""} />
      <Choice
        key={action === "restore" ? "for" : "against"}
        name="reason"
        label="Reason"
        options={action === "restore" ? REASONS.for : REASONS.against}
      />
      <TextField name="text" label="Text, which the agent reads" max={TEXT_LENGTH} />
      <p class="aside">
        No deal is touched: money follows the chain. {action !== "restore" && "The agent may appeal once."}
      </p>
      <div class="buttons">
        <button type="submit" class="main" disabled={step.at === "sending"}>
          {step.at === "sending" ? "Deciding…" : ACTION_NAMES[action]}
        </button>
      </div>
      <Outcome step={step} />
    </form>
  );
}
