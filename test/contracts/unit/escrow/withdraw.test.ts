import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import type { Deal } from "../../fixtures/deals.ts";
import { Outcome, PROOF, RATIONALE, State, at, delivered, disputed, funded, termsOf } from "../../fixtures/deals.ts";
import { TokenMood, hostileMarketplace } from "../../fixtures/hostile.ts";
import { impersonate } from "../../fixtures/marketplace.ts";

type HostileMarket = Awaited<ReturnType<typeof hostileMarketplace>>;

interface Settlement {
  name: string;
  prepare: (market: HostileMarket) => Promise<Deal>;
  settle: (market: HostileMarket, deal: Deal) => Promise<unknown>;
  ends: bigint;
  /** What the buyer and the seller are due of the locked funds. */
  due: (locked: bigint) => { buyer: bigint; seller: bigint };
}

const toSeller = (locked: bigint) => ({ buyer: 0n, seller: locked });
const toBuyer = (locked: bigint) => ({ buyer: locked, seller: 0n });

const SETTLEMENTS: Settlement[] = [
  {
    name: "accept",
    prepare: (market) => delivered(market, market.inToken),
    settle: ({ escrow, actors }, { escrowId }) => escrow.connect(actors.buyer).accept(escrowId),
    ends: State.Released,
    due: toSeller,
  },
  {
    name: "finalize",
    prepare: (market) => delivered(market, market.inToken),
    settle: async ({ escrow, actors }, { escrowId, windowEnd }) => {
      await at(windowEnd + 1n);
      return escrow.connect(actors.stranger).finalize(escrowId);
    },
    ends: State.Released,
    due: toSeller,
  },
  {
    name: "refund",
    prepare: (market) => funded(market, market.inToken),
    settle: ({ escrow, actors }, { escrowId }) => escrow.connect(actors.seller).refund(escrowId),
    ends: State.Refunded,
    due: toBuyer,
  },
  {
    name: "claimAbandoned",
    prepare: (market) => funded(market, market.inToken),
    settle: async ({ escrow, actors }, { escrowId, graceEnd }) => {
      await at(graceEnd + 1n);
      return escrow.connect(actors.buyer).claimAbandoned(escrowId);
    },
    ends: State.Abandoned,
    due: toBuyer,
  },
  {
    name: "a ruling with a split",
    prepare: (market) => disputed(market, market.inToken),
    settle: ({ resolver, actors }, { escrowId }) =>
      resolver.connect(actors.systemResolver).resolveBySystem(escrowId, Outcome.Split, RATIONALE),
    ends: State.Resolved,
    due: (locked) => ({ buyer: locked / 2n, seller: locked - locked / 2n }),
  },
  {
    name: "resolveExpired",
    prepare: (market) => disputed(market, market.inToken),
    settle: async ({ escrow, actors }, { escrowId, expiresAt }) => {
      await at(expiresAt + 1n);
      return escrow.connect(actors.stranger).resolveExpired(escrowId);
    },
    ends: State.Resolved,
    due: (locked) => ({ buyer: locked / 2n, seller: locked - locked / 2n }),
  },
];

const FAILING = [
  ["pauses", TokenMood.Paused],
  ["returns false", TokenMood.ReturnsFalse],
  ["returns false and a word more", TokenMood.ReturnsLongFalse],
  ["burns all its gas", TokenMood.BurnsGas],
  ["reverts with a long answer", TokenMood.LongAnswer],
] as const;

describe("EscrowV2.withdraw", () => {
  for (const { name, prepare, settle, ends, due } of SETTLEMENTS) {
    it(`${name} by a token that pauses ends all the same; each party draws its due later, once [D9]`, async () => {
      const market = await loadFixture(hostileMarketplace);
      const { escrow, token, actors } = market;
      const deal = await prepare(market);
      await token.setMood(TokenMood.Paused);
      await settle(market, deal);
      expect((await escrow.getEscrow(deal.escrowId)).state).to.equal(ends);
      const credits = due(deal.locked);
      expect(await escrow.creditOf(actors.buyer, token)).to.equal(credits.buyer);
      expect(await escrow.creditOf(actors.seller, token)).to.equal(credits.seller);

      await token.setMood(TokenMood.Plain);
      for (const [party, credit] of [
        [actors.buyer, credits.buyer],
        [actors.seller, credits.seller],
      ] as const) {
        if (credit > 0n) await drawsOnce(market, party, credit);
      }
      expect(await token.balanceOf(escrow)).to.equal(0n);
    });

    for (const denied of ["buyer", "seller"] as const) {
      const other = denied === "buyer" ? "seller" : "buyer";
      it(`${name} pays the ${other} when the token denies the ${denied}, who draws what is due later, once [D9]`, async () => {
        const market = await loadFixture(hostileMarketplace);
        const { escrow, token, actors } = market;
        const deal = await prepare(market);
        const credits = due(deal.locked);
        await token.setDenied(actors[denied], true);
        const before = { buyer: await token.balanceOf(actors.buyer), seller: await token.balanceOf(actors.seller) };
        await settle(market, deal);
        expect((await escrow.getEscrow(deal.escrowId)).state).to.equal(ends);
        expect((await token.balanceOf(actors[other])) - before[other]).to.equal(credits[other]);
        expect(await escrow.creditOf(actors[other], token)).to.equal(0n);
        expect((await token.balanceOf(actors[denied])) - before[denied]).to.equal(0n);
        expect(await escrow.creditOf(actors[denied], token)).to.equal(credits[denied]);

        await token.setDenied(actors[denied], false);
        if (credits[denied] > 0n) await drawsOnce(market, actors[denied], credits[denied]);
        expect(await token.balanceOf(escrow)).to.equal(0n);
      });
    }
  }

  for (const [title, mood] of FAILING) {
    it(`credits the whole amount when a token ${title} [D9]`, async () => {
      const market = await loadFixture(hostileMarketplace);
      const { escrow, token, actors, inToken } = market;
      const deal = await delivered(market, inToken);
      await token.setMood(mood);
      await expect(escrow.connect(actors.buyer).accept(deal.escrowId))
        .to.emit(escrow, "PayoutCredited")
        .withArgs(deal.escrowId, actors.seller, token, deal.locked);
      expect(await escrow.creditOf(actors.seller, token)).to.equal(deal.locked);
    });
  }

  for (const [title, mood] of [
    ["nothing", TokenMood.ReturnsNothing],
    ["less than a word", TokenMood.ReturnsShort],
    ["a word that is neither true nor false", TokenMood.ReturnsTwo],
  ] as const) {
    it(`pays once, and credits nothing, when a token moves and returns ${title} [D9]`, async () => {
      const market = await loadFixture(hostileMarketplace);
      const { escrow, token, actors, inToken } = market;
      const others = await delivered(market, inToken);
      const deal = await delivered(market, inToken);
      await token.setMood(mood);
      await expect(escrow.connect(actors.buyer).accept(deal.escrowId)).to.changeTokenBalance(
        ethers,
        token,
        actors.seller,
        deal.locked,
      );
      expect(await escrow.creditOf(actors.seller, token)).to.equal(0n);
      expect(await token.balanceOf(escrow)).to.equal(others.locked);
    });
  }

  it("lets others out in full when a token begins to keep a fee: only the recipient bears it", async () => {
    const market = await loadFixture(hostileMarketplace);
    const { escrow, token, actors, inToken } = market;
    const first = await delivered(market, inToken);
    const second = await delivered(market, inToken);
    await token.setMood(TokenMood.TakesFee);
    await escrow.connect(actors.buyer).accept(first.escrowId);
    expect(await token.balanceOf(escrow)).to.equal(second.locked);
    await token.setMood(TokenMood.Plain);
    await expect(escrow.connect(actors.buyer).accept(second.escrowId)).to.changeTokenBalance(
      ethers,
      token,
      actors.seller,
      second.locked,
    );
  });

  it("adds up credits and keeps those of other recipients and tokens apart [D9]", async () => {
    const market = await loadFixture(hostileMarketplace);
    const { escrow, token, usdc, actors, inToken } = market;
    const deals = [await delivered(market, inToken), await delivered(market, inToken)];
    const other = await delivered(market);
    await token.setMood(TokenMood.Paused);
    for (const { escrowId } of deals) await escrow.connect(actors.buyer).accept(escrowId);
    const sum = deals.reduce((total, { locked }) => total + locked, 0n);
    expect(await escrow.creditOf(actors.seller, token)).to.equal(sum);
    expect(await escrow.creditOf(actors.seller, usdc)).to.equal(0n);
    expect(await escrow.creditOf(actors.buyer, token)).to.equal(0n);
    await token.setMood(TokenMood.Plain);
    await drawsOnce(market, actors.seller, sum);
    expect(await usdc.balanceOf(escrow)).to.equal(other.locked);
  });

  it("fails for who has no credit, and takes nothing from the funds of open escrows", async () => {
    const market = await loadFixture(hostileMarketplace);
    const { escrow, usdc, actors } = market;
    const deal = await funded(market);
    for (const actor of Object.values(actors)) {
      await expect(escrow.connect(actor).withdraw(usdc))
        .to.be.revertedWithCustomError(escrow, "NothingToWithdraw")
        .withArgs(actor, usdc);
    }
    expect(await usdc.balanceOf(escrow)).to.equal(deal.locked);
  });

  it("keeps the credit when the token still does not let it go", async () => {
    const market = await loadFixture(hostileMarketplace);
    const { escrow, token, actors, inToken } = market;
    const deal = await delivered(market, inToken);
    await token.setMood(TokenMood.Paused);
    await escrow.connect(actors.buyer).accept(deal.escrowId);
    await expect(escrow.connect(actors.seller).withdraw(token)).to.be.revertedWithCustomError(token, "TransfersPaused");
    await token.setMood(TokenMood.ReturnsFalse);
    await expect(escrow.connect(actors.seller).withdraw(token))
      .to.be.revertedWithCustomError(escrow, "SafeERC20FailedOperation")
      .withArgs(token);
    expect(await escrow.creditOf(actors.seller, token)).to.equal(deal.locked);
  });

  it("works after the token was delisted and while new escrows are stopped [D14]", async () => {
    const market = await loadFixture(hostileMarketplace);
    const { escrow, token, actors, inToken } = market;
    const deal = await delivered(market, inToken);
    await token.setMood(TokenMood.Paused);
    await escrow.connect(actors.owner).delistToken(token);
    await escrow.connect(actors.pauser).pause();
    await escrow.connect(actors.buyer).accept(deal.escrowId);
    await token.setMood(TokenMood.Plain);
    await drawsOnce(market, actors.seller, deal.locked);
  });

  describe("reentrancy", () => {
    it("refuses every call that could pay, score or create while a token is paying out", async () => {
      const market = await loadFixture(hostileMarketplace);
      const { escrow, token, actors, inToken } = market;
      const deal = await delivered(market, inToken);
      const target = await delivered(market, inToken);
      const face = escrow.interface;
      const calls = [
        face.encodeFunctionData("accept", [target.escrowId]),
        face.encodeFunctionData("finalize", [target.escrowId]),
        face.encodeFunctionData("refund", [target.escrowId]),
        face.encodeFunctionData("refundMany", [[target.escrowId]]),
        face.encodeFunctionData("claimAbandoned", [target.escrowId]),
        face.encodeFunctionData("resolveExpired", [target.escrowId]),
        face.encodeFunctionData("resolve", [target.escrowId, 2, 50, 50, 0, 0, RATIONALE]),
        face.encodeFunctionData("retryScore", [target.escrowId]),
        face.encodeFunctionData("withdraw", [await token.getAddress()]),
        face.encodeFunctionData("withdrawTo", [await token.getAddress(), actors.stranger.address]),
        face.encodeFunctionData("createEscrow", [
          ethers.id("inner"),
          actors.seller.address,
          1n,
          await token.getAddress(),
          deal.deadline,
          0n,
          0n,
          deal.criteriaHash,
        ]),
        face.encodeFunctionData("createEscrowWithAuthorization", [
          await termsOf(market, { ...inToken, escrowId: ethers.id("inner") }),
          0n,
          deal.deadline,
          "0x",
        ]),
      ];
      await token.setMood(TokenMood.Reenters);
      for (const data of calls) {
        await token.setCallback(escrow, data);
        const { escrowId, locked } = await delivered(market, inToken);
        await expect(escrow.connect(actors.buyer).accept(escrowId)).to.changeTokenBalance(
          ethers,
          token,
          actors.seller,
          locked,
        );
        expect(await token.callbackSucceeded()).to.equal(false);
        expect(await token.callbackAnswer()).to.equal(face.encodeErrorResult("ReentrancyGuardReentrantCall"));
      }
    });

    it("lets a token that is itself a party deliver or dispute another escrow meanwhile: it pays nothing", async () => {
      const market = await loadFixture(hostileMarketplace);
      const { escrow, token, actors, inToken } = market;
      const face = escrow.interface;
      const self = await token.getAddress();
      const asSeller = await funded(market, { ...inToken, seller: self });
      const asBuyer = await termsOf(market, { ...inToken, buyer: self });
      await token.mint(token, asBuyer.amount);
      const { escrowId, seller, amount, deadline, disputeWindow, abandonmentGrace, criteriaHash } = asBuyer;
      const terms = [escrowId, seller, amount, self, deadline, disputeWindow, abandonmentGrace, criteriaHash] as const;
      const signer = await impersonate(self);
      await token.connect(signer).approve(escrow, amount);
      await escrow.connect(signer).createEscrow(...terms);
      await escrow.connect(actors.seller).submitDelivery(escrowId, PROOF);
      const held = await token.balanceOf(escrow);

      await token.setMood(TokenMood.Reenters);
      const delivery = face.encodeFunctionData("submitDelivery", [asSeller.escrowId, PROOF]);
      const dispute = face.encodeFunctionData("openDispute", [escrowId]);
      for (const [id, callback, state] of [
        [asSeller.escrowId, delivery, State.Delivered],
        [escrowId, dispute, State.Disputed],
      ] as const) {
        const settled = await delivered(market, inToken);
        await token.setCallback(escrow, callback);
        await expect(escrow.connect(actors.buyer).accept(settled.escrowId)).to.changeTokenBalances(
          ethers,
          token,
          [actors.seller, escrow],
          [settled.locked, -settled.locked],
        );
        expect(await token.callbackSucceeded()).to.equal(true);
        expect((await escrow.getEscrow(id)).state).to.equal(state);
        expect((await escrow.getEscrow(settled.escrowId)).state).to.equal(State.Released);
      }
      expect(await token.balanceOf(escrow)).to.equal(held);
    });

    it("shows the final state to a reader during the payout", async () => {
      const market = await loadFixture(hostileMarketplace);
      const { escrow, token, actors, inToken } = market;
      const { escrowId } = await delivered(market, inToken);
      await token.setMood(TokenMood.Reenters);
      await token.setCallback(escrow, escrow.interface.encodeFunctionData("nextActions", [escrowId]));
      await escrow.connect(actors.buyer).accept(escrowId);
      expect(await token.callbackSucceeded()).to.equal(true);
      const [open] = escrow.interface.decodeFunctionResult("nextActions", await token.callbackAnswer());
      expect(open).to.deep.equal([]);
    });
  });
});

/** The party draws exactly its credit, and not a second time. */
async function drawsOnce({ escrow, token }: HostileMarket, party: HardhatEthersSigner, credit: bigint): Promise<void> {
  const withdrawal = escrow.connect(party).withdraw(token);
  await expect(withdrawal).to.changeTokenBalances(ethers, token, [party, escrow], [credit, -credit]);
  await expect(withdrawal).to.emit(escrow, "CreditWithdrawn").withArgs(party, token, party, credit);
  expect(await escrow.creditOf(party, token)).to.equal(0n);
  await expect(escrow.connect(party).withdraw(token))
    .to.be.revertedWithCustomError(escrow, "NothingToWithdraw")
    .withArgs(party, token);
}
