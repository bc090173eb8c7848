import { assert } from "chai";
import type { z } from "zod";

import { textSchema } from "../../../api/http/text-schema.ts";

const LAST_OF_16_BITS = 0xffff;

/** The pattern that the API description shows for a text. */
function shownPattern(schema: z.ZodType): RegExp {
  const { override } = schema.meta() as { override: { pattern: string } };
  return new RegExp(override.pattern, "u");
}

describe("the pattern of a text in /openapi.json", () => {
  for (const multiline of [false, true]) {
    it(`[D33] allows exactly the characters that the API takes (${multiline ? "longer texts" : "names and titles"})`, () => {
      const schema = textSchema({ max: 10, multiline });
      const pattern = shownPattern(schema);
      for (let code = 0; code <= LAST_OF_16_BITS; code += 1) {
        const character = String.fromCharCode(code);
        if (!character.isWellFormed()) continue;
        for (const text of [character, `a${character}`, `${character}b`]) {
          const isTaken = schema.safeParse(text).success;
          assert.strictEqual(pattern.test(text), isTaken, `U+${code.toString(16)} in ${JSON.stringify(text)}`);
        }
      }
      for (const text of ["", " \t", "\u200b \u200b", "a b", "\ud83d\ude00"]) {
        assert.strictEqual(pattern.test(text), schema.safeParse(text).success, JSON.stringify(text));
      }
    });
  }
});
