import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import type { Deal } from "../../fixtures/deals.ts";
import { at, delivered, disputed, fieldsOf, funded, sendCreate, termsOf } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("EscrowV2, what the owner alone may do", () => {
  it("refuses everyone else, whatever role he has [D14]", async () => {
    const { escrow, usdc, implementations, actors } = await loadFixture(marketplace);
    const listing = { feed: ethers.ZeroAddress, maxPriceAge: 0, decimals: 6, listed: true, minAmount: 2 };
    for (const actor of Object.values(actors)) {
      if (actor.address === actors.owner.address) continue;
      const contract = escrow.connect(actor);
      for (const call of [
        () => contract.listToken.staticCall(usdc, listing),
        () => contract.delistToken.staticCall(usdc),
        () => contract.setTreasury.staticCall(actor),
        () => contract.transferPauser.staticCall(actor),
        () => contract.transferOwnership.staticCall(actor),
        () => contract.renounceOwnership.staticCall(),
        () => contract.upgradeToAndCall.staticCall(implementations.escrow, "0x"),
      ]) {
        await expect(call()).to.be.revertedWithCustomError(escrow, "OwnableUnauthorizedAccount").withArgs(actor);
      }
    }
  });

  it("gives no role a function that takes an escrow's funds [S1.03] [D14]", async () => {
    const { escrow } = await loadFixture(marketplace);
    // Every function that can write. Each is the subject of its own tests; a new one has to be put here knowingly.
    const writing: string[] = [];
    escrow.interface.forEachFunction((part) => {
      if (part.stateMutability === "nonpayable" || part.stateMutability === "payable") writing.push(part.name);
    });
    const moves = ["submitDelivery", "accept", "finalize", "claimAbandoned", "refund", "refundMany", "openDispute"];
    const creation = ["createEscrow", "createEscrowWithAuthorization", "initialize"];
    const ends = ["resolve", "resolveExpired", "withdraw", "withdrawTo", "retryScore"];
    const owners = ["listToken", "delistToken", "setTreasury"];
    const roles = ["transferPauser", "acceptPauser", "pause", "unpause", "setSellerTerms"];
    const ownership = ["transferOwnership", "acceptOwnership", "renounceOwnership", "upgradeToAndCall"];
    expect(writing.sort()).to.deep.equal([...moves, ...creation, ...ends, ...owners, ...roles, ...ownership].sort());
  });

  it("leaves what open escrows hold where it is, whatever the owner and the pauser do, and each ends in full [S1.03] [D14]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, weth, actors } = market;
    const { owner, pauser, treasury, buyer, seller, stranger } = actors;
    const open = [await funded(market), await delivered(market), await disputed(market)];
    const held = open.reduce((sum, { locked }) => sum + locked, 0n);
    const records = async () =>
      Promise.all(open.map(async ({ escrowId }) => fieldsOf(await escrow.getEscrow(escrowId))));
    const before = await records();
    const listing = { feed: ethers.ZeroAddress, maxPriceAge: 0, decimals: 6, listed: true, minAmount: 2 };
    const byOwner = escrow.connect(owner);
    for (const act of [
      () => byOwner.listToken(usdc, listing),
      () => byOwner.delistToken(usdc),
      () => byOwner.delistToken(weth),
      () => byOwner.setTreasury(stranger),
      () => escrow.connect(pauser).pause(),
      () => byOwner.transferPauser(owner),
      () => byOwner.acceptPauser(),
      () => byOwner.transferOwnership(stranger),
      () => byOwner.renounceOwnership(),
    ]) {
      await expect(act()).to.changeTokenBalances(
        ethers,
        usdc,
        [escrow, owner, pauser, treasury, stranger],
        [0n, 0n, 0n, 0n, 0n],
      );
      expect(await records()).to.deep.equal(before);
    }
    expect(await usdc.balanceOf(escrow)).to.equal(held);

    const [job, delivery, dispute] = open as [Deal, Deal, Deal];
    const paid = (settlement: Promise<unknown>, ofBuyer: bigint, ofSeller: bigint) =>
      expect(settlement).to.changeTokenBalances(ethers, usdc, [buyer, seller], [ofBuyer, ofSeller]);
    await paid(escrow.connect(seller).refund(job.escrowId), job.locked, 0n);
    await paid(escrow.connect(buyer).accept(delivery.escrowId), 0n, delivery.locked);
    await at(dispute.expiresAt + 1n);
    await paid(escrow.resolveExpired(dispute.escrowId), dispute.locked / 2n, dispute.locked - dispute.locked / 2n);
    expect(await usdc.balanceOf(escrow)).to.equal(0n);
  });

  it("changes hands in two steps [D14]", async () => {
    const { escrow, score, resolver, actors } = await loadFixture(marketplace);
    for (const contract of [escrow, score, resolver]) {
      await contract.connect(actors.owner).transferOwnership(actors.stranger);
      expect(await contract.owner()).to.equal(actors.owner.address);
      for (const actor of Object.values(actors)) {
        if (actor.address === actors.stranger.address) continue;
        await expect(contract.connect(actor).acceptOwnership.staticCall())
          .to.be.revertedWithCustomError(contract, "OwnableUnauthorizedAccount")
          .withArgs(actor);
      }
      await contract.connect(actors.stranger).acceptOwnership();
      expect(await contract.owner()).to.equal(actors.stranger.address);
    }
  });
});

describe("EscrowV2.setTreasury", () => {
  it("sends later fees to the new treasury and announces it [D14]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    await expect(escrow.connect(actors.owner).setTreasury(actors.stranger))
      .to.emit(escrow, "TreasurySet")
      .withArgs(actors.treasury, actors.stranger);
    expect(await escrow.treasury()).to.equal(actors.stranger.address);
    const creation = sendCreate(market, await termsOf(market));
    await expect(creation).to.changeTokenBalances(ethers, usdc, [actors.treasury, actors.stranger], [0n, 20_000n]);
  });

  it("refuses the zero address and the contract itself", async () => {
    const { escrow, actors } = await loadFixture(marketplace);
    for (const account of [ethers.ZeroAddress, await escrow.getAddress()]) {
      await expect(escrow.connect(actors.owner).setTreasury(account))
        .to.be.revertedWithCustomError(escrow, "InvalidTreasury")
        .withArgs(account);
    }
  });
});

describe("EscrowV2.transferPauser and acceptPauser", () => {
  it("hands the role over in two steps [D14]", async () => {
    const { escrow, actors } = await loadFixture(marketplace);
    await expect(escrow.connect(actors.owner).transferPauser(actors.stranger))
      .to.emit(escrow, "PauserTransferStarted")
      .withArgs(actors.pauser, actors.stranger);
    expect([await escrow.pauser(), await escrow.pendingPauser()]).to.deep.equal([
      actors.pauser.address,
      actors.stranger.address,
    ]);
    for (const actor of Object.values(actors)) {
      if (actor.address === actors.stranger.address) continue;
      await expect(escrow.connect(actor).acceptPauser.staticCall())
        .to.be.revertedWithCustomError(escrow, "CallerNotPendingPauser")
        .withArgs(actor, actors.stranger);
    }
    await expect(escrow.connect(actors.stranger).acceptPauser())
      .to.emit(escrow, "PauserTransferred")
      .withArgs(actors.pauser, actors.stranger);
    expect([await escrow.pauser(), await escrow.pendingPauser()]).to.deep.equal([
      actors.stranger.address,
      ethers.ZeroAddress,
    ]);
    await escrow.connect(actors.stranger).pause();
  });

  it("can be withdrawn before it is accepted", async () => {
    const { escrow, actors } = await loadFixture(marketplace);
    await escrow.connect(actors.owner).transferPauser(actors.stranger);
    await escrow.connect(actors.owner).transferPauser(ethers.ZeroAddress);
    await expect(escrow.connect(actors.stranger).acceptPauser())
      .to.be.revertedWithCustomError(escrow, "CallerNotPendingPauser")
      .withArgs(actors.stranger, ethers.ZeroAddress);
  });
});

describe("EscrowV2.pause and unpause", () => {
  it("stops new escrows only: every exit stays open [D14]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const toRefund = await funded(market);
    const toDeliver = await funded(market);
    const toAccept = await delivered(market);
    const toDispute = await delivered(market);
    await expect(escrow.connect(actors.pauser).pause()).to.emit(escrow, "Paused").withArgs(actors.pauser);
    expect(await escrow.paused()).to.equal(true);
    await expect(sendCreate(market, await termsOf(market))).to.be.revertedWithCustomError(escrow, "NewEscrowsPaused");
    await escrow.connect(actors.seller).refund(toRefund.escrowId);
    await escrow.connect(actors.seller).submitDelivery(toDeliver.escrowId, ethers.id("proof"));
    await escrow.connect(actors.buyer).accept(toAccept.escrowId);
    await escrow.connect(actors.buyer).openDispute(toDispute.escrowId);
    await market.resolver.connect(actors.systemResolver).resolveBySystem(toDispute.escrowId, 1, ethers.id("ruling"));
    await expect(escrow.connect(actors.pauser).unpause()).to.emit(escrow, "Unpaused").withArgs(actors.pauser);
    await sendCreate(market, await termsOf(market));
  });

  it("is the pauser's alone, not even the owner's [D14]", async () => {
    const { escrow, actors } = await loadFixture(marketplace);
    for (const actor of Object.values(actors)) {
      if (actor.address === actors.pauser.address) continue;
      for (const call of [
        () => escrow.connect(actor).pause.staticCall(),
        () => escrow.connect(actor).unpause.staticCall(),
      ]) {
        await expect(call()).to.be.revertedWithCustomError(escrow, "CallerNotPauser").withArgs(actor, actors.pauser);
      }
    }
  });

  it("refuses to do what is done", async () => {
    const { escrow, actors } = await loadFixture(marketplace);
    const pauser = escrow.connect(actors.pauser);
    await expect(pauser.unpause()).to.be.revertedWithCustomError(escrow, "NewEscrowsNotPaused");
    await pauser.pause();
    await expect(pauser.pause()).to.be.revertedWithCustomError(escrow, "NewEscrowsAlreadyPaused");
  });
});
