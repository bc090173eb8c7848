import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { DAY, State, USDC, at, delivered } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("EscrowV2.finalize", () => {
  it("pays the seller 98% once the dispute window has elapsed, for any caller [S3.2.20] [S3.2.21] [S3.1.04] [D7]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    for (const caller of [actors.seller, actors.buyer, actors.stranger, actors.owner]) {
      const { escrowId, windowEnd } = await delivered(market, { amount: 10n * USDC });
      await at(windowEnd + 1n);
      const release = escrow.connect(caller).finalize(escrowId);
      await expect(release).to.changeTokenBalances(
        ethers,
        usdc,
        [actors.seller, escrow, actors.treasury],
        [9_800_000n, -9_800_000n, 0n],
      );
      await expect(release)
        .to.emit(escrow, "EscrowReleased")
        .withArgs(escrowId, actors.buyer, actors.seller, 9_800_000n, true);
      expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Released);
    }
  });

  it("adds 1 to the scores of both parties [S3.2.32]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, score, actors } = market;
    const { escrowId, windowEnd } = await delivered(market);
    await at(windowEnd + 1n);
    await escrow.connect(actors.stranger).finalize(escrowId);
    expect(await score.scoreOf(actors.buyer)).to.equal(1n);
    expect(await score.scoreOf(actors.seller)).to.equal(1n);
    expect(await score.scoreOf(actors.stranger)).to.equal(0n);
  });

  it("fails in every second of the dispute window, the last included [S3.2.22]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId, deliveredAt, windowEnd } = await delivered(market);
    for (const second of [deliveredAt + 1n, windowEnd]) {
      await at(second);
      await expect(escrow.connect(actors.seller).finalize(escrowId))
        .to.be.revertedWithCustomError(escrow, "DisputeWindowOpen")
        .withArgs(second, windowEnd);
    }
  });

  it("goes by the escrow's own window in seconds, not by a fixed day [S9.08] [S3.2.09] [S4.402]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    for (const disputeWindow of [300n, DAY]) {
      const { escrowId, deliveredAt } = await delivered(market, { disputeWindow });
      await at(deliveredAt + disputeWindow);
      await expect(escrow.connect(actors.stranger).finalize(escrowId))
        .to.be.revertedWithCustomError(escrow, "DisputeWindowOpen")
        .withArgs(deliveredAt + disputeWindow, deliveredAt + disputeWindow);
      await at(deliveredAt + disputeWindow + 1n);
      await escrow.connect(actors.stranger).finalize(escrowId);
    }
  });

  it("works years later and while new escrows are stopped [D14]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId, windowEnd } = await delivered(market);
    await escrow.connect(actors.pauser).pause();
    await at(windowEnd + 3_650n * DAY);
    await escrow.connect(actors.stranger).finalize(escrowId);
    expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Released);
  });
});
