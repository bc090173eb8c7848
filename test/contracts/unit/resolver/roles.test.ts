import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { Outcome, RATIONALE, ResolvedBy, disputed } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

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
        .withArgs(role, previous, actors.stranger);
      expect([await resolver.resolverOf(role), await resolver.pendingResolverOf(role)]).to.deep.equal([
        actors.stranger.address,
        ethers.ZeroAddress,
      ]);
    });
  }

  it("ends the power of the previous holder with the acceptance, not before", async () => {
    const market = await loadFixture(marketplace);
    const { resolver, actors } = market;
    const [first, second] = [await disputed(market), await disputed(market)];
    const previous = resolver.connect(actors.systemResolver);
    await resolver.connect(actors.owner).transferResolver(ResolvedBy.System, actors.stranger);
    await previous.resolveBySystem(first.escrowId, Outcome.Split, RATIONALE);
    await resolver.connect(actors.stranger).acceptResolver(ResolvedBy.System);
    await expect(previous.resolveBySystem(second.escrowId, Outcome.Split, RATIONALE))
      .to.be.revertedWithCustomError(resolver, "CallerNotResolver")
      .withArgs(ResolvedBy.System, actors.systemResolver, actors.stranger);
    await resolver.connect(actors.stranger).resolveBySystem(second.escrowId, Outcome.Split, RATIONALE);
  });
});

describe("ResolverV2.setEscrowContract", () => {
  it("sends later rulings to the new contract and announces it", async () => {
    const { resolver, escrow, actors } = await loadFixture(marketplace);
    await expect(resolver.connect(actors.owner).setEscrowContract(actors.stranger))
      .to.emit(resolver, "EscrowContractSet")
      .withArgs(escrow, actors.stranger);
    expect(await resolver.escrowContract()).to.equal(actors.stranger.address);
  });

  it("refuses the zero address", async () => {
    const { resolver, actors } = await loadFixture(marketplace);
    await expect(resolver.connect(actors.owner).setEscrowContract(ethers.ZeroAddress))
      .to.be.revertedWithCustomError(resolver, "InvalidAddress")
      .withArgs(ethers.ZeroAddress);
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
        () => contract.setEscrowContract.staticCall(actor),
        () => contract.transferOwnership.staticCall(actor),
        () => contract.renounceOwnership.staticCall(),
        () => contract.upgradeToAndCall.staticCall(implementations.resolver, "0x"),
      ]) {
        await expect(call()).to.be.revertedWithCustomError(resolver, "OwnableUnauthorizedAccount").withArgs(actor);
      }
    }
  });
});
