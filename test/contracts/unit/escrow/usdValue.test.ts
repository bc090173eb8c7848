import { expect } from "chai";

import { ethers, loadFixture, time } from "../../fixtures/chain.ts";
import { USDC, sendCreate, termsOf } from "../../fixtures/deals.ts";
import { ETH_PRICE, MAX_PRICE_AGE, marketplace } from "../../fixtures/marketplace.ts";

/** A round of the feed as Chainlink reports it. */
interface Round {
  roundId: bigint;
  answeredInRound: bigint;
  answer: bigint;
  startedAt: bigint;
  updatedAt: bigint;
}

describe("EscrowV2.usdValue", () => {
  it("counts USDC as one dollar [D11]", async () => {
    const { escrow, usdc } = await loadFixture(marketplace);
    for (const amount of [0n, 1n, USDC, 123_456_789n]) expect(await escrow.usdValue(usdc, amount)).to.equal(amount);
  });

  it("counts a token without a feed as one dollar whatever its decimals, rounded up", async () => {
    const { escrow, actors, weth } = await loadFixture(marketplace);
    const asDollar = { feed: ethers.ZeroAddress, maxPriceAge: 0, decimals: 18, listed: true, minAmount: 2 };
    await escrow.connect(actors.owner).listToken(weth, asDollar);
    expect(await escrow.usdValue(weth, 10n ** 18n)).to.equal(USDC);
    expect(await escrow.usdValue(weth, 10n ** 18n + 1n)).to.equal(USDC + 1n);
    expect(await escrow.usdValue(weth, 1n)).to.equal(1n);
  });

  it("values WETH by its feed, rounded up so that no cap is passed by a fraction [D11]", async () => {
    const { escrow, weth } = await loadFixture(marketplace);
    expect(await escrow.usdValue(weth, 10n ** 18n)).to.equal(2_500n * USDC);
    expect(await escrow.usdValue(weth, 4n * 10n ** 15n)).to.equal(10n * USDC);
    expect(await escrow.usdValue(weth, 4n * 10n ** 15n + 1n)).to.equal(10n * USDC + 1n);
  });

  it("follows the feed's decimals and its latest answer", async () => {
    const { escrow, weth, actors } = await loadFixture(marketplace);
    const feed = await ethers.deployContract("MockPriceFeed", [18, 1_234n * 10n ** 18n]);
    await escrow
      .connect(actors.owner)
      .listToken(weth, { feed, maxPriceAge: 60, decimals: 18, listed: true, minAmount: 2 });
    expect(await escrow.usdValue(weth, 10n ** 18n)).to.equal(1_234n * USDC);
  });

  it("refuses a token that is not listed", async () => {
    const { escrow, actors } = await loadFixture(marketplace);
    await expect(escrow.usdValue(actors.stranger, 1n))
      .to.be.revertedWithCustomError(escrow, "TokenNotListed")
      .withArgs(actors.stranger);
  });

  const bad: [string, (round: Round, now: bigint) => Partial<Round>][] = [
    ["stale", (_, now) => ({ updatedAt: now - MAX_PRICE_AGE - 1n })],
    ["zero", () => ({ answer: 0n })],
    ["negative", () => ({ answer: -ETH_PRICE })],
    ["of an incomplete round", () => ({ updatedAt: 0n })],
    ["carried over from an earlier round", () => ({ answeredInRound: 6n })],
    ["from the future", (_, now) => ({ updatedAt: now + 1n })],
    ["greater than 2^128 - 1", () => ({ answer: 2n ** 128n })],
  ];
  for (const [title, change] of bad) {
    it(`refuses an answer that is ${title}`, async () => {
      const market = await loadFixture(marketplace);
      const { escrow, weth, feed } = market;
      const now = BigInt(await time.latest()) + 1n;
      const round: Round = { roundId: 7n, answeredInRound: 7n, answer: ETH_PRICE, startedAt: now, updatedAt: now };
      const broken = { ...round, ...change(round, now) };
      await time.setNextBlockTimestamp(now);
      await feed.setRound(broken);
      await expect(escrow.usdValue(weth, 10n ** 18n))
        .to.be.revertedWithCustomError(escrow, "InvalidPrice")
        .withArgs(feed, broken.answer, broken.updatedAt, MAX_PRICE_AGE, now, broken.roundId, broken.answeredInRound);
    });
  }

  it("refuses a new escrow whose price is stale, and leaves other tokens alone", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, weth, feed } = market;
    const updatedAt = BigInt(await time.latest()) - MAX_PRICE_AGE;
    await feed.setRound({ roundId: 7n, answeredInRound: 7n, answer: ETH_PRICE, startedAt: updatedAt, updatedAt });
    const inWeth = await termsOf(market, { token: await weth.getAddress(), amount: 10n ** 15n });
    await expect(sendCreate(market, inWeth))
      .to.be.revertedWithCustomError(escrow, "InvalidPrice")
      .withArgs(feed, ETH_PRICE, updatedAt, MAX_PRICE_AGE, BigInt(await time.latest()) + 1n, 7n, 7n);
    await sendCreate(market, await termsOf(market));
  });

  it("passes on the error of a feed that has one of its own, for new escrows too, and leaves other tokens alone", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, weth, actors } = market;
    const feed = await ethers.deployContract("HostileFeed");
    await escrow
      .connect(actors.owner)
      .listToken(weth, { feed, maxPriceAge: 60, decimals: 18, listed: true, minAmount: 2 });
    await expect(escrow.usdValue(weth, 1n)).to.be.revertedWithCustomError(feed, "FeedBroken");
    const inWeth = await termsOf(market, { token: await weth.getAddress(), amount: 10n ** 15n });
    await expect(sendCreate(market, inWeth)).to.be.revertedWithCustomError(feed, "FeedBroken");
    await sendCreate(market, await termsOf(market));
  });

  it("values every amount that an escrow can have and refuses greater ones, with a feed and without", async () => {
    const { escrow, usdc, weth } = await loadFixture(marketplace);
    const greatest = 2n ** 96n - 1n;
    expect(await escrow.usdValue(weth, greatest)).to.equal((greatest * 2_500n * USDC + 10n ** 18n - 1n) / 10n ** 18n);
    expect(await escrow.usdValue(usdc, greatest)).to.equal(greatest);
    for (const token of [usdc, weth]) {
      for (const amount of [greatest + 1n, ethers.MaxUint256]) {
        await expect(escrow.usdValue(token, amount))
          .to.be.revertedWithCustomError(escrow, "AmountAboveMaximum")
          .withArgs(amount, greatest);
      }
    }
  });

  it("values a token of 6 decimals by its feed when it has one", async () => {
    const { escrow, usdc, actors } = await loadFixture(marketplace);
    const feed = await ethers.deployContract("MockPriceFeed", [8, 98_000_000n]);
    const listing = { feed, maxPriceAge: 60, decimals: 6, listed: true, minAmount: 2 };
    await escrow.connect(actors.owner).listToken(usdc, listing);
    expect(await escrow.usdValue(usdc, 100n * USDC)).to.equal(98n * USDC);
    expect(await escrow.usdValue(usdc, 1n)).to.equal(1n);
  });

  it("refuses a feed of more than 36 decimals, whose prices could overflow", async () => {
    const { escrow, weth, actors } = await loadFixture(marketplace);
    for (const [decimals, isFit] of [
      [36, true],
      [37, false],
    ] as const) {
      const feed = await ethers.deployContract("MockPriceFeed", [decimals, 10n ** 36n]);
      const listing = { feed, maxPriceAge: 60, decimals: 18, listed: true, minAmount: 2 };
      await escrow.connect(actors.owner).listToken(weth, listing);
      if (isFit) expect(await escrow.usdValue(weth, 10n ** 18n)).to.equal(USDC);
      else {
        await expect(escrow.usdValue(weth, 10n ** 18n))
          .to.be.revertedWithCustomError(escrow, "DecimalsAboveMaximum")
          .withArgs(feed, 37n, 36n);
      }
    }
  });

  it("takes an answer of exactly the greatest age, and the greatest answer", async () => {
    const { escrow, weth, feed } = await loadFixture(marketplace);
    const now = BigInt(await time.latest()) + 1n;
    const updatedAt = now - MAX_PRICE_AGE;
    await time.setNextBlockTimestamp(now);
    await feed.setRound({ roundId: 7n, answeredInRound: 7n, answer: ETH_PRICE, startedAt: updatedAt, updatedAt });
    expect(await escrow.usdValue(weth, 10n ** 18n)).to.equal(2_500n * USDC);
    await time.setNextBlockTimestamp(now + 1n);
    const greatest = 2n ** 128n - 1n;
    await feed.setRound({ roundId: 8n, answeredInRound: 8n, answer: greatest, startedAt: now, updatedAt: now + 1n });
    expect(await escrow.usdValue(weth, 10n ** 8n)).to.equal((greatest * 10n ** 14n + 10n ** 26n - 1n) / 10n ** 26n);
  });
});
