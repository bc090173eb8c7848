import type { ComponentChildren } from "preact";

/** A field of a form with its name, what it takes, and what is wrong with it. */
export function FormField({
  name,
  label,
  hint,
  fault,
  children,
}: {
  name: string;
  label: string;
  hint: string;
  fault: string | undefined;
  /** The control, described by `about-` and the name. */
  children: ComponentChildren;
}) {
  return (
    <div>
      <label>
        {label}
        {children}
      </label>
      <p class="aside" id={`about-${name}`}>
        {fault !== undefined && <strong class="fault">{fault} </strong>}
        {hint}.
      </p>
    </div>
  );
}
