import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { State, USDC, at, delivered, funded } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("EscrowV2.refund", () => {
  it("lets the seller decline: the buyer has all that is held, the fee stays [S3.2.15] [S3.1.05] [D1] [D6]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    const { escrowId } = await funded(market, { amount: 10n * USDC });
    const decline = escrow.connect(actors.seller).refund(escrowId);
    await expect(decline).to.changeTokenBalances(
      ethers,
      usdc,
      [actors.buyer, escrow, actors.seller, actors.treasury],
      [9_800_000n, -9_800_000n, 0n, 0n],
    );
    await expect(decline).to.emit(escrow, "EscrowRefunded").withArgs(escrowId, actors.buyer, actors.seller, 9_800_000n);
    expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Refunded);
  });

  it("changes no score and does not call the score contract [D6]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, score, actors } = market;
    const { escrowId } = await funded(market);
    await expect(escrow.connect(actors.seller).refund(escrowId)).not.to.emit(score, "ScoresChanged");
    expect(await score.scoreOf(actors.seller)).to.equal(0n);
    expect(await score.scoreOf(actors.buyer)).to.equal(0n);
  });

  it("works through the last second of the abandonment grace and not after it: it cannot overtake claimAbandoned [D6]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const inTime = await funded(market);
    await at(inTime.graceEnd);
    await escrow.connect(actors.seller).refund(inTime.escrowId);
    const late = await funded(market);
    await at(late.graceEnd + 1n);
    await expect(escrow.connect(actors.seller).refund(late.escrowId))
      .to.be.revertedWithCustomError(escrow, "AbandonmentGraceElapsed")
      .withArgs(late.graceEnd + 1n, late.graceEnd);
  });

  it("fails for anyone but the seller", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId } = await funded(market);
    for (const other of [actors.buyer, actors.owner, actors.systemResolver, actors.adminResolver, actors.stranger]) {
      await expect(escrow.connect(other).refund(escrowId))
        .to.be.revertedWithCustomError(escrow, "CallerNotSeller")
        .withArgs(other, actors.seller);
    }
  });

  it("fails after a delivery", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId } = await delivered(market);
    await expect(escrow.connect(actors.seller).refund(escrowId))
      .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
      .withArgs(escrowId, State.Delivered, State.Funded);
  });
});
