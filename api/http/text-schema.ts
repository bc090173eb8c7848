import { z } from "zod";

/**
 * Characters that don't belong in a name or title: control characters, line separators, and characters that change the
 * text direction (with them, a title can display other words than it contains).
 */
const FORBIDDEN = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;
/**
 * The same for longer texts, which may contain line breaks, tabs and right-to-left marks. Directional embeddings,
 * overrides and isolates aren't allowed: they reorder what follows them, up to the end of the paragraph.
 */
const FORBIDDEN_IN_LONGER_TEXTS = /[^\P{Cc}\t\n\r]|[\u202a-\u202e\u2066-\u2069]/u;
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * A non-blank text for people. Its length is counted in code points, as JSON Schema does, so an emoji counts once.
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
