import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { ScoreOutcome, State, USDC, at, delivered, funded } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("EscrowV2.claimAbandoned", () => {
  it("refunds the buyer all that is held [S3.2.14] [D1]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    const { escrowId, graceEnd } = await funded(market, { amount: 10n * USDC });
    await at(graceEnd + 1n);
    const claim = escrow.connect(actors.buyer).claimAbandoned(escrowId);
    await expect(claim).to.changeTokenBalances(
      ethers,
      usdc,
      [actors.buyer, escrow, actors.seller, actors.treasury],
      [9_800_000n, -9_800_000n, 0n, 0n],
    );
  });

  it("takes the id alone and moves a funded escrow to Abandoned [S3.2.10] [S3.1.08] [S4.405]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    expect(escrow.interface.getFunction("claimAbandoned").format()).to.equal("claimAbandoned(bytes32)");
    const { escrowId, graceEnd } = await funded(market, { amount: 10n * USDC });
    await at(graceEnd + 1n);
    await expect(escrow.connect(actors.buyer).claimAbandoned(escrowId))
      .to.emit(escrow, "EscrowAbandoned")
      .withArgs(escrowId, actors.buyer, actors.seller, 9_800_000n);
    expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Abandoned);
  });

  it("takes 5 from the seller's score and leaves the buyer's [S3.2.36] [S2.5.16]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, score, actors } = market;
    const { escrowId, graceEnd } = await funded(market);
    await at(graceEnd + 1n);
    await expect(escrow.connect(actors.buyer).claimAbandoned(escrowId))
      .to.emit(score, "ScoresChanged")
      .withArgs(escrowId, actors.buyer, actors.seller, ScoreOutcome.Abandonment, 0n, -5n);
    expect(await score.scoreOf(actors.seller)).to.equal(-5n);
  });

  it("fails until now is past deadline + abandonmentGrace, to the second [S3.2.12] [S4.402] [D7]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    for (const abandonmentGrace of [3_600n, 2_592_000n]) {
      const { escrowId, deadline } = await funded(market, { abandonmentGrace });
      const graceEnd = deadline + abandonmentGrace;
      for (const second of [deadline + 1n, graceEnd]) {
        await at(second);
        await expect(escrow.connect(actors.buyer).claimAbandoned(escrowId))
          .to.be.revertedWithCustomError(escrow, "AbandonmentGraceOpen")
          .withArgs(second, graceEnd);
      }
      await at(graceEnd + 1n);
      await escrow.connect(actors.buyer).claimAbandoned(escrowId);
    }
  });

  it("fails when a delivery exists [S3.2.13]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId, graceEnd } = await delivered(market);
    await at(graceEnd + 1n);
    await expect(escrow.connect(actors.buyer).claimAbandoned(escrowId))
      .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
      .withArgs(escrowId, State.Delivered, State.Funded);
  });

  it("fails for anyone but the buyer [S3.2.11]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId, graceEnd } = await funded(market);
    await at(graceEnd + 1n);
    for (const other of [actors.seller, actors.owner, actors.systemResolver, actors.adminResolver, actors.stranger]) {
      await expect(escrow.connect(other).claimAbandoned(escrowId))
        .to.be.revertedWithCustomError(escrow, "CallerNotBuyer")
        .withArgs(other, actors.buyer);
    }
  });

  it("works while new escrows are stopped [D14]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId, graceEnd } = await funded(market);
    await escrow.connect(actors.pauser).pause();
    await at(graceEnd + 1n);
    await escrow.connect(actors.buyer).claimAbandoned(escrowId);
    expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Abandoned);
  });
});
