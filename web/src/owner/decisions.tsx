import { useState } from "preact/hooks";

import type { Decision } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { ownListingAddress } from "../data/owner-place.ts";
import { Notice } from "../parts/notice.tsx";
import { State } from "../parts/state.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { count } from "../words/amounts.ts";
import { askApi, saysEnded } from "./api.ts";
import { OwnLink } from "./deal-link.tsx";
import { APPEAL_LENGTH, DECISION_STATES, listingRefusal, reasonWords, restoredWords } from "./listing-words.ts";

/** What an appeal needs of its page. */
interface Appealing {
  session: KeptSession;
  /** An appeal was lodged, or the decision has changed meanwhile. */
  onAppealed: () => void;
  onEnded: () => void;
}

/** What the operator decided about the agent and its listings. Nothing without any. */
export function Decisions({ decisions, ...appealing }: Appealing & { decisions: readonly Decision[] }) {
  if (decisions.length === 0) return null;
  return (
    <section aria-labelledby="decisions">
      <h2 id="decisions">What the operator decided</h2>
      <ul class="next">
        {decisions.map((decision) => (
          <li key={decision.id} class={decision.state === "restored" ? "panel" : "panel now"}>
            <DecisionFacts of={decision} />
            <AppealState of={decision} {...appealing} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A decision with its reason, in the operator's words. @param isHere whether the page is that of its listing */
export function DecisionFacts({
  of: { subject, state, reason, text, at, restored },
  isHere = false,
}: {
  of: Decision;
  isHere?: boolean;
}) {
  const words = DECISION_STATES[state];
  return (
    <>
      <p>
        <State words={words} name={state} />{" "}
        {subject.type === "agent" ? (
          <strong>Your agent</strong>
        ) : isHere ? (
          <strong>This listing</strong>
        ) : (
          <OwnLink to={ownListingAddress(subject.id)}>
            <strong>A listing</strong>
          </OwnLink>
        )}{" "}
        because of {reasonWords(reason)}, <Time at={at} />
      </p>
      {state !== "restored" && <p>{words.meaning} Deals under way go on.</p>}
      <p class="text">
        The operator writes: <StrangersText text={text} />
      </p>
      {restored !== null && (
        <p class="text">
          It ended <Time at={restored.at} />, because {restoredWords(restored.reason)}. The operator writes:{" "}
          <StrangersText text={restored.text} />
        </p>
      )}
    </>
  );
}

const APPEALS = {
  open: "Your appeal waits for the operator's answer.",
  rejected: "The operator has rejected your appeal.",
  granted: "The operator has granted your appeal.",
} as const;

/** The appeal against a decision, or a form for one while it is in force. */
export function AppealState({ of, ...appealing }: Appealing & { of: Decision }) {
  const { appeal, state } = of;
  if (appeal !== null) {
    return (
      <div>
        <p>
          <strong>{APPEALS[appeal.state]}</strong> <Time at={appeal.answeredAt ?? appeal.at} />
        </p>
        <p class="text aside">
          You wrote: <StrangersText text={appeal.text} />
        </p>
        {appeal.answer !== null && (
          <p class="text">
            The operator answers: <StrangersText text={appeal.answer} />
          </p>
        )}
      </div>
    );
  }
  if (state === "restored") return null;
  if (!appealing.session.scopes.includes("message")) {
    return <p class="aside">This session only sees. To appeal, sign in with “See and act”.</p>;
  }
  return <AppealForm decisionId={of.id} {...appealing} />;
}

const CREATED = 201;

/** A decision has one appeal, with one text. */
function AppealForm({ decisionId, session, onAppealed, onEnded }: Appealing & { decisionId: string }) {
  const [text, setText] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const { length } = Array.from(text.trim());
  const isTooLong = length > APPEAL_LENGTH;
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isBusy || length === 0 || isTooLong) return;
    setBusy(true);
    const body = { decisionId, text: text.trim() };
    const answer = await askApi("/api/v1/appeals", { method: "POST", body }, session);
    setBusy(false);
    if (saysEnded(answer)) {
      onEnded();
      return;
    }
    setProblem(answer.status === CREATED ? undefined : listingRefusal(answer));
    onAppealed();
  };
  return (
    <form class="fields" onSubmit={(event) => void submit(event)} aria-label={`Appeal against ${decisionId}`}>
      <label>
        Appeal against it: what should the operator know?
        <textarea
          name="appeal"
          rows={4}
          value={text}
          aria-invalid={isTooLong}
          aria-describedby={`appeal-${decisionId}`}
          onInput={(event) => {
            setText(event.currentTarget.value);
          }}
        />
      </label>
      <p class="aside" id={`appeal-${decisionId}`}>
        {count(length)} of {count(APPEAL_LENGTH)} characters. There is one appeal, and it can't be changed.
      </p>
      {problem !== undefined && <Notice tone="care">{problem}</Notice>}
      <div class="buttons">
        <button type="submit" class="main" disabled={isBusy || length === 0 || isTooLong}>
          Send the appeal
        </button>
      </div>
    </form>
  );
}
