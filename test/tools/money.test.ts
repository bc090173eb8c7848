import { assert } from "chai";

import { money, parseAmount, price } from "../../tools/src/money.ts";

describe("money in results", () => {
  it("is written for a reader beside its exact units", () => {
    assert.deepEqual(money(2_500_000n, "USDC"), { text: "2.50 USDC", baseUnits: "2500000" });
    assert.deepEqual(money(1n, "USDC"), { text: "0.000001 USDC", baseUnits: "1" });
    assert.strictEqual(money(10n ** 18n, "WETH").text, "1.00 WETH");
    assert.strictEqual(money(7n, "XYZ").text, "7 of the smallest units of XYZ");
  });

  it("says which part is never refunded", () => {
    assert.deepEqual(price({ amount: 2_500_000n, fee: 50_000n, symbol: "USDC" }), {
      text: "2.50 USDC, of which 0.05 is the fee that is never refunded",
      baseUnits: "2500000",
      feeBaseUnits: "50000",
    });
  });

  it("is read exactly, or not at all", () => {
    assert.strictEqual(parseAmount("2.5", "USDC"), 2_500_000n);
    assert.strictEqual(parseAmount("9007199254740993", "USDC"), 9_007_199_254_740_993_000_000n);
    for (const text of ["", " 1", "1e3", "-1", "0x10", ".5", "5.", "1,5", "1.0000001", "１", "Infinity"]) {
      assert.isUndefined(parseAmount(text, "USDC"), text);
    }
    assert.isUndefined(parseAmount("1", "XYZ"));
  });
});
