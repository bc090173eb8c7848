import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import {
  Method,
  Outcome,
  PROOF,
  RATIONALE,
  ResolvedBy,
  State,
  USDC,
  dealIn,
  disputed,
  funded,
  sendCreate,
  termsOf,
} from "../../fixtures/deals.ts";
import type { StateName } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

const NOT_DISPUTED = ["None", "Funded", "Delivered", "Released", "Refunded", "Resolved", "Abandoned"] as const;

/** What `EscrowNotInState` names after the id: the state that is and the one that is asked for. */
const statesOf = (state: StateName): bigint[] => (state === "None" ? [] : [State[state], State.Disputed]);

describe("ResolverV2.resolveBySystem", () => {
  for (const [outcome, buyerPercent, buyerAmount] of [
    ["BuyerRefund", 100n, 980_000n],
    ["SellerPaid", 0n, 0n],
    ["Split", 50n, 490_000n],
  ] as const) {
    it(`rules ${outcome} as ${buyerPercent}/${100n - buyerPercent}, marked system [S2.6.04] [S2.6.05] [D8]`, async () => {
      const market = await loadFixture(marketplace);
      const { escrow, resolver, actors } = market;
      const { escrowId } = await disputed(market);
      const system = resolver.connect(actors.systemResolver);
      await expect(system.resolveBySystem(escrowId, Outcome[outcome], RATIONALE))
        .to.emit(resolver, "DisputeResolved")
        .withArgs(
          escrowId,
          Outcome[outcome],
          buyerPercent,
          ResolvedBy.System,
          Method.Ruling,
          RATIONALE,
          actors.systemResolver,
        )
        .and.to.emit(escrow, "EscrowResolved")
        .withArgs(
          escrowId,
          actors.buyer,
          actors.seller,
          Outcome[outcome],
          buyerAmount,
          980_000n - buyerAmount,
          buyerPercent,
          ResolvedBy.System,
          Method.Ruling,
          RATIONALE,
        );
      expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Resolved);
    });
  }

  it("is the system role's alone [D14]", async () => {
    const market = await loadFixture(marketplace);
    const { resolver, actors } = market;
    const { escrowId } = await disputed(market);
    for (const actor of Object.values(actors)) {
      if (actor.address === actors.systemResolver.address) continue;
      await expect(resolver.connect(actor).resolveBySystem.staticCall(escrowId, Outcome.Split, RATIONALE))
        .to.be.revertedWithCustomError(resolver, "CallerNotResolver")
        .withArgs(ResolvedBy.System, actor);
    }
  });

  it("needs the hash of a written rationale [D8]", async () => {
    const market = await loadFixture(marketplace);
    const { resolver, actors } = market;
    const { escrowId } = await disputed(market);
    const system = resolver.connect(actors.systemResolver);
    await expect(system.resolveBySystem(escrowId, Outcome.Split, ethers.ZeroHash))
      .to.be.revertedWithCustomError(resolver, "MissingRationale")
      .withArgs(escrowId);
  });

  it("rules a dispute once [S9.06] [D8]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver, actors } = market;
    const system = resolver.connect(actors.systemResolver);
    const { escrowId } = await disputed(market);
    await system.resolveBySystem(escrowId, Outcome.Split, RATIONALE);
    await expect(system.resolveBySystem(escrowId, Outcome.Split, RATIONALE))
      .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
      .withArgs(escrowId, State.Resolved, State.Disputed);
  });

  for (const state of NOT_DISPUTED) {
    it(`rules nothing that is ${state} [D8]`, async () => {
      const market = await loadFixture(marketplace);
      const { escrow, resolver, actors } = market;
      const { escrowId } = await dealIn(market, state);
      await expect(resolver.connect(actors.systemResolver).resolveBySystem(escrowId, Outcome.Split, RATIONALE))
        .to.be.revertedWithCustomError(escrow, state === "None" ? "EscrowNotFound" : "EscrowNotInState")
        .withArgs(escrowId, ...statesOf(state));
    });
  }
});

describe("ResolverV2.resolveByAdmin", () => {
  for (const [outcome, buyerPercent, sellerPercent] of [
    ["BuyerRefund", 100n, 0n],
    ["SellerPaid", 0n, 100n],
    ["Split", 30n, 70n],
    ["Split", 0n, 100n],
    ["Split", 100n, 0n],
  ] as const) {
    it(`rules ${outcome} ${buyerPercent}/${sellerPercent}, marked admin [S2.6.05] [S2.6.06] [D8]`, async () => {
      const market = await loadFixture(marketplace);
      const { resolver, usdc, actors } = market;
      const { escrowId } = await disputed(market);
      const ruling = resolver
        .connect(actors.adminResolver)
        .resolveByAdmin(escrowId, Outcome[outcome], buyerPercent, sellerPercent, RATIONALE);
      await expect(ruling).to.changeTokenBalances(
        ethers,
        usdc,
        [actors.buyer, actors.seller],
        [9_800n * buyerPercent, 9_800n * sellerPercent],
      );
      await expect(ruling)
        .to.emit(resolver, "DisputeResolved")
        .withArgs(
          escrowId,
          Outcome[outcome],
          buyerPercent,
          ResolvedBy.Admin,
          Method.Ruling,
          RATIONALE,
          actors.adminResolver,
        );
    });
  }

  for (const [outcome, buyerPercent, sellerPercent] of [
    ["Split", 50n, 49n],
    ["Split", 51n, 50n],
    ["Split", 101n, 0n],
    ["Split", ethers.MaxUint256, 101n],
    ["BuyerRefund", 50n, 50n],
    ["BuyerRefund", 100n, 1n],
    ["SellerPaid", 100n, 0n],
    ["SellerPaid", 0n, 99n],
    ["SellerPaid", 50n, 100n],
  ] as const) {
    it(`refuses ${outcome} with ${buyerPercent} and ${sellerPercent} percent [S2.6.06] [D8]`, async () => {
      const market = await loadFixture(marketplace);
      const { escrow, resolver, actors } = market;
      const { escrowId } = await disputed(market);
      const admin = resolver.connect(actors.adminResolver);
      await expect(admin.resolveByAdmin(escrowId, Outcome[outcome], buyerPercent, sellerPercent, RATIONALE))
        .to.be.revertedWithCustomError(escrow, "InvalidPercentages")
        .withArgs(Outcome[outcome], buyerPercent, sellerPercent);
    });
  }

  it("is the admin role's alone [D14]", async () => {
    const market = await loadFixture(marketplace);
    const { resolver, actors } = market;
    const { escrowId } = await disputed(market);
    for (const actor of Object.values(actors)) {
      if (actor.address === actors.adminResolver.address) continue;
      await expect(resolver.connect(actor).resolveByAdmin.staticCall(escrowId, Outcome.Split, 50, 50, RATIONALE))
        .to.be.revertedWithCustomError(resolver, "CallerNotResolver")
        .withArgs(ResolvedBy.Admin, actor);
    }
  });

  it("needs the hash of a written rationale [D8]", async () => {
    const market = await loadFixture(marketplace);
    const { resolver, actors } = market;
    const { escrowId } = await disputed(market);
    const admin = resolver.connect(actors.adminResolver);
    await expect(admin.resolveByAdmin(escrowId, Outcome.Split, 50, 50, ethers.ZeroHash))
      .to.be.revertedWithCustomError(resolver, "MissingRationale")
      .withArgs(escrowId);
  });

  for (const state of NOT_DISPUTED) {
    it(`rules nothing that is ${state} [D8]`, async () => {
      const market = await loadFixture(marketplace);
      const { escrow, resolver, actors } = market;
      const { escrowId } = await dealIn(market, state);
      const admin = resolver.connect(actors.adminResolver);
      await expect(admin.resolveByAdmin(escrowId, Outcome.Split, 50, 50, RATIONALE))
        .to.be.revertedWithCustomError(escrow, state === "None" ? "EscrowNotFound" : "EscrowNotInState")
        .withArgs(escrowId, ...statesOf(state));
    });
  }
});

describe("A resolver that is a party", () => {
  it("cannot rule its own escrow, as buyer or as seller, in either role; the other role can [D8]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver, usdc, actors } = market;
    const { systemResolver, adminResolver } = actors;
    for (const [party, other] of [
      [systemResolver, adminResolver],
      [adminResolver, systemResolver],
    ] as const) {
      await usdc.connect(actors.buyer).transfer(party, USDC);
      await usdc.connect(party).approve(escrow, USDC);
      const rule = (by: typeof party, escrowId: string) =>
        by.address === systemResolver.address
          ? resolver.connect(by).resolveBySystem(escrowId, Outcome.Split, RATIONALE)
          : resolver.connect(by).resolveByAdmin(escrowId, Outcome.Split, 50, 50, RATIONALE);

      const asSeller = await funded(market, { seller: party.address });
      await escrow.connect(party).submitDelivery(asSeller.escrowId, PROOF);
      await escrow.connect(actors.buyer).openDispute(asSeller.escrowId);
      const asBuyer = await termsOf(market, { buyer: party.address });
      await sendCreate(market, asBuyer, party);
      await escrow.connect(actors.seller).submitDelivery(asBuyer.escrowId, PROOF);
      await escrow.connect(party).openDispute(asBuyer.escrowId);
      for (const { escrowId } of [asSeller, asBuyer]) {
        await expect(rule(party, escrowId))
          .to.be.revertedWithCustomError(resolver, "ResolverIsParty")
          .withArgs(escrowId, party);
        await rule(other, escrowId);
      }
    }
  });
});
