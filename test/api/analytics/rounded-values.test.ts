import { assert } from "chai";

import { RoundedValues } from "../../../api/features/analytics/rounded-values.ts";
import { seededRandom } from "../../fixtures/random.ts";

function medianOf(...values: (number | bigint)[]): bigint | null {
  const rounded = new RoundedValues();
  for (const value of values) rounded.add(BigInt(value));
  return rounded.median();
}

describe("the median of rounded values", () => {
  it("is exact for values of up to three digits, however many zeros follow", () => {
    assert.isNull(medianOf());
    assert.strictEqual(medianOf(0), 0n);
    assert.strictEqual(medianOf(999), 999n);
    assert.strictEqual(medianOf(2_500_000), 2_500_000n);
    assert.strictEqual(medianOf(9, 10, 99, 100, 998), 99n);
    assert.strictEqual(medianOf(100, 999, 1_000, 1_010, 10_000), 1_000n);
    assert.strictEqual(medianOf(10n ** 30n), 10n ** 30n);
  });

  it("of an even number is the mean of the two in the middle, rounded down", () => {
    assert.strictEqual(medianOf(1, 4), 2n);
    assert.strictEqual(medianOf(7, 7), 7n);
    assert.strictEqual(medianOf(0, 3, 8, 100), 5n);
  });

  it("rounds what has more digits to the nearest with three", () => {
    assert.strictEqual(medianOf(1_234), 1_230n);
    assert.strictEqual(medianOf(1_235), 1_240n);
    assert.strictEqual(medianOf(9_994), 9_990n);
    assert.strictEqual(medianOf(9_995), 10_000n);
    assert.strictEqual(medianOf(999_999_999), 1_000_000_000n);
  });

  it("is within 0.5% of the exact one for random values of any size, added in parts", () => {
    const random = seededRandom();
    for (let round = 0; round < 300; round += 1) {
      const values = Array.from({ length: 1 + Math.floor(random() * 60) }, () =>
        Math.floor(random() * 10 ** Math.floor(random() * 16)),
      );
      const [one, other] = [new RoundedValues(), new RoundedValues()];
      for (const value of values) (random() < 0.5 ? one : other).add(BigInt(value));
      one.addAll(other);
      assert.strictEqual(one.size, values.length);
      const sorted = values.toSorted((a, b) => a - b);
      const middle = [sorted[Math.floor((values.length - 1) / 2)] ?? 0, sorted[Math.floor(values.length / 2)] ?? 0];
      const exact = ((middle[0] ?? 0) + (middle[1] ?? 0)) / 2;
      assert.closeTo(Number(one.median()), exact, exact * 0.005 + 0.5);
    }
  });
});
