import { expect } from "chai";

import { loadFixture } from "../../fixtures/chain.ts";
import { ScoreOutcome, newId } from "../../fixtures/deals.ts";
import { impersonate, marketplace } from "../../fixtures/marketplace.ts";

/** The market with the escrow contract as a caller of the score contract. */
async function scoreMarket() {
  const market = await marketplace();
  return { ...market, escrowCaller: await impersonate(await market.escrow.getAddress()) };
}

const EFFECTS: [keyof typeof ScoreOutcome, bigint, bigint, string][] = [
  ["Released", 1n, 1n, "[S3.2.31] [S3.2.32]"],
  ["BuyerRefund", 1n, -3n, "[S3.2.33]"],
  ["SellerPaid", -3n, 1n, "[S3.2.34]"],
  ["Split", 0n, 0n, "[S3.2.35]"],
  ["Abandonment", 0n, -5n, "[S3.2.36]"],
];

describe("ScoreV2.recordOutcome", () => {
  for (const [outcome, buyerDelta, sellerDelta, cites] of EFFECTS) {
    it(`changes the buyer by ${buyerDelta} and the seller by ${sellerDelta} for ${outcome}, each time ${cites}`, async () => {
      const { score, actors, escrowCaller } = await loadFixture(scoreMarket);
      const { buyer, seller } = actors;
      for (const times of [1n, 2n]) {
        const escrowId = newId();
        await expect(score.connect(escrowCaller).recordOutcome(escrowId, buyer, seller, ScoreOutcome[outcome]))
          .to.emit(score, "ScoresChanged")
          .withArgs(escrowId, buyer, seller, ScoreOutcome[outcome], buyerDelta * times, sellerDelta * times);
        expect(await score.scoreOf(buyer)).to.equal(buyerDelta * times);
        expect(await score.scoreOf(seller)).to.equal(sellerDelta * times);
      }
    });
  }

  it("is the escrow contract's alone: no role writes a score [S1.04] [D14]", async () => {
    const { score, escrow, actors } = await loadFixture(scoreMarket);
    for (const actor of Object.values(actors)) {
      await expect(score.connect(actor).recordOutcome(newId(), actors.buyer, actors.seller, ScoreOutcome.Released))
        .to.be.revertedWithCustomError(score, "CallerNotEscrow")
        .withArgs(actor, escrow);
    }
  });

  it("has no bounds in reach: scores pass 150 and -150 [S2.5.16] [S2.5.17]", async () => {
    const { score, actors, escrowCaller } = await loadFixture(scoreMarket);
    const { buyer, seller } = actors;
    for (let job = 0; job < 151; job += 1) {
      await score.connect(escrowCaller).recordOutcome(newId(), buyer, buyer, ScoreOutcome.Split);
      await score.connect(escrowCaller).recordOutcome(newId(), buyer, seller, ScoreOutcome.BuyerRefund);
    }
    expect([await score.scoreOf(buyer), await score.scoreOf(seller)]).to.deep.equal([151n, -453n]);
  });
});
