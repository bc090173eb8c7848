import { assert } from "chai";

import { ProofRefusedError, requireValidity } from "../../../api/features/x402/offer/proof.ts";
import { PAYMENT_VALIDITY_SECONDS } from "../../../api/features/x402/offer/terms.ts";
import { errorOf } from "../../fixtures/rejection.ts";

const NOW = 1_800_000_000;

describe("the validity of a signed authorisation", () => {
  const check = (validAfter: number, validBefore: number | bigint, chainTime = NOW) => {
    requireValidity(
      {
        from: `0x${"11".repeat(20)}`,
        to: `0x${"22".repeat(20)}`,
        value: 1n,
        nonce: `0x${"33".repeat(32)}`,
        validAfter: BigInt(validAfter),
        validBefore: BigInt(validBefore),
      },
      NOW,
      chainTime,
    );
  };
  const reasonOf = (validAfter: number, validBefore: number | bigint, chainTime = NOW) =>
    errorOf(() => {
      check(validAfter, validBefore, chainTime);
    }, ProofRefusedError).reason;

  it("[D36] includes its first second and leaves half a minute for the call and its settlement", () => {
    check(NOW, NOW + 31);
    assert.strictEqual(reasonOf(NOW + 1, NOW + 31), "not_yet_valid");
    assert.strictEqual(reasonOf(NOW, NOW + 30), "expired");
    assert.strictEqual(reasonOf(NOW - 1, NOW), "expired");
  });

  it("ends at most a minute later than the terms ask for", () => {
    const longest = NOW + PAYMENT_VALIDITY_SECONDS + 60;
    check(0, NOW + PAYMENT_VALIDITY_SECONDS);
    check(0, longest);
    assert.strictEqual(reasonOf(0, longest + 1), "valid_too_long");
    assert.strictEqual(reasonOf(0, 2n ** 256n - 1n), "valid_too_long");
  });

  it("grows by the lead of a chain that is ahead by more than a minute", () => {
    const LEAD = 3_600;
    const longest = NOW + LEAD + PAYMENT_VALIDITY_SECONDS + 60;
    check(NOW, longest, NOW + LEAD);
    check(NOW + LEAD, longest, NOW + LEAD);
    assert.strictEqual(reasonOf(NOW + LEAD + 1, longest, NOW + LEAD), "not_yet_valid");
    assert.strictEqual(reasonOf(NOW + 1, longest, NOW + 60), "not_yet_valid");
    assert.strictEqual(reasonOf(NOW, longest + 1, NOW + LEAD), "valid_too_long");
    const afterAMinute = NOW + PAYMENT_VALIDITY_SECONDS + 60;
    check(NOW, afterAMinute + 61, NOW + 61);
    assert.strictEqual(reasonOf(NOW, afterAMinute + 1, NOW + 60), "valid_too_long");
  });

  it("ends by the clock that is ahead: the token's end, and the facilitator's", () => {
    for (const ahead of [1, 60, 3_600]) {
      check(NOW, NOW + ahead + 31, NOW + ahead);
      assert.strictEqual(reasonOf(NOW, NOW + ahead + 30, NOW + ahead), "expired");
    }
    // A chain that is behind, or of which no block has been seen, changes nothing.
    for (const chainTime of [0, NOW - 3_600]) {
      check(NOW, NOW + 31, chainTime);
      assert.strictEqual(reasonOf(NOW, NOW + 30, chainTime), "expired");
      assert.strictEqual(reasonOf(NOW, NOW + PAYMENT_VALIDITY_SECONDS + 61, chainTime), "valid_too_long");
    }
  });
});
