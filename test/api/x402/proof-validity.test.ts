import { assert } from "chai";

import { ProofRefusedError, requireValidity } from "../../../api/features/x402/proof.ts";
import { PAYMENT_VALIDITY_SECONDS } from "../../../api/features/x402/terms.ts";
import { errorOf } from "../../fixtures/rejection.ts";

const NOW = 1_800_000_000;

describe("the validity of a signed authorisation", () => {
  const check = (validAfter: number, validBefore: number | bigint) => {
    requireValidity(
      {
        ...{ from: `0x${"11".repeat(20)}`, to: `0x${"22".repeat(20)}`, value: 1n, nonce: `0x${"33".repeat(32)}` },
        ...{ validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) },
      },
      NOW,
    );
  };
  const reasonOf = (validAfter: number, validBefore: number | bigint) =>
    errorOf(() => {
      check(validAfter, validBefore);
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
});
