import { assert } from "chai";

import { rankingTrustOf } from "../../../api/features/agents/score.ts";

describe("the trust that ranks a seller", () => {
  const history = { score: 100, distinctCounterparties: 10, topCounterpartyCount: 1, settledCount: 10 };
  const cases: [what: string, history: Parameters<typeof rankingTrustOf>[0], trust: number][] = [
    ["nearly the discoveryScore with ten counterparties", history, 0.95],
    ["a tenth for two wallets that trade with each other, halved", sold({ one: 10 }), 0.05],
    ["what breadth and the largest share leave", sold({ one: 3, two: 1 }), 0.2 * (1 - 0.75 / 2)],
    ["0 for a negative score", { ...history, score: -3 }, 0],
    ["0 without a deal", { score: 100, distinctCounterparties: 0, topCounterpartyCount: 0, settledCount: 0 }, 0],
  ];

  function sold(dealsBy: Record<string, number>) {
    const deals = Object.values(dealsBy);
    return {
      score: 100,
      distinctCounterparties: deals.length,
      topCounterpartyCount: Math.max(...deals),
      settledCount: deals.reduce((sum, count) => sum + count, 0),
    };
  }

  for (const [what, given, trust] of cases) {
    it(`[D23] is ${what}`, () => {
      assert.closeTo(rankingTrustOf(given), trust, 1e-12);
    });
  }
});
