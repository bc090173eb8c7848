import { expect } from "chai";
import { type ContractTransactionResponse, Interface, MaxUint256 } from "ethers";

import type { SettlementNetwork } from "../../../deploy/networks.ts";
import { EscrowV2__factory } from "../../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import type { IUsdc } from "../../../typechain-types/contracts/mocks/IUsdc.ts";
import { type Fork, forkOf, type ForkSource } from "./fork.ts";

type Terms = Awaited<ReturnType<Fork["terms"]>>;

const USDC = 10n ** 6n;
const AMOUNT = 5n * USDC;
const FEE = USDC / 10n;
const LOCKED = AMOUNT - FEE;
const PROOF = `0x${"22".repeat(32)}`;
const State = { Funded: 1n, Delivered: 2n, Released: 3n, Abandoned: 7n, Resolved: 6n } as const;
const WETH_AMOUNT = 10n ** 15n; // 0.001 WETH
const SPLIT = 2;
const SYSTEM = 0;
const ADMIN = 1;
const ERRORS = new Interface(EscrowV2__factory.abi);
/** What USDC says. */
const BAD_SIGNATURE = "FiatTokenV2: invalid signature";
const USED_AUTHORIZATION = "FiatTokenV2: authorization is used or canceled";
const SHUT_OUT = "Blacklistable: account is blacklisted";
const RECEIVE_BY_BYTES = "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)";
const GAS_TOLERANCE = 0.02;
const FORK_TIMEOUT_MS = 300_000;

/** The tests of one fork, local or live: the same deals with the token of that chain. */
export function itSettlesDeals(settlement: SettlementNetwork, sourceOf: () => Promise<ForkSource>): void {
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
    const { escrow, usdc, wallets } = fork;
    const { buyer, stranger } = wallets;
    const deal = await fork.terms(AMOUNT);
    // Enough for a second time, so that it is not for want of money that there is none.
    await fork.fund(buyer.address, 3n * AMOUNT);
    const signature = await fork.authorize(deal, deal.deadline);
    const relayed = escrow.connect(stranger);
    const nonce = await escrow.authorizationNonce(deal);
    const used = (): Promise<unknown> => usdc.authorizationState(buyer.address, nonce);

    for (const other of [
      { ...deal, amount: AMOUNT + 1n },
      { ...deal, escrowId: `0x${"33".repeat(32)}` },
      { ...deal, seller: stranger.address },
    ]) {
      const attempt = relayed.createEscrowWithAuthorization.staticCall(other, 0n, deal.deadline, signature);
      await refused(attempt, BAD_SIGNATURE);
    }
    expect(await used()).to.equal(false);
    await relayed.createEscrowWithAuthorization(deal, 0n, deal.deadline, signature);
    expect((await escrow.getEscrow(deal.escrowId)).buyer).to.equal(buyer.address);
    expect(await used()).to.equal(true);

    await refused(
      relayed.createEscrowWithAuthorization.staticCall(deal, 0n, deal.deadline, signature),
      "EscrowAlreadyExists",
    );
    // Nor does the token itself take it again, even from the escrow contract.
    const payee = await fork.as(await escrow.getAddress());
    const again = usdc
      .connect(payee)
      .getFunction(RECEIVE_BY_BYTES)
      .staticCall(buyer.address, payee.address, AMOUNT, 0n, deal.deadline, nonce, signature);
    await refused(again, USED_AUTHORIZATION);
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
    await refused(escrow.connect(seller).withdraw.staticCall(deal.token), SHUT_OUT);

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

  it("costs the gas of the USDC that local chains have, within 2%", async () => {
    const [there, local] = [await gasOfUsdc(fork, fork.usdc), await gasOfUsdc(fork, await fork.placeLocalUsdc())];
    for (const [step, gas] of Object.entries(local)) {
      expect(there[step], step).to.be.closeTo(gas, Math.floor(gas * GAS_TOLERANCE));
    }
  });

  if (settlement === "base") {
    it("settles a deal in WETH, valued by the network's own price feed", async () => {
      const { escrow, wallets, weth } = fork;
      if (!weth) throw new Error("Base has WETH");
      const deal = await fork.terms(WETH_AMOUNT, weth.address);
      const held = (holder: string): Promise<bigint> => weth.contract.balanceOf(holder);
      const treasury = await escrow.treasury();
      const [treasuryBefore, sellerBefore] = [await held(treasury), await held(wallets.seller.address)];

      await weth.contract.deposit({ value: WETH_AMOUNT });
      await fork.create(deal);
      // Between 100 and 9,000 USD an ether: anything else would be another feed, or wrong decimals.
      const valueUsd = await escrow.usdValue(weth.address, WETH_AMOUNT);
      expect(Number(valueUsd)).to.be.within(100_000, 9_000_000);
      await escrow.connect(wallets.seller).submitDelivery(deal.escrowId, PROOF);
      await escrow.connect(wallets.buyer).accept(deal.escrowId);
      expect((await escrow.getEscrow(deal.escrowId)).state).to.equal(State.Released);
      expect(await held(treasury)).to.equal(treasuryBefore + WETH_AMOUNT / 50n);
      expect(await held(wallets.seller.address)).to.equal(sellerBefore + WETH_AMOUNT - WETH_AMOUNT / 50n);
    });

    it("refuses an authorization in WETH, whose unknown functions succeed without moving money", async () => {
      const { escrow, wallets, weth } = fork;
      if (!weth) throw new Error("Base has WETH");
      await weth.contract.deposit({ value: WETH_AMOUNT });
      await weth.contract.approve(escrow, WETH_AMOUNT);
      const deal = await fork.terms(WETH_AMOUNT, weth.address);
      const attempt = escrow
        .connect(wallets.stranger)
        .createEscrowWithAuthorization.staticCall(deal, 0n, deal.deadline, PROOF);
      await refused(attempt, "TransferAmountMismatch");
    });
  }

  it("carries open escrows and scores through an upgrade of all three contracts that are deployed", async () => {
    const { escrow, wallets, ethers, networkHelpers } = fork;
    const { buyer, seller, stranger } = wallets;
    const score = await ethers.getContractAt("ScoreV2", await escrow.scoreContract());
    const resolver = await ethers.getContractAt("ResolverV2", await escrow.resolverContract());
    const deals = [
      await fork.terms(AMOUNT),
      await fork.terms(AMOUNT),
      await fork.terms(AMOUNT),
      await fork.terms(AMOUNT),
    ];
    const [funded, delivered, disputed, settled] = deals as [Terms, Terms, Terms, Terms];
    for (const deal of deals) await fork.create(deal);
    for (const { escrowId } of [delivered, disputed, settled])
      await escrow.connect(seller).submitDelivery(escrowId, PROOF);
    await escrow.connect(buyer).openDispute(disputed.escrowId);
    await escrow.connect(buyer).accept(settled.escrowId);
    const picture = async (): Promise<unknown[]> => [
      ...(await Promise.all(deals.map(({ escrowId }) => escrow.getEscrow(escrowId)))),
      await Promise.all([buyer, seller].map((wallet) => score.scoreOf(wallet))),
      await Promise.all([SYSTEM, ADMIN].map((role) => resolver.resolverOf(role))),
    ];
    const before = await picture();
    const sellerScore = await score.scoreOf(seller);

    const peers = [await escrow.scoreContract(), await escrow.resolverContract(), await escrow.mainToken()];
    const writer = [await escrow.getAddress()];
    for (const [proxy, name, args] of [
      [escrow, "NextEscrow", peers],
      [score, "NextScore", writer],
      [resolver, "NextResolver", writer],
    ] as const) {
      const next = await (await ethers.deployContract(name, args)).getAddress();
      await refused(proxy.connect(stranger).upgradeToAndCall.staticCall(next, "0x"), "OwnableUnauthorizedAccount");
      await proxy.connect(await fork.as(await proxy.owner())).upgradeToAndCall(next, "0x");
      const upgraded = await ethers.getContractAt("NextEscrow", await proxy.getAddress());
      expect(await upgraded.generation()).to.equal(3n);
    }
    expect(await picture()).to.deep.equal(before);

    await escrow.connect(buyer).accept(delivered.escrowId);
    expect(await score.scoreOf(seller)).to.equal(sellerScore + 1n);
    const system = await fork.as(await resolver.resolverOf(SYSTEM));
    await resolver.connect(system).resolveBySystem(disputed.escrowId, SPLIT, PROOF);
    expect((await escrow.getEscrow(disputed.escrowId)).state).to.equal(State.Resolved);
    await networkHelpers.time.increaseTo(Number(funded.deadline + funded.abandonmentGrace + 1n));
    const balance = await fork.balanceOf(buyer.address);
    await escrow.connect(buyer).claimAbandoned(funded.escrowId);
    expect((await escrow.getEscrow(funded.escrowId)).state).to.equal(State.Abandoned);
    expect(await fork.balanceOf(buyer.address)).to.equal(balance + LOCKED);
  });
}

/** Gas of what deals do with USDC, between wallets that hold some. */
async function gasOfUsdc(fork: Fork, token: IUsdc): Promise<Record<string, number>> {
  const { wallets, ethers, networkHelpers } = fork;
  const { buyer, seller, stranger } = wallets;
  for (const { address } of [buyer, seller, stranger]) await fork.fund(address, AMOUNT, token);
  const used = async (sent: Promise<ContractTransactionResponse>): Promise<number> =>
    Number((await (await sent).wait())?.gasUsed);
  const usdc = token.connect(buyer);
  const takes = () => token.connect(stranger).transferFrom(buyer, seller, USDC);
  const gas: Record<string, number> = {
    approve: await used(usdc.approve(stranger, USDC)),
    "transferFrom, all that is allowed": await used(takes()),
    transfer: await used(usdc.transfer(seller, USDC)),
  };
  await usdc.approve(stranger, MaxUint256);
  gas["transferFrom, infinite allowance"] = await used(takes());
  const validBefore = BigInt((await networkHelpers.time.latest()) + 86_400);
  const message = { from: buyer.address, to: stranger.address, value: USDC, validBefore, nonce: ethers.id("gas") };
  const signature = await fork.signAuthorization(message, token);
  const receive = token.connect(stranger).getFunction(RECEIVE_BY_BYTES);
  const { from, to, value, nonce } = message;
  gas["receiveWithAuthorization"] = await used(receive.send(from, to, value, 0n, validBefore, nonce, signature));
  return gas;
}

/** Waits for a call to be refused: by an error's name, or by the sentence of a token that has no names. */
async function refused(attempt: Promise<unknown>, expected: string): Promise<void> {
  const found = await attempt.then(
    () => "nothing: it was not refused",
    (error: unknown) => {
      const { data } = error as { data?: unknown };
      if (typeof data !== "string") throw error;
      const parsed = ERRORS.parseError(data);
      return parsed?.name === "Error" ? String(parsed.args[0]) : (parsed?.name ?? data);
    },
  );
  expect(found).to.equal(expected);
}
