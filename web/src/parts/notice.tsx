import type { ComponentChildren } from "preact";

import type { Loaded } from "../data/answers.ts";

/** A sentence in place of data, or about their age. */
export function Notice({ children, tone = "plain" }: { children: ComponentChildren; tone?: "plain" | "care" }) {
  return (
    <p class={`notice ${tone}`} role={tone === "care" ? "status" : undefined}>
      {children}
    </p>
  );
}

const TOO_MANY = 429;

/** Why data aren't there, and what to do. */
export function Absent({ of, what }: { of: Loaded<unknown>; what: string }) {
  if (of.kind === "refused" && of.status === TOO_MANY) {
    return (
      <Notice tone="care">
        Your address has asked more often than this service answers. {what} will be here in a minute.
      </Notice>
    );
  }
  return <Notice tone="care">{what} can't be read at the moment. Reload the page in a minute.</Notice>;
}
