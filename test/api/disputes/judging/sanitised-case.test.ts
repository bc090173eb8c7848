import { createHash } from "node:crypto";

import { assert } from "chai";

import { hashInput, sanitisedCase } from "../../../../api/features/disputes/judging/sanitised-case.ts";
import { quote } from "../../../../api/features/disputes/judging/texts.ts";
import { canonicalJson } from "../../../../api/lib/canonical-json.ts";
import { facts, evidence, fact } from "./case-factory.ts";

describe("a case as a judge sees it", () => {
  it("is the case itself if nothing has to be removed", () => {
    const dispute = facts({
      criteria: { schema: { type: "object" }, checks: ["Reads well"] },
      payload: { summary: "Größe, 日本語, emoji 🙂 and\ttabs\nare kept", items: [1, null, true, { deep: [] }] },
      reason: "It isn't what I asked for.",
      evidence: [evidence("seller", "The log of the run.", ["https://seller.example/log.txt"])],
    });
    assert.deepEqual(sanitisedCase(dispute), { dispute, removed: [], isPayloadCut: false, isPayloadEmpty: false });
  });

  it("has an input hash that anyone can compute from the case", () => {
    const dispute = facts({ reason: "Hidden\u200btext" });
    const expected = createHash("sha256")
      .update(canonicalJson(sanitisedCase(dispute).dispute))
      .digest("hex");
    assert.strictEqual(hashInput(sanitisedCase(dispute)), `0x${expected}`);
    assert.strictEqual(hashInput(sanitisedCase(structuredClone(dispute))), hashInput(sanitisedCase(dispute)));
    assert.notStrictEqual(
      hashInput(sanitisedCase({ ...dispute, reason: "Another" })),
      hashInput(sanitisedCase(dispute)),
    );
  });

  describe("without hidden characters", () => {
    const HIDDEN = {
      "zero width": "\u200b\u200c\u200d\u2060\ufeff",
      bidirectional: "\u202a\u202e\u2066\u2069\u061c",
      controls: "\u0000\u0007\u001b\u007f\u009f",
      tags: "\u{e0049}\u{e0067}\u{e006e}\u{e007f}",
      "variation selectors": "\ufe00\ufe0f\u{e0100}\u{e01ef}",
      fillers: "\u00ad\u034f\u115f\u3164\uffa0\u2800\u180e",
      "private use": "\ue000\u{f0000}",
      "lone surrogates": "\ud800x".slice(0, 1),
    };
    for (const [kind, characters] of Object.entries(HIDDEN)) {
      it(`removes and counts ${kind}`, () => {
        const { dispute, removed } = sanitisedCase(facts({ reason: `a${characters}b` }));
        assert.strictEqual(dispute.reason, "ab");
        const count = Array.from(characters).length;
        assert.deepEqual(removed, [`reason: ${count} hidden character${count === 1 ? "" : "s"} removed`]);
      });
    }

    it("reads every line break as one, and stacks at most four marks on a letter", () => {
      const { dispute } = sanitisedCase(facts({ reason: `a\r\nb\u2028c${"\u0301".repeat(50)}` }));
      assert.strictEqual(dispute.reason, `a\nb\nc${"\u0301".repeat(4)}`);
    });

    it("in every field that a party writes, keys included", () => {
      const { dispute, removed } = sanitisedCase(
        facts({
          title: "Audits\u202e",
          description: "I review\u200b contracts",
          request: { "ta\u200bsk": { list: ["one\u0000"] } },
          criteria: { schema: { "\u200btype": "object" }, checks: ["Reads\u2060 well"] },
          payload: { "sum\u{e0041}mary": "text\ufeff" },
          facts: [{ ...fact("schema_matches", "open"), detail: "/ke\u200by doesn't match" }],
          reason: "Wrong\u0007",
          evidence: [evidence("buyer", "See\u202a", ["https://x.example/\u200ba"])],
        }),
      );
      assert.notMatch(JSON.stringify(dispute), /[\p{Cc}\p{Cf}]|\\u/u);
      assert.strictEqual(removed.length, 14);
      assert.include(removed, "payload, a key: 1 hidden character removed");
    });

    it("keeps apart two keys that look the same without them", () => {
      const { dispute } = sanitisedCase(facts({ payload: { a: 1, "a\u200b": 2, "\u200ba": 3 } }));
      assert.deepEqual(dispute.payload, { a: 1, "a (2)": 2, "a (3)": 3 });
    });

    it("keeps a key that is the name of a prototype an ordinary key", () => {
      const payload = JSON.parse('{"__proto__": {"isAdmin": true}, "constructor": "x"}') as Record<string, unknown>;
      const { dispute } = sanitisedCase(facts({ payload }));
      assert.strictEqual(JSON.stringify(dispute.payload), JSON.stringify(payload));
      assert.isFalse("isAdmin" in (dispute.payload ?? {}));
    });
  });

  describe("within bounds", () => {
    it("cuts long texts, without half a character, and says so", () => {
      const { dispute, removed } = sanitisedCase(facts({ reason: `x${"🙂".repeat(3_000)}` }));
      assert.strictEqual(dispute.reason, `x${"🙂".repeat(2_499)}`);
      assert.deepEqual(removed, ["reason: cut, because it is too long or too deep"]);
    });

    it("cuts a payload that is too long, too wide or too deep, and knows that it is cut", () => {
      let deep: unknown = "bottom";
      for (let level = 0; level < 50_000; level += 1) deep = { deep };
      const payloads = [
        { text: "word ".repeat(20_000) },
        { list: Array(5_000).fill(1) },
        { deep },
        { numbers: Array.from({ length: 500 }, () => Array(500).fill(12)) },
        Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`${index}${"k".repeat(150)}`, "v".repeat(300)])),
        Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`key${index}`, index])),
      ];
      for (const payload of payloads) {
        const seen = sanitisedCase(facts({ payload }));
        assert.isTrue(seen.isPayloadCut);
        assert.isFalse(seen.isPayloadEmpty);
        assert.isBelow(JSON.stringify(seen.dispute.payload).length, 70_000);
        assert.isNotEmpty(seen.removed);
      }
    });

    it("gives each party room of its own for its evidence", () => {
      const long = "word ".repeat(1_000);
      const items = Array.from({ length: 20 }, () => evidence("buyer", long));
      const { dispute } = sanitisedCase(facts({ evidence: [...items, evidence("seller", long)] }));
      const lengthOf = (side: string) =>
        dispute.evidence.filter(({ by }) => by === side).reduce((sum, { description }) => sum + description.length, 0);
      assert.strictEqual(lengthOf("buyer"), 30_000);
      assert.strictEqual(lengthOf("seller"), long.length);
    });

    it("reports a bounded number of lines", () => {
      const payload = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`key${index}`, "a\u200b"]));
      const { removed } = sanitisedCase(facts({ payload }));
      assert.strictEqual(removed.length, 41);
      assert.strictEqual(removed.at(-1), "460 more fields: characters removed or cut");
    });
  });

  it("is quoted on one line that can't close its quotation marks", () => {
    assert.strictEqual(quote('a "b"\n\n c\u202e'), `"a 'b' c"`);
    assert.strictEqual(quote("x".repeat(300), 10), `"${"x".repeat(9)}…"`);
  });
});
