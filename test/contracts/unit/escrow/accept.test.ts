import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { ScoreOutcome, State, USDC, at, delivered } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("EscrowV2.accept", () => {
  it("pays the seller 98% of the deposit and takes no second fee [S3.2.19] [S8.1.06] [D1]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    const { escrowId } = await delivered(market, { amount: 10n * USDC });
    const acceptance = escrow.connect(actors.buyer).accept(escrowId);
    await expect(acceptance).to.changeTokenBalances(
      ethers,
      usdc,
      [actors.seller, escrow, actors.treasury, actors.buyer],
      [9_800_000n, -9_800_000n, 0n, 0n],
    );
  });

  it("takes the id alone and moves a delivered escrow to Released [S3.2.16] [S3.1.04] [S4.404]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    expect(escrow.interface.getFunction("accept").format()).to.equal("accept(bytes32)");
    const { escrowId } = await delivered(market, { amount: 10n * USDC });
    await expect(escrow.connect(actors.buyer).accept(escrowId))
      .to.emit(escrow, "EscrowReleased")
      .withArgs(escrowId, actors.buyer, actors.seller, 9_800_000n, false);
    expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Released);
  });

  it("adds 1 to the scores of both parties [S3.2.31] [S1.04]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, score, actors } = market;
    const { escrowId } = await delivered(market);
    await expect(escrow.connect(actors.buyer).accept(escrowId))
      .to.emit(score, "ScoresChanged")
      .withArgs(escrowId, actors.buyer, actors.seller, ScoreOutcome.Released, 1n, 1n);
    expect(await score.scoreOf(actors.buyer)).to.equal(1n);
    expect(await score.scoreOf(actors.seller)).to.equal(1n);
  });

  for (const [title, offset] of [
    ["first", 1n],
    ["last", 300n],
  ] as const) {
    it(`works in the ${title} second of the dispute window [S3.2.18] [D7]`, async () => {
      const market = await loadFixture(marketplace);
      const { escrow, actors } = market;
      const { escrowId, deliveredAt } = await delivered(market);
      await at(deliveredAt + offset);
      await escrow.connect(actors.buyer).accept(escrowId);
      expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Released);
    });
  }

  it("fails one second after the dispute window [D7]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId, windowEnd } = await delivered(market);
    await at(windowEnd + 1n);
    await expect(escrow.connect(actors.buyer).accept(escrowId))
      .to.be.revertedWithCustomError(escrow, "DisputeWindowElapsed")
      .withArgs(windowEnd + 1n, windowEnd);
  });

  it("fails for anyone but the buyer [S3.2.17]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId } = await delivered(market);
    const others = [
      actors.seller,
      actors.owner,
      actors.systemResolver,
      actors.adminResolver,
      actors.pauser,
      actors.stranger,
    ];
    for (const other of others) {
      await expect(escrow.connect(other).accept(escrowId))
        .to.be.revertedWithCustomError(escrow, "CallerNotBuyer")
        .withArgs(other, actors.buyer);
    }
  });

  it("works while new escrows are stopped [D14]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId } = await delivered(market);
    await escrow.connect(actors.pauser).pause();
    await escrow.connect(actors.buyer).accept(escrowId);
    expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Released);
  });
});
