import { expect } from "chai";

import { type Fork, forkOf, type ForkSource } from "./fork.ts";

const USDC = 10n ** 6n;
const AMOUNT = 5n * USDC;
const FEE = USDC / 10n;
const LOCKED = AMOUNT - FEE;
const PROOF = `0x${"22".repeat(32)}`;
const State = { Funded: 1n, Delivered: 2n, Released: 3n, Abandoned: 7n, Resolved: 6n } as const;
const SPLIT = 2;
const FORK_TIMEOUT_MS = 300_000;

/** The tests of one fork, local or live: the same deals with the token of that chain. */
export function itSettlesDeals(sourceOf: () => Promise<ForkSource>): void {
  let fork: Fork;
  let snapshot: { restore: () => Promise<void> };

  before("fork the chain", async function () {
    this.timeout(FORK_TIMEOUT_MS);
    fork = await forkOf(await sourceOf());
    snapshot = await fork.networkHelpers.takeSnapshot();
  });
  afterEach(() => snapshot.restore());
  after(() => fork.connection.close());

  it("settles a deal from the deposit to the seller's pay, with scores", async () => {
    const { escrow, wallets, ethers } = fork;
    const deal = await fork.terms(AMOUNT);
    const treasury = await escrow.treasury();
    const [treasuryBefore, sellerBefore] = [
      await fork.balanceOf(treasury),
      await fork.balanceOf(wallets.seller.address),
    ];
    const score = await ethers.getContractAt("ScoreV2", await escrow.scoreContract());
    const scoreBefore = await score.scoreOf(wallets.seller.address);

    await fork.create(deal);
    expect(await fork.balanceOf(treasury)).to.equal(treasuryBefore + FEE);
    expect((await escrow.getEscrow(deal.escrowId)).state).to.equal(State.Funded);
    await escrow.connect(wallets.seller).submitDelivery(deal.escrowId, PROOF);
    await escrow.connect(wallets.buyer).accept(deal.escrowId);

    expect((await escrow.getEscrow(deal.escrowId)).state).to.equal(State.Released);
    expect(await fork.balanceOf(wallets.seller.address)).to.equal(sellerBefore + LOCKED);
    expect(await score.scoreOf(wallets.seller.address)).to.equal(scoreBefore + 1n);
  });

  it("funds an escrow by the buyer's EIP-3009 signature that a stranger relays, once and for these terms only", async () => {
    const { escrow, wallets } = fork;
    const deal = await fork.terms(AMOUNT);
    await fork.fund(wallets.buyer.address, AMOUNT);
    const signature = await fork.authorize(deal, deal.deadline);
    const relayed = escrow.connect(wallets.stranger);

    const dearer = { ...deal, amount: AMOUNT + 1n };
    await refused(relayed.createEscrowWithAuthorization.staticCall(dearer, 0n, deal.deadline, signature));
    await relayed.createEscrowWithAuthorization(deal, 0n, deal.deadline, signature);
    expect((await escrow.getEscrow(deal.escrowId)).buyer).to.equal(wallets.buyer.address);
    const again = { ...deal, escrowId: `0x${"33".repeat(32)}` };
    await refused(relayed.createEscrowWithAuthorization.staticCall(again, 0n, deal.deadline, signature));
  });

  it("credits a seller whom the token's own role has shut out, and pays when he is let in again", async () => {
    const { escrow, wallets } = fork;
    const { seller, buyer } = wallets;
    const deal = await fork.terms(AMOUNT);
    await fork.create(deal);
    await escrow.connect(seller).submitDelivery(deal.escrowId, PROOF);
    const before = await fork.balanceOf(seller.address);

    await fork.deny(seller.address, "blacklist");
    await escrow.connect(buyer).accept(deal.escrowId);
    expect((await escrow.getEscrow(deal.escrowId)).state).to.equal(State.Released);
    expect(await fork.balanceOf(seller.address)).to.equal(before);
    expect(await escrow.creditOf(seller.address, deal.token)).to.equal(LOCKED);
    await refused(escrow.connect(seller).withdraw.staticCall(deal.token));

    await fork.deny(seller.address, "unBlacklist");
    await escrow.connect(seller).withdraw(deal.token);
    expect(await fork.balanceOf(seller.address)).to.equal(before + LOCKED);
  });

  it("pays the seller his part of a ruling although the buyer is shut out", async () => {
    const { escrow, wallets, ethers } = fork;
    const { seller, buyer } = wallets;
    const deal = await fork.terms(AMOUNT);
    await fork.create(deal);
    await escrow.connect(seller).submitDelivery(deal.escrowId, PROOF);
    await escrow.connect(buyer).openDispute(deal.escrowId);
    const before = await fork.balanceOf(seller.address);
    await fork.deny(buyer.address, "blacklist");

    const resolver = await ethers.getContractAt("ResolverV2", await escrow.resolverContract());
    const system = await fork.as(await resolver.resolverOf(0));
    await resolver.connect(system).resolveBySystem(deal.escrowId, SPLIT, PROOF);
    expect((await escrow.getEscrow(deal.escrowId)).state).to.equal(State.Resolved);
    expect(await fork.balanceOf(seller.address)).to.equal(before + LOCKED / 2n);
    expect(await escrow.creditOf(buyer.address, deal.token)).to.equal(LOCKED / 2n);
  });

  it("takes new escrows although the treasury is shut out, and keeps its fee for it", async () => {
    const { escrow } = fork;
    const treasury = await escrow.treasury();
    await fork.deny(treasury, "blacklist");
    const deal = await fork.terms(AMOUNT);
    await fork.create(deal);
    expect(await escrow.creditOf(treasury, deal.token)).to.equal(FEE);
  });

  it("carries open escrows through an upgrade of what is deployed", async () => {
    const { escrow, wallets, ethers, networkHelpers } = fork;
    const [funded, delivered] = [await fork.terms(AMOUNT), await fork.terms(AMOUNT)];
    await fork.create(funded);
    await fork.create(delivered);
    await escrow.connect(wallets.seller).submitDelivery(delivered.escrowId, PROOF);
    const records = [await escrow.getEscrow(funded.escrowId), await escrow.getEscrow(delivered.escrowId)];

    const next = await ethers.deployContract("NextEscrow");
    await refused(escrow.connect(wallets.stranger).upgradeToAndCall.staticCall(await next.getAddress(), "0x"));
    const owner = await fork.as(await escrow.owner());
    await escrow.connect(owner).upgradeToAndCall(await next.getAddress(), "0x");
    const upgraded = await ethers.getContractAt("NextEscrow", await escrow.getAddress());
    expect(await upgraded.generation()).to.equal(3n);
    expect([await escrow.getEscrow(funded.escrowId), await escrow.getEscrow(delivered.escrowId)]).to.deep.equal(
      records,
    );

    await escrow.connect(wallets.buyer).accept(delivered.escrowId);
    await networkHelpers.time.increaseTo(Number(funded.deadline + funded.abandonmentGrace + 1n));
    const before = await fork.balanceOf(wallets.buyer.address);
    await escrow.connect(wallets.buyer).claimAbandoned(funded.escrowId);
    expect((await escrow.getEscrow(funded.escrowId)).state).to.equal(State.Abandoned);
    expect(await fork.balanceOf(wallets.buyer.address)).to.equal(before + LOCKED);
  });
}

async function refused(attempt: Promise<unknown>): Promise<void> {
  const done = await attempt.then(
    () => true,
    () => false,
  );
  expect(done, "the call must be refused").to.equal(false);
}
