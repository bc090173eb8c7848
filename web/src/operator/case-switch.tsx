/** Which part of a list that an operator works off. */
export type CaseState = "open" | "closed";

const NAMES: Readonly<Record<CaseState, string>> = { open: "Open", closed: "Closed" };

/** Switches between what is open and what is closed. */
export function CaseSwitch({
  name,
  value,
  onChoose,
}: {
  /** Names the choice. */
  name: string;
  value: CaseState;
  onChoose: (state: CaseState) => void;
}) {
  return (
    <div class="buttons" role="group" aria-label={name}>
      {(Object.keys(NAMES) as CaseState[]).map((state) => (
        <button
          key={state}
          type="button"
          class="quiet"
          aria-pressed={state === value}
          onClick={() => {
            onChoose(state);
          }}
        >
          {NAMES[state]}
        </button>
      ))}
    </div>
  );
}
