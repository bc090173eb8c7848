import { expect } from "chai";

import { loadFixture } from "../../fixtures/chain.ts";
import { USDC, dealIn, sendCreate, termsOf } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("EscrowV2.setSellerTerms", () => {
  it("is open by default [D10]", async () => {
    const { escrow, actors } = await loadFixture(marketplace);
    const terms = await escrow.sellerTerms(actors.seller);
    expect([terms.minAmountUsd, terms.minDeliverySeconds, terms.paused]).to.deep.equal([0n, 0n, false]);
  });

  it("keeps the terms of the caller alone and announces them, at the ends of their ranges too [D10]", async () => {
    const { escrow, actors } = await loadFixture(marketplace);
    for (const terms of [
      [2n ** 64n - 1n, 2n ** 32n - 1n, true],
      [5n * USDC, 3_600n, false],
      [0n, 0n, false],
    ] as const) {
      await expect(escrow.connect(actors.seller).setSellerTerms(...terms))
        .to.emit(escrow, "SellerTermsSet")
        .withArgs(actors.seller, ...terms);
      const kept = await escrow.sellerTerms(actors.seller);
      expect([kept.minAmountUsd, kept.minDeliverySeconds, kept.paused]).to.deep.equal(terms);
    }
    expect((await escrow.sellerTerms(actors.stranger)).minAmountUsd).to.equal(0n);
  });

  it("leaves open escrows as they are [D10]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId } = await dealIn(market, "Delivered");
    await escrow.connect(actors.seller).setSellerTerms(2n ** 64n - 1n, 2n ** 32n - 1n, true);
    await escrow.connect(actors.buyer).accept(escrowId);
  });

  it("does not bind a seller's own purchases", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    await escrow.connect(actors.buyer).setSellerTerms(0, 0, true);
    await sendCreate(market, await termsOf(market));
  });
});
