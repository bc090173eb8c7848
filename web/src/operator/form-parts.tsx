import { Notice } from "../parts/notice.tsx";
import type { Step } from "./acting.ts";

/** What came of a form. */
export function Outcome({ step }: { step: Step }) {
  if (step.at === "problem") return <Notice tone="care">{step.text}</Notice>;
  if (step.at !== "done") return null;
  return (
    <p class="notice done" role="status">
      {step.text}
    </p>
  );
}

const LINES = 3;
/** Characters of an id, as the service takes them. */
const ID_LENGTH = 64;

/** A field of several lines. @param max characters, as the service takes them */
export function TextField({ name, label, max }: { name: string; label: string; max: number }) {
  return (
    <label>
      {label}
      <textarea name={name} rows={LINES} maxLength={max} required autocomplete="off" />
    </label>
  );
}

/** A field of one id. */
export function IdField({ name, label, value }: { name: string; label: string; value?: string }) {
  return (
    <label>
      {label}
      <input
        name={name}
        defaultValue={value ?? ""}
        required
        maxLength={ID_LENGTH}
        pattern={String.raw`\s*[A-Za-z0-9_\-]+\s*`}
        title="Letters, digits, _ and -"
        autocomplete="off"
        spellcheck={false}
      />
    </label>
  );
}

/** A choice of one. The first one is chosen at first. */
export function Choice({
  name,
  label,
  options,
  value,
  onChoose,
}: {
  name: string;
  label: string;
  options: readonly (readonly [value: string, words: string])[];
  /** What is chosen now, for a form that follows the choice. */
  value?: string;
  onChoose?: (value: string) => void;
}) {
  const choose = (event: Event & { currentTarget: HTMLSelectElement }) => {
    onChoose?.(event.currentTarget.value);
  };
  const chosen = value === undefined ? {} : { value };
  return (
    <label>
      {label}
      <select name={name} {...chosen} onChange={choose}>
        {options.map(([one, words]) => (
          <option key={one} value={one}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A text of a form, without the white space around it. */
export function textOf(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === "string" ? value.trim() : "";
}
