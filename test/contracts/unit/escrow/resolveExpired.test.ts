import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { DAY, Method, Outcome, RATIONALE, ResolvedBy, State, at, disputed } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("EscrowV2.resolveExpired", () => {
  it("ends a dispute without a ruling 50/50 after 30 days, for any caller [D8]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    for (const caller of [actors.stranger, actors.buyer, actors.seller]) {
      const { escrowId, disputedAt } = await disputed(market, { amount: 1_000_002n });
      await at(disputedAt + 30n * DAY + 1n);
      const resolution = escrow.connect(caller).resolveExpired(escrowId);
      await expect(resolution).to.changeTokenBalances(
        ethers,
        usdc,
        [actors.buyer, actors.seller, escrow],
        [490_000n, 490_001n, -980_001n],
      );
      await expect(resolution)
        .to.emit(escrow, "EscrowResolved")
        .withArgs(
          escrowId,
          actors.buyer,
          actors.seller,
          Outcome.Split,
          490_000n,
          490_001n,
          50n,
          ResolvedBy.System,
          Method.Timeout,
          ethers.ZeroHash,
        );
      expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Resolved);
    }
  });

  it("changes no score [S3.2.35]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, score, actors } = market;
    const { escrowId, expiresAt } = await disputed(market);
    await at(expiresAt + 1n);
    await escrow.connect(actors.stranger).resolveExpired(escrowId);
    expect([await score.scoreOf(actors.buyer), await score.scoreOf(actors.seller)]).to.deep.equal([0n, 0n]);
  });

  it("fails through the last second of the 30 days [D8]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId, disputedAt, expiresAt } = await disputed(market);
    for (const second of [disputedAt + 1n, expiresAt]) {
      await at(second);
      await expect(escrow.connect(actors.buyer).resolveExpired(escrowId))
        .to.be.revertedWithCustomError(escrow, "ResolutionNotExpired")
        .withArgs(second, expiresAt);
    }
  });

  it("leaves a late ruling possible until someone has called it", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver, actors } = market;
    const { escrowId, expiresAt } = await disputed(market);
    await at(expiresAt + DAY);
    await resolver.connect(actors.systemResolver).resolveBySystem(escrowId, Outcome.SellerPaid, RATIONALE);
    await expect(escrow.connect(actors.stranger).resolveExpired(escrowId))
      .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
      .withArgs(escrowId, State.Resolved, State.Disputed);
  });
});
