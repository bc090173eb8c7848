import { z } from "zod";

import { isBlank, textFault } from "../lib/text-rules.ts";
import type { TextKind } from "../lib/text-rules.ts";

/** Kinds of text that are fields of their own. */
type FieldKind = Exclude<TextKind, "message">;

/**
 * The characters of up to 16 bits that a kind never takes, as ranges: not every reader of JSON Schema knows Unicode
 * properties. What depends on the neighbours of a character, or on the version of Unicode, isn't in here.
 */
const FORBIDDEN: Readonly<Record<FieldKind, string>> = {
  name:
    String.raw`\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f` +
    String.raw`\u2028-\u202e\u2060-\u206f\u2800\u3164\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb` +
    String.raw`\ufffe\uffff`,
  longText:
    String.raw`\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u115f\u1160\u202a-\u202e\u2066-\u2069\u2800\u3164` +
    String.raw`\uffa0\ufff9-\ufffb`,
  nameQuery: String.raw`\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069`,
  query: String.raw`\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069`,
};
/** Characters of up to 16 bits that can't be seen. */
const INVISIBLE =
  String.raw`\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f` +
  String.raw`\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8`;

/** The pattern of each kind in the API description. */
export const PATTERN_OF_TEXT: Readonly<Record<FieldKind, string>> = {
  name: textPattern(FORBIDDEN.name),
  longText: textPattern(FORBIDDEN.longText),
  nameQuery: textPattern(FORBIDDEN.nameQuery),
  query: textPattern(FORBIDDEN.query),
};

/**
 * A non-blank text of a kind. Its length is counted in code points, as JSON Schema does, so an emoji counts
 * once.
 */
export function textSchema({ kind, max }: { kind: FieldKind; max: number }) {
  return z
    .string()
    .superRefine((text, context) => {
      const issue = (message: string) => {
        context.addIssue({ code: "custom", message });
      };
      // The other rules need a text of bounded length.
      if (Array.from(text).length > max) {
        issue(`Must have at most ${max} characters`);
        return;
      }
      if (isBlank(text)) issue("Must not be blank");
      const fault = textFault(kind, text);
      if (fault !== undefined) issue(fault);
    })
    .meta({ override: { type: "string", minLength: 1, maxLength: max, pattern: PATTERN_OF_TEXT[kind] } });
}

/** No forbidden character, and at least one visible character. */
function textPattern(forbidden: string): string {
  return String.raw`^[^${forbidden}]*[^${forbidden}\s${INVISIBLE}][^${forbidden}]*$`;
}
