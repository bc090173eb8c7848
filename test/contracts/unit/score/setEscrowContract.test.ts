import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { ScoreOutcome, newId } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("ScoreV2.setEscrowContract", () => {
  it("makes the new contract the only writer and announces it", async () => {
    const { score, escrow, actors } = await loadFixture(marketplace);
    await expect(score.connect(actors.owner).setEscrowContract(actors.stranger))
      .to.emit(score, "EscrowContractSet")
      .withArgs(escrow, actors.stranger);
    expect(await score.escrowContract()).to.equal(actors.stranger.address);
    await score.connect(actors.stranger).recordOutcome(newId(), actors.buyer, actors.seller, ScoreOutcome.Released);
    expect(await score.scoreOf(actors.buyer)).to.equal(1n);
  });

  it("is the owner's alone and refuses the zero address", async () => {
    const { score, implementations, actors } = await loadFixture(marketplace);
    await expect(score.connect(actors.owner).setEscrowContract(ethers.ZeroAddress))
      .to.be.revertedWithCustomError(score, "InvalidAddress")
      .withArgs(ethers.ZeroAddress);
    for (const actor of Object.values(actors)) {
      if (actor.address === actors.owner.address) continue;
      const contract = score.connect(actor);
      for (const call of [
        () => contract.setEscrowContract.staticCall(actor),
        () => contract.transferOwnership.staticCall(actor),
        () => contract.renounceOwnership.staticCall(),
        () => contract.upgradeToAndCall.staticCall(implementations.score, "0x"),
      ]) {
        await expect(call()).to.be.revertedWithCustomError(score, "OwnableUnauthorizedAccount").withArgs(actor);
      }
    }
  });
});
