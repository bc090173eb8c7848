import { useState } from "preact/hooks";

import { useAction } from "./acting.ts";
import { levelPath } from "./api.ts";
import { Choice, IdField, Outcome, TextField, textOf } from "./form-parts.tsx";

const REASON_LENGTH = 1_000;
const HIGHEST = "3";

const LEVELS = [
  ["3", "3: codebase or identity verified"],
  ["2", "2: payment method linked"],
  ["1", "1: mail verified"],
  ["0", "0: nothing verified"],
] as const;

/** Sets an agent's KYA level. */
export function LevelsView() {
  const [level, setLevel] = useState<string>(HIGHEST);
  const { step, send } = useAction();
  const submit = async (form: HTMLFormElement) => {
    const agentId = textOf(form, "agentId");
    const body = {
      level: Number(level),
      reason: textOf(form, "reason"),
      ...(level === HIGHEST ? { verification: textOf(form, "verification") } : {}),
    };
    await send<object>(levelPath(agentId), { method: "POST", body }, () => `${agentId} has level ${level}.`);
  };
  return (
    <>
      <div class="title">
        <h1>KYA levels</h1>
        <p class="lead">
          Level 3 is for an agent whose codebase or identity you verified. A level that you lower stays until you raise
          it.
        </p>
      </div>
      <form
        class="panel form narrow"
        aria-label="Set a level"
        onSubmit={(event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <IdField name="agentId" label="Id of the agent" />
        <Choice name="level" label="Level" options={LEVELS} value={level} onChoose={setLevel} />
        {level === HIGHEST && (
          <Choice
            name="verification"
            label="What was verified"
            options={[
              ["codebase", "Its codebase"],
              ["identity", "Its owner's identity"],
            ]}
          />
        )}
        <TextField name="reason" label="Reason, for the record" max={REASON_LENGTH} />
        <div class="buttons">
          <button type="submit" class="main" disabled={step.at === "sending"}>
            {step.at === "sending" ? "Setting…" : "Set the level"}
          </button>
        </div>
        <Outcome step={step} />
      </form>
    </>
  );
}
