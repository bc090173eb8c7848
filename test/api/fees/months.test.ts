// The months of rebates and the arithmetic of a statement (decision 22).
import { assert } from "chai";

import { monthAfter, monthAt, monthNamed } from "../../../api/features/fees/months.ts";
import { toLine, rebateOn, volumeIn } from "../../../api/features/fees/rebate.ts";
import type { PaidSettlement } from "../../../api/indexer/schemas.ts";

const unix = (iso: string): number => Date.parse(iso) / 1_000;
const namesOf = ({ start, end, windowStart }: ReturnType<typeof monthNamed>) =>
  [start, end, windowStart].map((at) => new Date(at * 1_000).toISOString());

describe("a month of rebates", () => {
  it("[D22] ends its 30 days with itself: in February they begin in January, in a month of 31 days on its second day", () => {
    assert.deepEqual(namesOf(monthNamed("2026-02")), [
      "2026-02-01T00:00:00.000Z",
      "2026-03-01T00:00:00.000Z",
      "2026-01-30T00:00:00.000Z",
    ]);
    assert.deepEqual(namesOf(monthNamed("2028-02")), [
      "2028-02-01T00:00:00.000Z",
      "2028-03-01T00:00:00.000Z",
      "2028-01-31T00:00:00.000Z",
    ]);
    assert.deepEqual(namesOf(monthNamed("2026-10")), [
      "2026-10-01T00:00:00.000Z",
      "2026-11-01T00:00:00.000Z",
      "2026-10-02T00:00:00.000Z",
    ]);
  });

  it("holds its first second and not the next month's, and is followed across the year", () => {
    assert.strictEqual(monthAt(unix("2026-12-01T00:00:00Z")).name, "2026-12");
    assert.strictEqual(monthAt(unix("2026-12-31T23:59:59Z")).name, "2026-12");
    assert.strictEqual(monthAfter(monthNamed("2026-12")).name, "2027-01");
  });

  for (const name of ["2026-13", "2026-00", "2026-1", "26-10", "2026-10-01", "", "2026/10"]) {
    it(`isn't named "${name}"`, () => {
      assert.throws(() => monthNamed(name), RangeError);
    });
  }

  /** A settlement of 10 USDC that paid its seller a share. */
  const settlement = (settledAt: string, share = 100n): PaidSettlement => ({
    id: `0x${"11".repeat(32)}`,
    token: { id: `0x${"22".repeat(20)}`, symbol: "USDC", decimals: 6 },
    amount: 10_000_000n,
    fee: 200_000n,
    locked: 9_800_000n,
    valueUsd: 10_000_000n,
    sellerAmount: (9_800_000n * share) / 100n,
    settledAt: unix(settledAt),
  });

  it("[D22] counts the last days of January towards February's tier, and not towards its fees", () => {
    const february = monthNamed("2026-02");
    const [before, first, inside, last, after] = [
      settlement("2026-01-29T23:59:59Z"),
      settlement("2026-01-30T00:00:00Z"),
      settlement("2026-02-01T00:00:00Z"),
      settlement("2026-02-28T23:59:59Z"),
      settlement("2026-03-01T00:00:00Z"),
    ];
    assert.strictEqual(volumeIn(february, [before, first, inside, last, after]), 30_000_000n);
    const lines = [before, first, inside, last, after].map((one) => toLine(one, february));
    assert.deepEqual(
      lines.map(({ volumeUsdUnits, countedFee }) => [volumeUsdUnits, countedFee]),
      [
        ["0", "0"],
        ["10000000", "0"],
        ["10000000", "200000"],
        ["10000000", "200000"],
        ["0", "0"],
      ],
    );
  });

  it("[D22] counts the share that the seller was paid, rounded down", () => {
    const february = monthNamed("2026-02");
    const third = { ...settlement("2026-02-10T00:00:00Z"), sellerAmount: 3_266_666n };
    const { volumeUsdUnits, countedFee } = toLine(third, february);
    assert.deepEqual([volumeUsdUnits, countedFee], ["3333332", "66666"]);
  });

  it("[D22] pays back the difference to the full rate, rounded down and never above the fees", () => {
    assert.deepEqual(
      [200, 175, 150, 100, 0].map((rate) => rebateOn(1_001n, rate)),
      [0n, 125n, 250n, 500n, 1_001n],
    );
  });
});
