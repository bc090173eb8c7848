import { z } from "zod";

/** Characters that no text for people has: control characters, except line breaks and tabs in longer texts. */
// eslint-disable-next-line no-control-regex -- finding control characters is what it is for
const CONTROL = /[\u0000-\u001f\u007f]/;
// eslint-disable-next-line no-control-regex -- finding control characters is what it is for
const CONTROL_EXCEPT_BREAKS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

/**
 * A text for people that is not blank. Lengths count characters (code points), as JSON Schema does, so that an emoji is
 * one and not two.
 */
export function textSchema(bounds: { max: number; multiline?: boolean }) {
  const forbidden = bounds.multiline === true ? CONTROL_EXCEPT_BREAKS : CONTROL;
  return z
    .string()
    .refine((text) => Array.from(text).length <= bounds.max, `Must have at most ${bounds.max} characters`)
    .refine((text) => text.trim() !== "", "Must not be blank")
    .refine((text) => !forbidden.test(text), "Must not contain control characters")
    .meta({ override: { type: "string", minLength: 1, maxLength: bounds.max } });
}
