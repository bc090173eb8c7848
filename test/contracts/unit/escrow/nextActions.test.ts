import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { dealIn, delivered, disputed, funded, moveTo, newId } from "../../fixtures/deals.ts";
import { brokenScoreMarketplace, ScoreMood } from "../../fixtures/hostile.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

const ACTIONS = [
  "SubmitDelivery",
  "Accept",
  "Finalize",
  "ClaimAbandoned",
  "Refund",
  "OpenDispute",
  "Resolve",
  "ResolveExpired",
  "RetryScore",
];
const NEVER = ethers.MaxUint256;
const ANYONE = ethers.ZeroAddress;

/** The open moves as [move, caller, opensAt, closesAt]. */
async function actionsOf({ escrow }: Awaited<ReturnType<typeof marketplace>>, escrowId: string) {
  const actions = await escrow.nextActions(escrowId);
  return actions.map((open) => [ACTIONS[Number(open.action)], open.caller, open.opensAt, open.closesAt]);
}

describe("EscrowV2.nextActions", () => {
  it("lists delivery, decline and reclaim of a funded escrow, and drops what has closed", async () => {
    const market = await loadFixture(marketplace);
    const { buyer, seller } = market.actors;
    const deal = await funded(market);
    const delivery = ["SubmitDelivery", seller.address, deal.createdAt, deal.deadline];
    const refund = ["Refund", seller.address, deal.createdAt, deal.graceEnd];
    const claim = ["ClaimAbandoned", buyer.address, deal.graceEnd + 1n, NEVER];
    expect(await actionsOf(market, deal.escrowId)).to.deep.equal([delivery, refund, claim]);
    await moveTo(deal.deadline);
    expect(await actionsOf(market, deal.escrowId)).to.deep.equal([delivery, refund, claim]);
    await moveTo(deal.deadline + 1n);
    expect(await actionsOf(market, deal.escrowId)).to.deep.equal([refund, claim]);
    await moveTo(deal.graceEnd + 1n);
    expect(await actionsOf(market, deal.escrowId)).to.deep.equal([claim]);
  });

  it("lists acceptance, dispute and release of a delivery, and drops what has closed", async () => {
    const market = await loadFixture(marketplace);
    const { buyer } = market.actors;
    const deal = await delivered(market);
    const accept = ["Accept", buyer.address, deal.deliveredAt, deal.windowEnd];
    const dispute = ["OpenDispute", buyer.address, deal.deliveredAt, deal.windowEnd];
    const release = ["Finalize", ANYONE, deal.windowEnd + 1n, NEVER];
    expect(await actionsOf(market, deal.escrowId)).to.deep.equal([accept, dispute, release]);
    await moveTo(deal.windowEnd);
    expect(await actionsOf(market, deal.escrowId)).to.deep.equal([accept, dispute, release]);
    await moveTo(deal.windowEnd + 1n);
    expect(await actionsOf(market, deal.escrowId)).to.deep.equal([release]);
  });

  it("lists the ruling and its timeout for a dispute", async () => {
    const market = await loadFixture(marketplace);
    const deal = await disputed(market);
    expect(await actionsOf(market, deal.escrowId)).to.deep.equal([
      ["Resolve", await market.resolver.getAddress(), deal.disputedAt, NEVER],
      ["ResolveExpired", ANYONE, deal.expiresAt + 1n, NEVER],
    ]);
  });

  it("lists nothing for what was never created or has ended", async () => {
    const market = await loadFixture(marketplace);
    expect(await actionsOf(market, newId())).to.deep.equal([]);
    for (const state of ["Released", "Refunded", "Resolved", "Abandoned"] as const) {
      const { escrowId } = await dealIn(market, state);
      expect(await actionsOf(market, escrowId), state).to.deep.equal([]);
    }
  });

  it("lists the retry of a score update that failed", async () => {
    const market = await loadFixture(brokenScoreMarketplace);
    await market.broken.setMood(ScoreMood.Reverts);
    const { escrowId } = await dealIn(market, "Released");
    expect(await actionsOf(market, escrowId)).to.deep.equal([["RetryScore", ANYONE, 0n, NEVER]]);
  });
});
