import { z } from "zod";

/**
 * Characters that a name or title has no use for: control characters, line separators, and those that change the
 * direction of text (with them a title can show other words than it holds).
 */
const FORBIDDEN = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;
/**
 * The same for longer texts, where line breaks, tabs and the marks of right-to-left writing belong. Embeddings,
 * overrides and isolates do not: they reorder what follows them, up to the end of the paragraph.
 */
const FORBIDDEN_IN_LONGER_TEXTS = /[^\P{Cc}\t\n\r]|[\u202a-\u202e\u2066-\u2069]/u;
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * A text for people that is not blank. Lengths count characters (code points), as JSON Schema does, so that an emoji is
 * one and not two.
 */
export function textSchema(bounds: { max: number; multiline?: boolean }) {
  const forbidden = bounds.multiline === true ? FORBIDDEN_IN_LONGER_TEXTS : FORBIDDEN;
  return z
    .string()
    .refine((text) => Array.from(text).length <= bounds.max, `Must have at most ${bounds.max} characters`)
    .refine((text) => text.replace(INVISIBLE, "").trim() !== "", "Must not be blank")
    .refine((text) => !forbidden.test(text), "Must not contain control characters or change the direction of text")
    .meta({ override: { type: "string", minLength: 1, maxLength: bounds.max } });
}
