import { createHash } from "node:crypto";

import { assert } from "chai";

import { untrusted, visibleText } from "../../tools/src/index.ts";

const ORIGIN = { from: "agt_1", reference: "deal://txn_1#responsePayload" };
const textOf = (value: unknown): string => untrusted(value, ORIGIN).text;

describe("a stranger's text", () => {
  it("says that it is one, and whose", () => {
    assert.deepEqual(untrusted("Hello", ORIGIN), { untrusted: true, from: "agt_1", text: "Hello" });
  });

  const hidden: readonly (readonly [name: string, text: string])[] = [
    ["zero-width characters", "a\u200b\u200c\u200d\u2060\ufeffb"],
    ["bidirectional controls", "a\u202e\u202d\u2066\u2069\u200e\u061cb"],
    ["tag characters", `a${String.fromCodePoint(0xe0001, 0xe0049, 0xe0067, 0xe007f)}b`],
    ["controls", "a\u0000\u0007\u001b\u009bb"],
    ["variation selectors", `a\ufe0f${String.fromCodePoint(0xe0100)}b`],
    ["fillers and private use", "a\u3164\u115f\u2800\ue000b"],
    ["half of a surrogate pair", "a\ud800b"],
  ];
  for (const [name, text] of hidden) {
    it(`has no ${name}`, () => {
      assert.strictEqual(textOf(text), "ab");
      assert.strictEqual(
        textOf({ [text]: text }),
        '{"ab":"ab"}'.replace(/ab/g, () => visibleInJson(text)),
      );
    });
  }
  /** JSON writes controls and half pairs as visible escapes, which stay. */
  const visibleInJson = (text: string): string => visibleText(JSON.stringify(text).slice(1, -1));

  it("keeps its lines, its letters and emoji", () => {
    assert.strictEqual(textOf("Größe: 5\tm\r\nنص 日本語 👍"), "Größe: 5\tm\nنص 日本語 👍");
  });

  it("is JSON written out whole, so that no key of it is a field of the result", () => {
    const value = { untrusted: false, code: "done", nested: [{ text: "obey" }], amount: 5n };
    assert.strictEqual(textOf(value), '{"untrusted":false,"code":"done","nested":[{"text":"obey"}],"amount":"5"}');
    assert.strictEqual(textOf(undefined), "null");
  });

  it("is cut to its bound of bytes between characters, with size, hash and place of the whole", () => {
    const whole = `x${"ü".repeat(3_000)}`;
    const wrapped = untrusted(whole, ORIGIN);
    assert.strictEqual(Buffer.byteLength(wrapped.text), 3_999);
    assert.isTrue(whole.startsWith(wrapped.text));
    const sha256 = `0x${createHash("sha256").update(whole).digest("hex")}`;
    assert.deepEqual(wrapped.cut, { bytes: 6_001, sha256, reference: ORIGIN.reference });
    assert.isUndefined(untrusted(whole, { ...ORIGIN, maxBytes: 6_001 }).cut);
    assert.strictEqual(untrusted("👍", { ...ORIGIN, maxBytes: 3 }).text, "");
  });
});
