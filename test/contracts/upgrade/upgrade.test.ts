import { expect } from "chai";

import { FAR_DEADLINE } from "../fixtures/agreements.ts";
import { ethers, loadFixture } from "../fixtures/chain.ts";
import type { Deal, StateName } from "../fixtures/deals.ts";
import { Outcome, PROOF, RATIONALE, State, at, dealIn, fieldsOf, sendCreate, termsOf } from "../fixtures/deals.ts";
import { ScoreMood, TokenMood, replaceScore } from "../fixtures/hostile.ts";
import type { Marketplace } from "../fixtures/marketplace.ts";
import { marketplace } from "../fixtures/marketplace.ts";

const STATES = ["Funded", "Delivered", "Disputed", "Released", "Refunded", "Resolved", "Abandoned"] as const;

/** Puts the next generation behind the three proxies. */
async function upgradeAll({ escrow, score, resolver, usdc, actors }: Marketplace): Promise<void> {
  for (const [proxy, next] of [
    [escrow, await ethers.deployContract("NextEscrow", [score, resolver, usdc])],
    [score, await ethers.deployContract("NextScore", [escrow])],
    [resolver, await ethers.deployContract("NextResolver", [escrow])],
  ] as const) {
    await proxy.connect(actors.owner).upgradeToAndCall(next, "0x");
  }
}

/** An escrow in every state. */
async function deals(market: Marketplace): Promise<Record<StateName, Deal>> {
  const made: Partial<Record<StateName, Deal>> = {};
  // Abandonment moves the clock, so it comes first.
  for (const state of ["Abandoned", ...STATES.slice(0, -1)] as const) made[state] = await dealIn(market, state);
  return made as Record<StateName, Deal>;
}

describe("An upgrade of the proxies", () => {
  it("keeps every record, score, role and setting [S9.03]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, score, resolver, usdc, weth, actors } = market;
    await escrow.connect(actors.seller).setSellerTerms(5, 700, false);
    const made = await deals(market);
    const picture = async (): Promise<unknown[]> => [
      ...(await Promise.all(STATES.map(async (state) => fieldsOf(await escrow.getEscrow(made[state].escrowId))))),
      await Promise.all([score.scoreOf(actors.buyer), score.scoreOf(actors.seller)]),
      await Promise.all([escrow.owner(), score.owner(), resolver.owner()]),
      await Promise.all([escrow.treasury(), escrow.pauser(), escrow.scoreContract(), escrow.resolverContract()]),
      await Promise.all([
        score.escrowContract(),
        resolver.escrowContract(),
        resolver.resolverOf(0),
        resolver.resolverOf(1),
        escrow.mainToken(),
      ]),
      fieldsOf(await resolver.tenureOf(0, actors.systemResolver)),
      [...(await escrow.sellerTerms(actors.seller))],
      [...(await escrow.tokenConfig(usdc)), ...(await escrow.tokenConfig(weth))],
      await resolver.agreementDigest(made.Disputed.escrowId, 50, FAR_DEADLINE),
      await usdc.balanceOf(escrow),
    ];
    const before = await picture();
    await upgradeAll(market);
    const next = await ethers.getContractAt("NextEscrow", await escrow.getAddress());
    expect(await next.generation()).to.equal(3n);
    expect(await picture()).to.deep.equal(before);
  });

  it("lets every open escrow go on to each of its ends [S9.03]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver, usdc, score, actors } = market;
    const toRefund = await dealIn(market, "Funded");
    const toDeliver = await dealIn(market, "Funded");
    const toAbandon = await dealIn(market, "Funded");
    const toAccept = await dealIn(market, "Delivered");
    const toFinalize = await dealIn(market, "Delivered");
    const toDispute = await dealIn(market, "Delivered");
    const toRule = await dealIn(market, "Disputed");
    const toExpire = await dealIn(market, "Disputed");
    await upgradeAll(market);

    await escrow.connect(actors.seller).refund(toRefund.escrowId);
    await escrow.connect(actors.seller).submitDelivery(toDeliver.escrowId, PROOF);
    await escrow.connect(actors.buyer).accept(toAccept.escrowId);
    await escrow.connect(actors.buyer).openDispute(toDispute.escrowId);
    await resolver.connect(actors.adminResolver).resolveByAdmin(toDispute.escrowId, Outcome.Split, 10, 90, RATIONALE);
    await resolver.connect(actors.systemResolver).resolveBySystem(toRule.escrowId, Outcome.BuyerRefund, RATIONALE);
    await escrow.connect(actors.buyer).accept(toDeliver.escrowId);
    await at(toFinalize.windowEnd + 1n);
    await escrow.connect(actors.stranger).finalize(toFinalize.escrowId);
    await at(toAbandon.graceEnd + 1n);
    await escrow.connect(actors.buyer).claimAbandoned(toAbandon.escrowId);
    await at(toExpire.expiresAt + 1n);
    await escrow.connect(actors.stranger).resolveExpired(toExpire.escrowId);

    const ends: [Deal, keyof typeof State][] = [
      [toRefund, "Refunded"],
      [toDeliver, "Released"],
      [toAccept, "Released"],
      [toDispute, "Resolved"],
      [toRule, "Resolved"],
      [toFinalize, "Released"],
      [toAbandon, "Abandoned"],
      [toExpire, "Resolved"],
    ];
    for (const [{ escrowId }, state] of ends) expect((await escrow.getEscrow(escrowId)).state).to.equal(State[state]);
    expect(await usdc.balanceOf(escrow)).to.equal(0n);
    expect(await score.scoreOf(actors.buyer)).to.equal(3n + 1n);
    expect(await score.scoreOf(actors.seller)).to.equal(3n - 3n - 5n);
    await sendCreate(market, await termsOf(market));
  });

  it("keeps credits and score updates that wait [D9]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, score, actors } = market;
    const token = await ethers.deployContract("HostileToken");
    const listing = { feed: ethers.ZeroAddress, maxPriceAge: 0, decimals: 6, listed: true, minAmount: 2 };
    await escrow.connect(actors.owner).listToken(token, listing);
    await token.mint(actors.buyer, 1_000_000n);
    await token.connect(actors.buyer).approve(escrow, 1_000_000n);
    const deal = await dealIn(market, "Delivered", { token: await token.getAddress() });
    await token.setMood(TokenMood.Paused);
    const broken = await replaceScore(market);
    await broken.contract.setMood(ScoreMood.Reverts);
    await escrow.connect(actors.buyer).accept(deal.escrowId);
    await broken.restore();
    await upgradeAll(market);

    await token.setMood(TokenMood.Plain);
    await expect(escrow.connect(actors.seller).withdraw(token)).to.changeTokenBalance(
      ethers,
      token,
      actors.seller,
      deal.locked,
    );
    await escrow.retryScore(deal.escrowId);
    expect(await score.scoreOf(actors.seller)).to.equal(1n);
  });

  it("is the owner's alone, takes no implementation that is none, and opens no initializer [D14]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, score, resolver, actors } = market;
    const next = await ethers.deployContract("NextEscrow", [score, resolver, usdc]);
    await expect(escrow.connect(actors.stranger).upgradeToAndCall(next, "0x"))
      .to.be.revertedWithCustomError(escrow, "OwnableUnauthorizedAccount")
      .withArgs(actors.stranger);
    await expect(escrow.connect(actors.owner).upgradeToAndCall(usdc, "0x"))
      .to.be.revertedWithCustomError(escrow, "ERC1967InvalidImplementation")
      .withArgs(usdc);
    await upgradeAll(market);
    const { owner } = actors;
    await expect(escrow.initialize(owner, owner, owner, [])).to.be.revertedWithCustomError(
      escrow,
      "InvalidInitialization",
    );
    await expect(next.initialize(owner, owner, owner, [])).to.be.revertedWithCustomError(next, "InvalidInitialization");
  });
});
