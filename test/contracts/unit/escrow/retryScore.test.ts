import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import {
  Outcome,
  RATIONALE,
  ScoreOutcome,
  State,
  at,
  delivered,
  disputed,
  funded,
  newId,
} from "../../fixtures/deals.ts";
import { ScoreMood, brokenScoreMarketplace } from "../../fixtures/hostile.ts";

describe("EscrowV2.retryScore", () => {
  for (const [title, mood] of [
    ["reverts", ScoreMood.Reverts],
    ["burns all its gas", ScoreMood.BurnsGas],
    ["reverts with a long answer", ScoreMood.LongAnswer],
  ] as const) {
    it(`pays although the score contract ${title}, and anyone repeats the update once it works [D9]`, async () => {
      const market = await loadFixture(brokenScoreMarketplace);
      const { escrow, score, usdc, actors, broken, mend } = market;
      await broken.setMood(mood);
      const { escrowId, locked } = await delivered(market);
      const acceptance = escrow.connect(actors.buyer).accept(escrowId);
      await expect(acceptance).to.changeTokenBalance(ethers, usdc, actors.seller, locked);
      await expect(acceptance).to.emit(escrow, "ScoreUpdateFailed").withArgs(escrowId, ScoreOutcome.Released);
      expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Released);

      await mend();
      const retry = escrow.connect(actors.stranger).retryScore(escrowId);
      await expect(retry).to.emit(escrow, "ScoreUpdateRetried").withArgs(escrowId, ScoreOutcome.Released);
      await expect(retry)
        .to.emit(score, "ScoresChanged")
        .withArgs(escrowId, actors.buyer, actors.seller, ScoreOutcome.Released, 1n, 1n);
    });
  }

  it("repeats the outcome that each ending had [D9]", async () => {
    const market = await loadFixture(brokenScoreMarketplace);
    const { escrow, resolver, score, actors, broken, mend } = market;
    await broken.setMood(ScoreMood.Reverts);
    const endings: [keyof typeof ScoreOutcome, () => Promise<string>][] = [
      ["BuyerRefund", () => ruled(Outcome.BuyerRefund)],
      ["SellerPaid", () => ruled(Outcome.SellerPaid)],
      ["Split", () => ruled(Outcome.Split)],
      [
        "Abandonment",
        async () => {
          const deal = await funded(market);
          await at(deal.graceEnd + 1n);
          await escrow.connect(actors.buyer).claimAbandoned(deal.escrowId);
          return deal.escrowId;
        },
      ],
    ];
    const ruled = async (outcome: bigint): Promise<string> => {
      const { escrowId } = await disputed(market);
      await resolver.connect(actors.systemResolver).resolveBySystem(escrowId, outcome, RATIONALE);
      return escrowId;
    };
    const pending: [string, bigint][] = [];
    for (const [outcome, end] of endings) pending.push([await end(), ScoreOutcome[outcome]]);

    await mend();
    for (const [escrowId, outcome] of pending) {
      await expect(escrow.retryScore(escrowId)).to.emit(escrow, "ScoreUpdateRetried").withArgs(escrowId, outcome);
    }
    expect(await score.scoreOf(actors.buyer)).to.equal(1n - 3n + 0n + 0n);
    expect(await score.scoreOf(actors.seller)).to.equal(-3n + 1n + 0n - 5n);
  });

  it("works once, and only where an update failed [S7.29]", async () => {
    const market = await loadFixture(brokenScoreMarketplace);
    const { escrow, actors, broken } = market;
    const fine = await delivered(market);
    await escrow.connect(actors.buyer).accept(fine.escrowId);
    expect(await broken.recorded()).to.equal(1n);
    await broken.setMood(ScoreMood.Reverts);
    const failed = await delivered(market);
    await escrow.connect(actors.buyer).accept(failed.escrowId);
    await broken.setMood(ScoreMood.Records);
    await escrow.retryScore(failed.escrowId);
    expect(await broken.recorded()).to.equal(2n);
    for (const escrowId of [fine.escrowId, failed.escrowId, newId()]) {
      await expect(escrow.retryScore(escrowId))
        .to.be.revertedWithCustomError(escrow, "NoScorePending")
        .withArgs(escrowId);
    }
  });

  it("keeps the update when the score contract fails again", async () => {
    const market = await loadFixture(brokenScoreMarketplace);
    const { escrow, actors, broken } = market;
    await broken.setMood(ScoreMood.Reverts);
    const { escrowId } = await delivered(market);
    await escrow.connect(actors.buyer).accept(escrowId);
    await expect(escrow.retryScore(escrowId)).to.be.revertedWithCustomError(broken, "ScoreBroken");
    await broken.setMood(ScoreMood.Records);
    await escrow.retryScore(escrowId);
    expect(await broken.recorded()).to.equal(1n);
  });
});
