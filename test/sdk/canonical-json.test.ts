import { createHash } from "node:crypto";

import { assert } from "chai";

import { canonicalJson as canonicalJsonOfApi } from "../../api/lib/canonical-json.ts";
import { canonicalJson, deliveryProofOf } from "../../sdk/src/index.ts";
import { errorOf } from "../fixtures/rejection.ts";

describe("canonical JSON of the client", () => {
  const values: [what: string, value: unknown][] = [
    ["keys in another order", { b: 1, a: { d: [3, { z: 0, y: 1 }], c: 2 } }],
    ["keys that look like numbers", { 10: "a", 9: "b", 1: "c", "01": "d" }],
    ["keys beyond the basic plane", { "\u{1f600}": 1, "\ufb33": 2, "\u20ac": 3, "\r": 4, "": 5 }],
    ["numbers of every size", [0, -0, 1e21, 1e-7, 5e-324, 4.5, 1e30, 2 ** 53, -1]],
    ["texts that need escapes", ['"\\/\b\f\n\r\t\u0000\u001f\u2028', "Grüße 🚀"]],
    ["a key named __proto__", JSON.parse('{"__proto__": {"x": 1}, "a": 2}')],
    ["plain values", [true, false, null, "", [], {}]],
  ];
  for (const [what, value] of values) {
    it(`is what the service hashes: ${what}`, () => {
      assert.strictEqual(canonicalJson(value), canonicalJsonOfApi(value));
    });
  }

  it("is of what a request body carries: no undefined properties, dates as text", () => {
    assert.strictEqual(canonicalJson({ b: undefined, a: new Date(0) }), '{"a":"1970-01-01T00:00:00.000Z"}');
  });

  it("[D50] has a bigint as text, as a request body does", () => {
    assert.strictEqual(canonicalJson({ b: 12345678901234567891n, a: [1n] }), '{"a":["1"],"b":"12345678901234567891"}');
  });

  it("doesn't exist for what has no JSON form", () => {
    for (const value of [undefined, () => 1, "\ud800", { "\ud800": 1 }]) {
      errorOf(() => canonicalJson(value), TypeError);
    }
  });

  it("hashed with SHA-256 is the delivery proof", () => {
    const expected = createHash("sha256").update('{"a":1,"ü":"🚀"}').digest("hex");
    assert.strictEqual(deliveryProofOf({ ü: "🚀", a: 1 }), `0x${expected}`);
  });
});
