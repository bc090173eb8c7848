import { assert } from "chai";

import { type TestResult, summaryOf, verdictOf } from "../../scripts/quality/prove/verdicts.ts";

const PROOF = "check_accept()";
const CONTROL = "refute_acceptNeverSucceeds()";

/** What halmos reports of a test that it followed to the end. */
function resultOf(name: string, exitcode: number, overrides: Partial<TestResult> = {}): TestResult {
  return { name, exitcode, num_paths: [12, 3, 0], time: [2.5, 2, 0.5], num_bounded_loops: 0, ...overrides };
}

describe("the verdicts of npm run prove", () => {
  describe("of a proof", () => {
    it("is proved when halmos passes it", () => {
      const verdict = verdictOf(PROOF, resultOf(PROOF, 0));
      assert.deepEqual(verdict, { name: PROOF, kind: "proof", good: true, text: "proved", seconds: 2.5 });
    });

    const failures: [exitcode: number, text: RegExp][] = [
      [1, /counterexample/],
      [2, /timed out/],
      [3, /stuck/],
      [4, /reverted on all paths/],
      [5, /error/],
      [77, /unknown code 77/],
    ];
    for (const [exitcode, text] of failures) {
      it(`fails with exit code ${exitcode}`, () => {
        const verdict = verdictOf(PROOF, resultOf(PROOF, exitcode));
        assert.isFalse(verdict.good);
        assert.match(verdict.text, text);
      });
    }

    it("fails when loops were cut off, because not every path was seen", () => {
      const verdict = verdictOf(PROOF, resultOf(PROOF, 0, { num_bounded_loops: 2 }));
      assert.isFalse(verdict.good);
      assert.match(verdict.text, /2 loops were cut off/);
    });

    it("fails without a result", () => {
      const verdict = verdictOf(PROOF, undefined);
      assert.deepEqual(verdict, { name: PROOF, kind: "proof", good: false, text: "has no result", seconds: 0 });
    });
  });

  describe("of a control", () => {
    it("is refuted by a counterexample", () => {
      const verdict = verdictOf(CONTROL, resultOf(CONTROL, 1));
      assert.deepEqual(verdict, { name: CONTROL, kind: "control", good: true, text: "refuted", seconds: 2.5 });
    });

    for (const exitcode of [0, 2, 3, 4, 5, 77]) {
      it(`fails with exit code ${exitcode}`, () => {
        const verdict = verdictOf(CONTROL, resultOf(CONTROL, exitcode));
        assert.isFalse(verdict.good);
        assert.match(verdict.text, /must be refuted/);
      });
    }

    it("fails without a result", () => {
      assert.isFalse(verdictOf(CONTROL, undefined).good);
    });
  });

  it("counts proofs, controls and failures in the last line", () => {
    const verdicts = [
      verdictOf(PROOF, resultOf(PROOF, 0)),
      verdictOf("check_refund()", resultOf("check_refund()", 2)),
      verdictOf(CONTROL, resultOf(CONTROL, 1)),
      verdictOf("refute_other()", resultOf("refute_other()", 0)),
    ];
    assert.strictEqual(summaryOf(verdicts, 61.4), "1 proved, 1 controls refuted, 2 failed; 61 s");
  });
});
