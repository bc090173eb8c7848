import { expect } from "chai";

import { FAR_DEADLINE, signAgreement } from "../../fixtures/agreements.ts";
import { ethers, inOneBlock, loadFixture } from "../../fixtures/chain.ts";
import {
  Outcome,
  PROOF,
  RATIONALE,
  ResolvedBy,
  at,
  disputed,
  fieldsOf,
  now,
  sendCreate,
  termsOf,
} from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

const MAX_UINT64 = 2n ** 64n - 1n;

describe("ResolverV2.transferResolver and acceptResolver", () => {
  for (const [name, role] of Object.entries(ResolvedBy)) {
    it(`hands the ${name} role over in two steps [D14]`, async () => {
      const market = await loadFixture(marketplace);
      const { resolver, actors } = market;
      const previous = role === ResolvedBy.System ? actors.systemResolver : actors.adminResolver;
      await expect(resolver.connect(actors.owner).transferResolver(role, actors.stranger))
        .to.emit(resolver, "ResolverTransferStarted")
        .withArgs(role, previous, actors.stranger);
      expect([await resolver.resolverOf(role), await resolver.pendingResolverOf(role)]).to.deep.equal([
        previous.address,
        actors.stranger.address,
      ]);
      for (const actor of Object.values(actors)) {
        if (actor.address === actors.stranger.address) continue;
        await expect(resolver.connect(actor).acceptResolver.staticCall(role))
          .to.be.revertedWithCustomError(resolver, "CallerNotPendingResolver")
          .withArgs(role, actor, actors.stranger);
      }
      const other = role === ResolvedBy.System ? ResolvedBy.Admin : ResolvedBy.System;
      await expect(resolver.connect(actors.stranger).acceptResolver(other))
        .to.be.revertedWithCustomError(resolver, "CallerNotPendingResolver")
        .withArgs(other, actors.stranger, ethers.ZeroAddress);
      await expect(resolver.connect(actors.stranger).acceptResolver(role))
        .to.emit(resolver, "ResolverTransferred")
        .withArgs(role, previous, actors.stranger, (from: bigint) => from > 0n);
      expect((await resolver.tenureOf(role, actors.stranger)).from).to.equal((await now()) + 1n);
      expect([await resolver.resolverOf(role), await resolver.pendingResolverOf(role)]).to.deep.equal([
        actors.stranger.address,
        ethers.ZeroAddress,
      ]);
    });
  }

  it("gives the new holder the escrows created after the second of the acceptance, and leaves the others to the previous one [D14]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver, actors } = market;
    const before = await disputed(market);
    const terms = await termsOf(market);
    await resolver.connect(actors.owner).transferResolver(ResolvedBy.System, actors.stranger);
    const acceptedAt = (await now()) + 60n;
    // The acceptance and a creation after it in the same second: the escrow has its resolver already.
    await inOneBlock(acceptedAt, [
      () => resolver.connect(actors.stranger).acceptResolver(ResolvedBy.System, { gasLimit: 500_000n }),
      () => sendCreate(market, terms, actors.buyer, { gasLimit: 500_000n }),
    ]);
    expect((await escrow.getEscrow(terms.escrowId)).createdAt).to.equal(acceptedAt);
    await escrow.connect(actors.seller).submitDelivery(terms.escrowId, PROOF);
    await escrow.connect(actors.buyer).openDispute(terms.escrowId);
    const after = await disputed(market);

    const previous = resolver.connect(actors.systemResolver);
    const next = resolver.connect(actors.stranger);
    const began = (await resolver.tenureOf(ResolvedBy.System, actors.systemResolver)).from;
    for (const { escrowId } of [before, terms]) {
      const { createdAt } = await escrow.getEscrow(escrowId);
      await expect(next.resolveBySystem(escrowId, Outcome.Split, RATIONALE))
        .to.be.revertedWithCustomError(resolver, "EscrowOutsideTenure")
        .withArgs(escrowId, createdAt, acceptedAt + 1n, MAX_UINT64);
      await previous.resolveBySystem(escrowId, Outcome.Split, RATIONALE);
    }
    await expect(previous.resolveBySystem(after.escrowId, Outcome.Split, RATIONALE))
      .to.be.revertedWithCustomError(resolver, "EscrowOutsideTenure")
      .withArgs(after.escrowId, after.createdAt, began, acceptedAt);
    await next.resolveBySystem(after.escrowId, Outcome.Split, RATIONALE);
  });

  it("never gives an open escrow to a resolver whom the owner appoints, be it the owner [D14]", async () => {
    const market = await loadFixture(marketplace);
    const { resolver, actors } = market;
    const { escrowId } = await disputed(market);
    for (const role of [ResolvedBy.System, ResolvedBy.Admin]) {
      await resolver.connect(actors.owner).transferResolver(role, actors.owner);
      await resolver.connect(actors.owner).acceptResolver(role);
    }
    const owner = resolver.connect(actors.owner);
    await expect(owner.resolveBySystem(escrowId, Outcome.BuyerRefund, RATIONALE)).to.be.revertedWithCustomError(
      resolver,
      "EscrowOutsideTenure",
    );
    await expect(owner.resolveByAdmin(escrowId, Outcome.BuyerRefund, 100, 0, RATIONALE)).to.be.revertedWithCustomError(
      resolver,
      "EscrowOutsideTenure",
    );
  });

  it("records from when to when each holder served", async () => {
    const { resolver, actors } = await loadFixture(marketplace);
    const [first, second] = [actors.adminResolver, actors.stranger];
    const began = (await resolver.tenureOf(ResolvedBy.Admin, first)).from;
    expect(fieldsOf(await resolver.tenureOf(ResolvedBy.Admin, first))).to.deep.equal(tenure(began, MAX_UINT64));
    await resolver.connect(actors.owner).transferResolver(ResolvedBy.Admin, second);
    await resolver.connect(second).acceptResolver(ResolvedBy.Admin);
    const acceptedAt = await now();
    expect(fieldsOf(await resolver.tenureOf(ResolvedBy.Admin, first))).to.deep.equal(tenure(began, acceptedAt));
    expect(fieldsOf(await resolver.tenureOf(ResolvedBy.Admin, second))).to.deep.equal(
      tenure(acceptedAt + 1n, MAX_UINT64),
    );
    expect(fieldsOf(await resolver.tenureOf(ResolvedBy.System, second))).to.deep.equal(tenure(0n, 0n));
  });

  it("refuses who holds or has held the role, so that no tenure is overwritten; the other role is open to them", async () => {
    const { resolver, actors } = await loadFixture(marketplace);
    const owner = resolver.connect(actors.owner);
    await owner.transferResolver(ResolvedBy.System, actors.stranger);
    await resolver.connect(actors.stranger).acceptResolver(ResolvedBy.System);
    for (const served of [actors.systemResolver, actors.stranger]) {
      await expect(owner.transferResolver(ResolvedBy.System, served))
        .to.be.revertedWithCustomError(resolver, "ResolverServedBefore")
        .withArgs(ResolvedBy.System, served);
    }
    await owner.transferResolver(ResolvedBy.Admin, actors.systemResolver);
    await resolver.connect(actors.systemResolver).acceptResolver(ResolvedBy.Admin);
  });

  it("can be withdrawn before it is accepted", async () => {
    const { resolver, actors } = await loadFixture(marketplace);
    await resolver.connect(actors.owner).transferResolver(ResolvedBy.System, actors.stranger);
    await resolver.connect(actors.owner).transferResolver(ResolvedBy.System, ethers.ZeroAddress);
    await expect(resolver.connect(actors.stranger).acceptResolver(ResolvedBy.System))
      .to.be.revertedWithCustomError(resolver, "CallerNotPendingResolver")
      .withArgs(ResolvedBy.System, actors.stranger, ethers.ZeroAddress);
  });
});

describe("ResolverV2.revokeResolver", () => {
  it("takes every ruling from the present holder: the other role, agreement and timeout are left [D14]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver, actors } = market;
    const [byAdmin, byTimeout] = [await disputed(market), await disputed(market)];
    await expect(resolver.connect(actors.owner).revokeResolver(ResolvedBy.System, actors.systemResolver))
      .to.emit(resolver, "ResolverRevoked")
      .withArgs(ResolvedBy.System, actors.systemResolver);
    const revokedAt = await now();
    expect(await resolver.resolverOf(ResolvedBy.System)).to.equal(ethers.ZeroAddress);
    const { until, revoked } = await resolver.tenureOf(ResolvedBy.System, actors.systemResolver);
    expect([until, revoked]).to.deep.equal([revokedAt, true]);

    await expect(resolver.connect(actors.systemResolver).resolveBySystem(byAdmin.escrowId, Outcome.Split, RATIONALE))
      .to.be.revertedWithCustomError(resolver, "CallerNotResolver")
      .withArgs(ResolvedBy.System, actors.systemResolver);
    await resolver.connect(actors.owner).transferResolver(ResolvedBy.System, actors.stranger);
    await resolver.connect(actors.stranger).acceptResolver(ResolvedBy.System);
    await expect(
      resolver.connect(actors.stranger).resolveBySystem(byAdmin.escrowId, Outcome.Split, RATIONALE),
    ).to.be.revertedWithCustomError(resolver, "EscrowOutsideTenure");
    await resolver
      .connect(actors.adminResolver)
      .resolveByAdmin(byAdmin.escrowId, Outcome.SellerPaid, 0, 100, RATIONALE);
    await at(byTimeout.expiresAt + 1n);
    await escrow.resolveExpired(byTimeout.escrowId);
  });

  it("takes every ruling from a former holder too, and leaves the present one alone", async () => {
    const market = await loadFixture(marketplace);
    const { resolver, actors } = market;
    const { escrowId } = await disputed(market);
    await resolver.connect(actors.owner).transferResolver(ResolvedBy.System, actors.stranger);
    await resolver.connect(actors.stranger).acceptResolver(ResolvedBy.System);
    const { until } = await resolver.tenureOf(ResolvedBy.System, actors.systemResolver);
    await resolver.connect(actors.owner).revokeResolver(ResolvedBy.System, actors.systemResolver);
    expect(await resolver.resolverOf(ResolvedBy.System)).to.equal(actors.stranger.address);
    expect((await resolver.tenureOf(ResolvedBy.System, actors.systemResolver)).until).to.equal(until);
    await expect(resolver.connect(actors.systemResolver).resolveBySystem(escrowId, Outcome.Split, RATIONALE))
      .to.be.revertedWithCustomError(resolver, "CallerNotResolver")
      .withArgs(ResolvedBy.System, actors.systemResolver);
    const later = await disputed(market);
    await resolver.connect(actors.stranger).resolveBySystem(later.escrowId, Outcome.Split, RATIONALE);
  });

  it("leaves the escrows of a vacancy to the other role: nobody who accepts later may rule them", async () => {
    const market = await loadFixture(marketplace);
    const { resolver, actors } = market;
    await resolver.connect(actors.owner).revokeResolver(ResolvedBy.System, actors.systemResolver);
    const { escrowId } = await disputed(market);
    await resolver.connect(actors.owner).transferResolver(ResolvedBy.System, actors.stranger);
    await expect(resolver.connect(actors.stranger).acceptResolver(ResolvedBy.System))
      .to.emit(resolver, "ResolverTransferred")
      .withArgs(ResolvedBy.System, ethers.ZeroAddress, actors.stranger, (from: bigint) => from > 0n);
    await expect(
      resolver.connect(actors.stranger).resolveBySystem(escrowId, Outcome.Split, RATIONALE),
    ).to.be.revertedWithCustomError(resolver, "EscrowOutsideTenure");
    await resolver.connect(actors.adminResolver).resolveByAdmin(escrowId, Outcome.Split, 50, 50, RATIONALE);
  });

  it("refuses who never held the role, and a second time", async () => {
    const { resolver, actors } = await loadFixture(marketplace);
    const owner = resolver.connect(actors.owner);
    await expect(owner.revokeResolver(ResolvedBy.System, actors.adminResolver))
      .to.be.revertedWithCustomError(resolver, "NotAResolver")
      .withArgs(ResolvedBy.System, actors.adminResolver);
    await owner.revokeResolver(ResolvedBy.System, actors.systemResolver);
    await expect(owner.revokeResolver(ResolvedBy.System, actors.systemResolver))
      .to.be.revertedWithCustomError(resolver, "NotAResolver")
      .withArgs(ResolvedBy.System, actors.systemResolver);
    await expect(owner.transferResolver(ResolvedBy.System, actors.systemResolver))
      .to.be.revertedWithCustomError(resolver, "ResolverServedBefore")
      .withArgs(ResolvedBy.System, actors.systemResolver);
  });
});

describe("ResolverV2.pauseRulings and unpauseRulings", () => {
  it("suspends the rulings of both roles at once; agreement and timeout stay open [D14]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver, actors } = market;
    const [agreed, expired, ruled] = [await disputed(market), await disputed(market), await disputed(market)];
    const pauser = resolver.connect(actors.pauser);
    await expect(pauser.pauseRulings()).to.emit(resolver, "RulingsPaused").withArgs(actors.pauser);
    expect(await resolver.rulingsPaused()).to.equal(true);
    const system = resolver.connect(actors.systemResolver);
    const admin = resolver.connect(actors.adminResolver);
    await expect(system.resolveBySystem(ruled.escrowId, Outcome.Split, RATIONALE)).to.be.revertedWithCustomError(
      resolver,
      "RulingsArePaused",
    );
    await expect(admin.resolveByAdmin(ruled.escrowId, Outcome.Split, 50, 50, RATIONALE)).to.be.revertedWithCustomError(
      resolver,
      "RulingsArePaused",
    );
    await resolver.resolveByAgreement(agreed.escrowId, 50, FAR_DEADLINE, [
      await signAgreement(market, actors.buyer, agreed.escrowId, 50n),
      await signAgreement(market, actors.seller, agreed.escrowId, 50n),
    ]);
    await expect(pauser.unpauseRulings()).to.emit(resolver, "RulingsUnpaused").withArgs(actors.pauser);
    expect(await resolver.rulingsPaused()).to.equal(false);
    await system.resolveBySystem(ruled.escrowId, Outcome.Split, RATIONALE);
    await pauser.pauseRulings();
    await at(expired.expiresAt + 1n);
    await escrow.resolveExpired(expired.escrowId);
  });

  it("is the pauser's alone, who is the escrow contract's own, not even the owner's [D14]", async () => {
    const { escrow, resolver, actors } = await loadFixture(marketplace);
    for (const actor of Object.values(actors)) {
      if (actor.address === actors.pauser.address) continue;
      for (const call of [
        () => resolver.connect(actor).pauseRulings.staticCall(),
        () => resolver.connect(actor).unpauseRulings.staticCall(),
      ]) {
        await expect(call()).to.be.revertedWithCustomError(resolver, "CallerNotPauser").withArgs(actor, actors.pauser);
      }
    }
    await escrow.connect(actors.owner).transferPauser(actors.stranger);
    await escrow.connect(actors.stranger).acceptPauser();
    await expect(resolver.connect(actors.pauser).pauseRulings())
      .to.be.revertedWithCustomError(resolver, "CallerNotPauser")
      .withArgs(actors.pauser, actors.stranger);
    await resolver.connect(actors.stranger).pauseRulings();
  });

  it("refuses to do what is done", async () => {
    const { resolver, actors } = await loadFixture(marketplace);
    const pauser = resolver.connect(actors.pauser);
    await expect(pauser.unpauseRulings()).to.be.revertedWithCustomError(resolver, "RulingsNotPaused");
    await pauser.pauseRulings();
    await expect(pauser.pauseRulings()).to.be.revertedWithCustomError(resolver, "RulingsAlreadyPaused");
  });
});

describe("ResolverV2, what the owner alone may do", () => {
  it("refuses everyone else, whatever role he has [D14]", async () => {
    const { resolver, implementations, actors } = await loadFixture(marketplace);
    for (const actor of Object.values(actors)) {
      if (actor.address === actors.owner.address) continue;
      const contract = resolver.connect(actor);
      for (const call of [
        () => contract.transferResolver.staticCall(ResolvedBy.System, actor),
        () => contract.transferResolver.staticCall(ResolvedBy.Admin, actor),
        () => contract.revokeResolver.staticCall(ResolvedBy.System, actors.systemResolver),
        () => contract.revokeResolver.staticCall(ResolvedBy.Admin, actors.adminResolver),
        () => contract.transferOwnership.staticCall(actor),
        () => contract.renounceOwnership.staticCall(),
        () => contract.upgradeToAndCall.staticCall(implementations.resolver, "0x"),
      ]) {
        await expect(call()).to.be.revertedWithCustomError(resolver, "OwnableUnauthorizedAccount").withArgs(actor);
      }
    }
  });

  it("has no other function that writes: a new one has to be put here knowingly [D14]", async () => {
    const { resolver } = await loadFixture(marketplace);
    const writing: string[] = [];
    resolver.interface.forEachFunction((part) => {
      if (part.stateMutability === "nonpayable" || part.stateMutability === "payable") writing.push(part.name);
    });
    const ends = ["resolveBySystem", "resolveByAdmin", "resolveByAgreement", "initialize"];
    const roles = ["transferResolver", "acceptResolver", "revokeResolver", "pauseRulings", "unpauseRulings"];
    const ownership = ["transferOwnership", "acceptOwnership", "renounceOwnership", "upgradeToAndCall"];
    expect(writing.sort()).to.deep.equal([...ends, ...roles, ...ownership].sort());
  });
});

/** What `tenureOf` says of a holder who was not revoked. */
function tenure(from: bigint, until: bigint) {
  return { from, until, revoked: false };
}
