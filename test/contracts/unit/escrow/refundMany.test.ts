import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { State, at, delivered, funded, newId } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("EscrowV2.refundMany", () => {
  it("declines several jobs in different tokens at once [D6]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, weth, actors } = market;
    const first = await funded(market);
    const second = await funded(market, { amount: 3_000_000n });
    const inWeth = await funded(market, { token: await weth.getAddress(), amount: 10n ** 15n });
    const ids = [first, second, inWeth].map(({ escrowId }) => escrowId);
    const decline = escrow.connect(actors.seller).refundMany(ids);
    await expect(decline).to.changeTokenBalance(ethers, usdc, actors.buyer, first.locked + second.locked);
    await expect(decline).to.changeTokenBalance(ethers, weth, actors.buyer, inWeth.locked);
    for (const id of ids) expect((await escrow.getEscrow(id)).state).to.equal(State.Refunded);
    expect(await usdc.balanceOf(escrow)).to.equal(0n);
  });

  it("does nothing for an empty list", async () => {
    const market = await loadFixture(marketplace);
    await market.escrow.connect(market.actors.stranger).refundMany([]);
  });

  it("declines all or none: one that may not be declined undoes the others", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const open = await funded(market);
    const done = await delivered(market);
    const missing = newId();
    const seller = escrow.connect(actors.seller);
    await expect(seller.refundMany([open.escrowId, done.escrowId]))
      .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
      .withArgs(done.escrowId, State.Delivered, State.Funded);
    await expect(seller.refundMany([open.escrowId, missing]))
      .to.be.revertedWithCustomError(escrow, "EscrowNotFound")
      .withArgs(missing);
    await expect(seller.refundMany([open.escrowId, open.escrowId]))
      .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
      .withArgs(open.escrowId, State.Refunded, State.Funded);
    expect((await escrow.getEscrow(open.escrowId)).state).to.equal(State.Funded);
  });

  it("fails for anyone but the seller of each, and after the grace of any", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const early = await funded(market);
    const late = await funded(market, { abandonmentGrace: 7_200n });
    await expect(escrow.connect(actors.buyer).refundMany([early.escrowId]))
      .to.be.revertedWithCustomError(escrow, "CallerNotSeller")
      .withArgs(actors.buyer, actors.seller);
    await at(early.graceEnd + 1n);
    await expect(escrow.connect(actors.seller).refundMany([late.escrowId, early.escrowId]))
      .to.be.revertedWithCustomError(escrow, "AbandonmentGraceElapsed")
      .withArgs(early.graceEnd + 1n, early.graceEnd);
  });
});
