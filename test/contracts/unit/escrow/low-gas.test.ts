import { expect } from "chai";

import { ethers, loadFixture, provider } from "../../fixtures/chain.ts";
import type { Deal } from "../../fixtures/deals.ts";
import { Outcome, RATIONALE, at, delivered, disputed, funded, sendCreate, termsOf } from "../../fixtures/deals.ts";
import type { Marketplace } from "../../fixtures/marketplace.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

/** Gas that a payout and a score update are given (ProtocolConstants), with the 63/64 rule and the call's own cost. */
const PAYOUT_REQUIRED = 200_000n + 200_000n / 63n + 3_000n;
const SCORE_REQUIRED = 150_000n + 150_000n / 63n + 3_000n;

interface Settlement {
  name: string;
  prepare: (market: Marketplace) => Promise<Deal>;
  /** Sends the settling transaction with so much gas. */
  send: (market: Marketplace, deal: Deal, gasLimit: bigint) => Promise<unknown>;
}

const SETTLEMENTS: Settlement[] = [
  {
    name: "accept",
    prepare: (market) => delivered(market),
    send: ({ escrow, actors }, { escrowId }, gasLimit) => escrow.connect(actors.buyer).accept(escrowId, { gasLimit }),
  },
  {
    name: "finalize",
    prepare: async (market) => {
      const deal = await delivered(market);
      await at(deal.windowEnd + 1n);
      await provider.request({ method: "evm_mine" });
      return deal;
    },
    send: ({ escrow, actors }, { escrowId }, gasLimit) =>
      escrow.connect(actors.stranger).finalize(escrowId, { gasLimit }),
  },
  {
    name: "refund",
    prepare: (market) => funded(market),
    send: ({ escrow, actors }, { escrowId }, gasLimit) => escrow.connect(actors.seller).refund(escrowId, { gasLimit }),
  },
  {
    name: "claimAbandoned",
    prepare: async (market) => {
      const deal = await funded(market);
      await at(deal.graceEnd + 1n);
      await provider.request({ method: "evm_mine" });
      return deal;
    },
    send: ({ escrow, actors }, { escrowId }, gasLimit) =>
      escrow.connect(actors.buyer).claimAbandoned(escrowId, { gasLimit }),
  },
  {
    name: "a ruling with a split",
    prepare: (market) => disputed(market),
    send: ({ resolver, actors }, { escrowId }, gasLimit) =>
      resolver.connect(actors.systemResolver).resolveBySystem(escrowId, Outcome.Split, RATIONALE, { gasLimit }),
  },
];

describe("Settlement with too little gas", () => {
  for (const { name, prepare, send } of SETTLEMENTS) {
    it(`${name} either reverts or pays and scores in full, whatever gas its caller sends [D9]`, async () => {
      const market = await loadFixture(marketplace);
      const { escrow, usdc, actors } = market;
      let settled = 0;
      let refused = 0;
      for (let gasLimit = 40_000n; gasLimit <= 560_000n; gasLimit += 20_000n) {
        const deal = await prepare(market);
        const credits = async (): Promise<bigint> =>
          (await escrow.creditOf(actors.buyer, usdc)) + (await escrow.creditOf(actors.seller, usdc));
        const before = await usdc.balanceOf(escrow);
        try {
          await send(market, deal, gasLimit);
        } catch {
          refused += 1;
          expect(await usdc.balanceOf(escrow), `${gasLimit}: reverted`).to.equal(before);
          continue;
        }
        settled += 1;
        expect(await usdc.balanceOf(escrow), `${gasLimit}: paid`).to.equal(before - deal.locked);
        expect(await credits(), `${gasLimit}: no credit`).to.equal(0n);
        await expect(escrow.retryScore.staticCall(deal.escrowId)).to.be.revertedWithCustomError(
          escrow,
          "NoScorePending",
        );
      }
      expect(settled, "some gas suffices").to.be.greaterThan(0);
      expect(refused, "some gas does not").to.be.greaterThan(0);
    });
  }

  it("says how much gas a payout needs [D9]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId } = await delivered(market);
    await expect(escrow.connect(actors.buyer).accept(escrowId, { gasLimit: 200_000n }))
      .to.be.revertedWithCustomError(escrow, "InsufficientGas")
      .withArgs((available: bigint) => available < PAYOUT_REQUIRED, PAYOUT_REQUIRED);
  });

  it("demands gas for the score update too: it comes last", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    // A deposit of one unit has nothing locked, so that no payout comes before the score update.
    const listing = { feed: ethers.ZeroAddress, maxPriceAge: 0, decimals: 6, listed: true, minAmount: 1 };
    await escrow.connect(actors.owner).listToken(usdc, listing);
    const { escrowId } = await delivered(market, { amount: 1n });
    await expect(escrow.connect(actors.buyer).accept(escrowId, { gasLimit: 170_000n }))
      .to.be.revertedWithCustomError(escrow, "InsufficientGas")
      .withArgs((available: bigint) => available < SCORE_REQUIRED, SCORE_REQUIRED);
  });

  it("guards the fee at creation as well", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    for (let gasLimit = 100_000n; gasLimit <= 420_000n; gasLimit += 20_000n) {
      const { escrowId } = await funded(market);
      await escrow.connect(actors.seller).refund(escrowId);
      await usdc.connect(actors.buyer).approve(escrow, ethers.MaxUint256);
      const treasury = await usdc.balanceOf(actors.treasury);
      const terms = await termsOf(market);
      const { seller, amount, token, deadline, disputeWindow, abandonmentGrace, criteriaHash } = terms;
      const creation = escrow
        .connect(actors.buyer)
        .createEscrow(terms.escrowId, seller, amount, token, deadline, disputeWindow, abandonmentGrace, criteriaHash, {
          gasLimit,
        });
      const created = await creation.then(
        () => true,
        () => false,
      );
      expect(await escrow.creditOf(actors.treasury, usdc), `${gasLimit}`).to.equal(0n);
      expect((await usdc.balanceOf(actors.treasury)) - treasury, `${gasLimit}`).to.equal(created ? 20_000n : 0n);
    }
    await sendCreate(market, await termsOf(market));
  });
});
