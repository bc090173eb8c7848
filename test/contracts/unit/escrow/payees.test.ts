import { expect } from "chai";
import type { ContractTransactionResponse } from "ethers";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import type { Deal } from "../../fixtures/deals.ts";
import { at, delivered, dealIn, disputed, sendCreate, termsOf } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";
import type { Marketplace } from "../../fixtures/marketplace.ts";

/** Every way in which a deal ends, with what the seller gets of the locked funds in percent. */
const ENDINGS: [name: string, sellerPercent: bigint, end: (market: Marketplace) => Promise<Deal>][] = [
  ["acceptance", 100n, (market) => dealIn(market, "Released")],
  [
    "automatic release",
    100n,
    async (market) => {
      const deal = await delivered(market);
      await at(deal.windowEnd + 1n);
      await market.escrow.connect(market.actors.stranger).finalize(deal.escrowId);
      return deal;
    },
  ],
  ["refund", 0n, (market) => dealIn(market, "Refunded")],
  ["abandonment", 0n, (market) => dealIn(market, "Abandoned")],
  ["ruling", 50n, (market) => dealIn(market, "Resolved")],
  [
    "resolution after the time for a ruling",
    50n,
    async (market) => {
      const deal = await disputed(market);
      await at(deal.expiresAt + 1n);
      await market.escrow.connect(market.actors.stranger).resolveExpired(deal.escrowId);
      return deal;
    },
  ],
];

/** What each account gained or lost of the token since a block, by the token's Transfer logs; zero is left out. */
async function flowsSince({ usdc }: Marketplace, block: number): Promise<Record<string, bigint>> {
  const flows: Record<string, bigint> = {};
  for (const { args } of await usdc.queryFilter(usdc.filters.Transfer(), block + 1)) {
    flows[args.from] = (flows[args.from] ?? 0n) - args.value;
    flows[args.to] = (flows[args.to] ?? 0n) + args.value;
  }
  return Object.fromEntries(Object.entries(flows).filter(([, units]) => units !== 0n));
}

/** What buyer, seller and treasury gain by a deal that ended, without those that gain nothing. */
function shares({ actors }: Marketplace, { amount, fee, locked }: Deal, sellerPercent: bigint): Record<string, bigint> {
  const ofBuyer = (locked * (100n - sellerPercent)) / 100n;
  const all = {
    [actors.buyer.address]: ofBuyer - amount,
    [actors.seller.address]: locked - ofBuyer,
    [actors.treasury.address]: fee,
  };
  return Object.fromEntries(Object.entries(all).filter(([, units]) => units !== 0n));
}

describe("EscrowV2, who is paid", () => {
  for (const [name, sellerPercent, end] of ENDINGS) {
    it(`pays nobody but buyer, seller and treasury in a deal that ends by ${name} [S9.08]`, async () => {
      const market = await loadFixture(marketplace);
      const block = await ethers.provider.getBlockNumber();
      const deal = await end(market);
      expect(await flowsSince(market, block)).to.deep.equal(shares(market, deal, sellerPercent));
    });
  }

  it("pays no referrer that a buyer appends to the call [S9.08]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const terms = await termsOf(market);
    const call = escrow.interface.encodeFunctionData("createEscrow", [
      ...([terms.escrowId, terms.seller, terms.amount, terms.token, terms.deadline] as const),
      ...([terms.disputeWindow, terms.abandonmentGrace, terms.criteriaHash] as const),
    ]);
    const referrer = ethers.AbiCoder.defaultAbiCoder().encode(["address"], [actors.stranger.address]);
    const block = await ethers.provider.getBlockNumber();
    await actors.buyer.sendTransaction({ to: await escrow.getAddress(), data: ethers.concat([call, referrer]) });
    expect(await flowsSince(market, block)).to.deep.equal({
      [actors.buyer.address]: -terms.amount,
      [actors.treasury.address]: 20_000n,
      [await escrow.getAddress()]: 980_000n,
    });
  });

  it("asks no bond of a seller, who needs neither tokens nor an allowance [S9.05]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    const seller = actors.stranger;
    expect([await usdc.balanceOf(seller), await usdc.allowance(seller, escrow)]).to.deep.equal([0n, 0n]);
    const terms = await termsOf(market, { seller: seller.address });
    await sendCreate(market, terms);
    for (const step of [
      () => escrow.connect(seller).submitDelivery(terms.escrowId, ethers.id("the delivery")),
      () => escrow.connect(actors.buyer).openDispute(terms.escrowId),
    ] satisfies (() => Promise<ContractTransactionResponse>)[]) {
      await expect(step()).to.changeTokenBalances(ethers, usdc, [actors.buyer, seller, escrow], [0n, 0n, 0n]);
    }
  });
});
