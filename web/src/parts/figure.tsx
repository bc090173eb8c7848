import type { ComponentChildren } from "preact";

/** A figure with its name, in a list of figures. */
export function Figure({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
