import { assert } from "chai";

import { rankingTrustOf } from "../../../api/features/agents/score.ts";
import type { TradingHistory } from "../../../api/features/agents/score.ts";
import { NEW_STANDING } from "../../../api/features/agents/standings.ts";

describe("the trust that ranks a seller", () => {
  const history: TradingHistory = {
    score: 100,
    distinctCounterparties: 10,
    topCounterpartyCount: 1,
    settledCount: 10,
    released: 10,
    lateDeclines: 0,
    earlyDeclineShare: 0,
  };
  const cases: [what: string, history: TradingHistory, trust: number][] = [
    ["[D23] is the discoveryScore with ten counterparties", history, 1],
    ["[D23] is a tenth for two wallets that trade with each other, halved", sold({ one: 10 }), 0.05],
    ["[D23] is what breadth leaves while no partner has more than half", sold({ one: 4, two: 4 }), 0.2],
    ["[D23] is what breadth and half of the deals leave", sold({ one: 9, two: 3 }), 0.2 * 0.75],
    ["[D23] leaves nothing out before the fifth deal", sold({ one: 3, two: 1 }), 0.2],
    ["[D23] leaves out three of the first five", sold({ one: 5 }), 0.1 * 0.4],
    ["[D23] is 0 for a negative score", { ...history, score: -3 }, 0],
    ["[D23] is 0 without a deal", { ...NEW_STANDING, score: 100 }, 0],
    ["[D6] falls by the share of the late declines", { ...history, released: 9, lateDeclines: 1 }, 0.9],
    ["[D6] falls further with each late decline", { ...history, released: 9, lateDeclines: 3 }, 0.75],
    ["[D6] is 0 for a buyer that only declines late as a seller", { ...history, released: 0, lateDeclines: 2 }, 0],
    ["[D6] falls by half the share of the early declines", { ...history, earlyDeclineShare: 0.4 }, 0.8],
    ["[D6] is a half for a seller that declines all orders in time", { ...history, earlyDeclineShare: 1 }, 0.5],
    [
      "[D6] falls by early and late declines together",
      { ...history, released: 9, lateDeclines: 1, earlyDeclineShare: 0.4 },
      0.9 * 0.8,
    ],
    ["[D6] is whole for a buyer that has sold nothing and declined nothing", { ...history, released: 0 }, 1],
  ];

  function sold(dealsBy: Record<string, number>) {
    const deals = Object.values(dealsBy);
    return {
      ...history,
      distinctCounterparties: deals.length,
      topCounterpartyCount: Math.max(...deals),
      settledCount: deals.reduce((sum, count) => sum + count, 0),
    };
  }

  for (const [what, given, trust] of cases) {
    it(what, () => {
      assert.closeTo(rankingTrustOf(given), trust, 1e-12);
    });
  }
});
