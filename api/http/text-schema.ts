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

/** The same characters as ranges: not every reader of JSON Schema knows Unicode properties. */
const RANGES = {
  forbidden: String.raw`\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069`,
  forbiddenInLongerTexts: String.raw`\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069`,
  /** Those of up to 16 bits. */
  invisible:
    String.raw`\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f` +
    String.raw`\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8`,
};

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
    .meta({
      override: {
        type: "string",
        minLength: 1,
        maxLength: bounds.max,
        pattern: textPattern(bounds.multiline === true),
      },
    });
}

/** No forbidden character, and at least one visible character. */
function textPattern(multiline: boolean): string {
  const forbidden = multiline ? RANGES.forbiddenInLongerTexts : RANGES.forbidden;
  return String.raw`^[^${forbidden}]*[^${forbidden}\s${RANGES.invisible}][^${forbidden}]*$`;
}
