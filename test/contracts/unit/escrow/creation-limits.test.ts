import { expect } from "chai";

import { loadFixture } from "../../fixtures/chain.ts";
import { USDC, at, now, raiseScores, sendCreate, termsOf } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("EscrowV2.createEscrow", () => {
  describe("limits of seller, scores and pauser", () => {
    it("keeps a seller's least amount, least time and pause [D10]", async () => {
      const market = await loadFixture(marketplace);
      const { escrow, actors } = market;
      const seller = escrow.connect(actors.seller);
      await seller.setSellerTerms(USDC, 3_600, false);
      await expect(sendCreate(market, await termsOf(market, { amount: USDC - 1n })))
        .to.be.revertedWithCustomError(escrow, "BelowSellerMinimum")
        .withArgs(actors.seller, USDC - 1n, USDC);
      const second = (await now()) + 100n;
      const hurried = await termsOf(market, { deadline: second + 3_599n });
      await at(second);
      await expect(sendCreate(market, hurried))
        .to.be.revertedWithCustomError(escrow, "DeliveryTimeBelowSellerMinimum")
        .withArgs(actors.seller, 3_599n, 3_600n);
      const next = (await now()) + 100n;
      const patient = await termsOf(market, { deadline: next + 3_600n });
      await at(next);
      await sendCreate(market, patient);
      await seller.setSellerTerms(0, 0, true);
      await expect(sendCreate(market, await termsOf(market)))
        .to.be.revertedWithCustomError(escrow, "SellerPaused")
        .withArgs(actors.seller);
    });

    it("caps a job by the scores of both: $10 below 10, then $25, $100 from 30 and $2,500 from 70 [S8.4.01] [S8.4.02] [S8.4.03] [S8.4.04]", async () => {
      const market = await loadFixture(marketplace);
      const { escrow, actors } = market;
      let score = 0;
      for (const [reached, capUsd] of [
        [0, 10n],
        [9, 10n],
        [10, 25n],
        [19, 25n],
        [30, 100n],
        [39, 100n],
        [70, 2_500n],
        [79, 2_500n],
      ] as const) {
        await raiseScores(market, reached - score);
        score = reached;
        const cap = capUsd * USDC;
        await sendCreate(market, await termsOf(market, { amount: cap }));
        await expect(sendCreate(market, await termsOf(market, { amount: cap + 1n })), `score ${score}`)
          .to.be.revertedWithCustomError(escrow, "JobValueCapExceeded")
          .withArgs(actors.buyer, cap + 1n, cap);
      }
    });

    it("applies the lower cap of both parties and names whose it is [D11]", async () => {
      const market = await loadFixture(marketplace);
      const { escrow, actors } = market;
      await raiseScores(market, 10);
      const newSeller = await termsOf(market, { amount: 11n * USDC, seller: actors.stranger.address });
      await expect(sendCreate(market, newSeller))
        .to.be.revertedWithCustomError(escrow, "JobValueCapExceeded")
        .withArgs(actors.stranger, 11n * USDC, 10n * USDC);
      const newBuyer = await termsOf(market, { amount: 11n * USDC });
      await expect(sendCreate(market, newBuyer, actors.otherBuyer))
        .to.be.revertedWithCustomError(escrow, "JobValueCapExceeded")
        .withArgs(actors.otherBuyer, 11n * USDC, 10n * USDC);
    });

    it("values WETH by its price feed for the caps and the event [D11]", async () => {
      const market = await loadFixture(marketplace);
      const { escrow, weth, actors } = market;
      const token = await weth.getAddress();
      const tenDollars = 4n * 10n ** 15n; // 0.004 WETH at $2,500
      await expect(sendCreate(market, await termsOf(market, { token, amount: tenDollars + 1n })))
        .to.be.revertedWithCustomError(escrow, "JobValueCapExceeded")
        .withArgs(actors.buyer, 10_000_001n, 10_000_000n);
      const terms = await termsOf(market, { token, amount: tenDollars });
      const receipt = await (await sendCreate(market, terms)).wait();
      const [created] = await escrow.queryFilter(escrow.filters.EscrowCreated, receipt?.blockNumber);
      expect(created?.args.valueUsd).to.equal(10_000_000n);
    });

    it("stops while the pauser has stopped new escrows [D14]", async () => {
      const market = await loadFixture(marketplace);
      const { escrow, actors } = market;
      await escrow.connect(actors.pauser).pause();
      await expect(sendCreate(market, await termsOf(market))).to.be.revertedWithCustomError(escrow, "NewEscrowsPaused");
      await escrow.connect(actors.pauser).unpause();
      await sendCreate(market, await termsOf(market));
    });
  });
});
