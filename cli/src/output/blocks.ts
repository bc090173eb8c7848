import type { Untrusted } from "../../../tools/src/index.ts";

/** A part of what a command shows. */
export type Block =
  /** One line or several, of the program itself. */
  | { kind: "text"; text: string }
  | { kind: "heading"; text: string }
  /** Rows of equal length, the first one with the names of the columns. */
  | { kind: "table"; rows: readonly (readonly string[])[] }
  /** What somebody else wrote. */
  | { kind: "stranger"; from: string; label: string; text: string; note?: string | undefined };

export const text = (line: string): Block => ({ kind: "text", text: line });
export const heading = (line: string): Block => ({ kind: "heading", text: line });
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): Block => ({
  kind: "table",
  rows: [head, ...rows],
});

/** Names with their values, one pair a line. Pairs without a value are left out. */
export function facts(pairs: Readonly<Record<string, string | number | boolean | null | undefined>>): Block {
  const shown = Object.entries(pairs).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return text(shown.map(([name, value]) => `${name.padEnd(width)}  ${String(value)}`).join("\n"));
}

/** A stranger's text as the tools have wrapped it. */
export function stranger(label: string, wrapped: unknown): Block[] {
  if (!isUntrusted(wrapped) || wrapped.text === "") return [];
  const { from, text: words, cut } = wrapped;
  const note = cut === undefined ? undefined : `… of ${cut.bytes} bytes, sha256 ${cut.sha256}, whole: ${cut.reference}`;
  return [{ kind: "stranger", from, label, text: words, note }];
}

function isUntrusted(value: unknown): value is Untrusted {
  return typeof value === "object" && value !== null && (value as { untrusted?: unknown }).untrusted === true;
}
