import { visibleText } from "../../../tools/src/index.ts";

/**
 * A text for a terminal: without control sequences and hidden characters. Everything that is shown goes through here, whoever
 * wrote it; colours are added afterwards.
 */
export const safeText = (text: string): string => visibleText(text).replaceAll("\t", "  ");

/** The same on one line. */
export const oneLine = (text: string): string => safeText(text).replaceAll("\n", " ");

/** Characters that JSON leaves as they are and a terminal may act on, or a reader can't see. */
const UNSEEN = /[\u007f-\u009f\u2028\u2029\p{Cf}]/gu;

/** JSON for programs, which a terminal can show as well: it parses to the same value. An amount becomes a text. */
export function safeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, bigintAsText, indent).replace(UNSEEN, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      const unit = character.charCodeAt(index).toString(16).padStart(4, "0");
      return `\\u${unit}`;
    }).join(""),
  );
}

const bigintAsText = (_name: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
