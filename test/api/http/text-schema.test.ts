import { assert } from "chai";
import type { z } from "zod";

import { textSchema } from "../../../api/http/text-schema.ts";

const LAST_OF_16_BITS = 0xffff;
const KINDS = ["name", "longText", "nameQuery", "query"] as const;
/** What no pattern can say: neighbours decide over joiners and U+FE0F, and each version of Unicode assigns more. */
const UNSAID: Partial<Record<(typeof KINDS)[number], RegExp>> = { name: /\u200c|\u200d|\ufe0f|\p{Cn}/u };

/** The pattern that the API description shows for a text. */
function shownPattern(schema: z.ZodType): RegExp {
  const { override } = schema.meta() as { override: { pattern: string } };
  return new RegExp(override.pattern, "u");
}

describe("the pattern of a text in /openapi.json", () => {
  for (const kind of KINDS) {
    it(`[D33] [D51] allows the characters that the API takes (${kind})`, () => {
      const schema = textSchema({ kind, max: 10 });
      const pattern = shownPattern(schema);
      for (let code = 0; code <= LAST_OF_16_BITS; code += 1) {
        const character = String.fromCharCode(code);
        if (!character.isWellFormed()) continue;
        for (const text of [character, `a${character}b`]) {
          const isTaken = schema.safeParse(text).success;
          const says = `U+${code.toString(16)} in ${JSON.stringify(text)}`;
          if (!isTaken && UNSAID[kind]?.test(character) === true) continue;
          assert.strictEqual(pattern.test(text), isTaken, says);
        }
      }
      for (const text of ["", " \t", "\u200b \u200b", "a b", "\ud83d\ude00"]) {
        assert.strictEqual(pattern.test(text), schema.safeParse(text).success, JSON.stringify(text));
      }
    });
  }
});
