// What the index knows of a listing's place in any ranking.
import { assert } from "chai";

import type { TradingHistory } from "../../../api/features/agents/score.ts";
import { leastOnChainScoreOf } from "../../../api/features/agents/score.ts";
import { NEW_STANDING } from "../../../api/features/agents/standings.ts";
import { meritOf, MOST_MERIT, qualityOf, scoreStepOf, sellerStepsOf } from "../../../api/features/discovery/merit.ts";
import { rank } from "../../../api/features/discovery/ranking.ts";
import { seededRandom } from "../../fixtures/random.ts";
import { ratedMatch } from "../../fixtures/rated-matches.ts";

const NEAR = 1e-9;
const FULL: TradingHistory = {
  score: 100,
  distinctCounterparties: 1_000,
  topCounterpartyCount: 0,
  settledCount: 1_000,
  released: 1_000,
  lateDeclines: 0,
  earlyDeclineShare: 0,
};

describe("the merit of a listing", () => {
  it("is its quality for a seller that has settled nothing, and at most 1.3 times that", () => {
    const quality = qualityOf(ratedMatch().listing, 0.8);
    assert.closeTo(quality, 0.8, NEAR);
    assert.closeTo(meritOf(quality, sellerStepsOf(NEW_STANDING)), quality, NEAR);
    assert.closeTo(meritOf(quality, sellerStepsOf(FULL)), quality * 1.3, NEAR);
    assert.closeTo(MOST_MERIT, 1.3, NEAR);
  });

  it("times the relevance is never less than the score", () => {
    const random = seededRandom();
    const upTo = (most: number) => Math.floor(random() * (most + 1));
    for (let turn = 0; turn < 2_000; turn += 1) {
      const settledCount = upTo(40);
      const released = upTo(settledCount);
      const history = {
        score: upTo(140) - 20,
        distinctCounterparties: upTo(12),
        topCounterpartyCount: upTo(settledCount),
        settledCount,
        released,
        lateDeclines: upTo(5),
        earlyDeclineShare: upTo(4) / 4,
      };
      const description = "Reads contracts and writes reports on owners, rights, fees, traps and risks. ".slice(
        0,
        upTo(80),
      );
      const match = ratedMatch({ relevance: random(), categoryFit: random(), history }, { description });
      const [ranked] = rank([match]);
      const bound = match.relevance * meritOf(qualityOf(match.listing, match.categoryFit), sellerStepsOf(history));
      assert.isAtMost(ranked?.explanation.score ?? 0, bound + NEAR);
    }
  });

  it("a seller with the score of a bound has its step, and one with less has it at most by rounding", () => {
    for (let percent = 1; percent <= 100; percent += 1) {
      const least = leastOnChainScoreOf(percent / 100);
      assert.ok(least !== null);
      assert.isAtLeast(sellerStepsOf({ ...NEW_STANDING, score: least }).scoreStep, scoreStepOf(least));
      assert.isBelow(sellerStepsOf({ ...NEW_STANDING, score: least - 5 }).scoreStep, scoreStepOf(least));
    }
  });
});
