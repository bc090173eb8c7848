import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { DAY, Outcome, State, at, delivered, disputed, moveTo } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("EscrowV2.openDispute", () => {
  it("moves a delivery to Disputed, moves no money and keeps the second [S3.2.23] [S3.1.06] [D8]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    const { escrowId, deliveredAt } = await delivered(market);
    await at(deliveredAt + 42n);
    const dispute = escrow.connect(actors.buyer).openDispute(escrowId);
    await expect(dispute).to.emit(escrow, "DisputeOpened").withArgs(escrowId, actors.buyer, actors.seller);
    await expect(dispute).to.changeTokenBalances(ethers, usdc, [escrow, actors.buyer, actors.seller], [0n, 0n, 0n]);
    const record = await escrow.getEscrow(escrowId);
    expect([record.state, record.deliveredAt, record.disputedAt]).to.deep.equal([
      State.Disputed,
      deliveredAt,
      deliveredAt + 42n,
    ]);
  });

  it("works in the last second of the longest window [S3.2.23]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId, windowEnd } = await delivered(market, { disputeWindow: DAY });
    await at(windowEnd);
    await escrow.connect(actors.buyer).openDispute(escrowId);
    expect((await escrow.getEscrow(escrowId)).disputedAt).to.equal(windowEnd);
  });

  it("fails one second after the dispute window [S3.2.24]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId, windowEnd } = await delivered(market);
    await at(windowEnd + 1n);
    await expect(escrow.connect(actors.buyer).openDispute(escrowId))
      .to.be.revertedWithCustomError(escrow, "DisputeWindowElapsed")
      .withArgs(windowEnd + 1n, windowEnd);
  });

  it("fails for anyone but the buyer [S3.2.25]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId } = await delivered(market);
    for (const other of [actors.seller, actors.owner, actors.systemResolver, actors.adminResolver, actors.stranger]) {
      await expect(escrow.connect(other).openDispute(escrowId))
        .to.be.revertedWithCustomError(escrow, "CallerNotBuyer")
        .withArgs(other, actors.buyer);
    }
  });

  it("freezes the funds: accept, automatic release and abandonment claim fail at every time [S3.2.26]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId, windowEnd, graceEnd } = await disputed(market);
    for (const second of [windowEnd, windowEnd + 1n, graceEnd + 1n]) {
      await moveTo(second);
      for (const [move, required] of [
        [escrow.connect(actors.buyer).accept, State.Delivered],
        [escrow.connect(actors.seller).finalize, State.Delivered],
        [escrow.connect(actors.buyer).claimAbandoned, State.Funded],
      ] as const) {
        await expect(move.staticCall(escrowId))
          .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
          .withArgs(escrowId, State.Disputed, required);
      }
    }
  });

  it("has one tier: a resolved dispute cannot be opened or ruled again [S9.06]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver, actors } = market;
    const { escrowId } = await disputed(market);
    const system = resolver.connect(actors.systemResolver);
    await system.resolveBySystem(escrowId, Outcome.SellerPaid, ethers.id("ruling"));
    await expect(escrow.connect(actors.buyer).openDispute(escrowId))
      .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
      .withArgs(escrowId, State.Resolved, State.Delivered);
    await expect(
      resolver.connect(actors.adminResolver).resolveByAdmin(escrowId, Outcome.BuyerRefund, 100, 0, ethers.id("appeal")),
    )
      .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
      .withArgs(escrowId, State.Resolved, State.Disputed);
  });
});
