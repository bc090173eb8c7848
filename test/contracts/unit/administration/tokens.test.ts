import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { USDC, delivered, fieldsOf, funded, sendCreate, termsOf } from "../../fixtures/deals.ts";
import { hostileMarketplace } from "../../fixtures/hostile.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

const MAX_UINT24 = 2n ** 24n - 1n;
const MAX_UINT56 = 2n ** 56n - 1n;

interface Listing {
  feed: string;
  maxPriceAge: bigint;
  decimals: bigint;
  listed: boolean;
  minAmount: bigint;
}

const ASSUMED_DOLLAR: Listing = {
  feed: ethers.ZeroAddress,
  maxPriceAge: 0n,
  decimals: 6n,
  listed: true,
  minAmount: 2n,
};

async function withNewToken() {
  const market = await marketplace();
  return { ...market, token: await ethers.deployContract("HostileToken") };
}

describe("EscrowV2.listToken", () => {
  it("lists a token with its valuation and announces it [D10]", async () => {
    const { escrow, actors, token, feed } = await loadFixture(withNewToken);
    const listing = {
      ...ASSUMED_DOLLAR,
      feed: await feed.getAddress(),
      maxPriceAge: MAX_UINT24,
      minAmount: MAX_UINT56,
    };
    await expect(escrow.connect(actors.owner).listToken(token, listing))
      .to.emit(escrow, "TokenListed")
      .withArgs(token, feed, MAX_UINT24, 6n, MAX_UINT56);
    expect(fieldsOf(await escrow.tokenConfig(token))).to.deep.equal(listing);
  });

  it("changes the valuation of a listed token, and open escrows keep their token", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    const open = await delivered(market);
    await escrow.connect(actors.owner).listToken(usdc, { ...ASSUMED_DOLLAR, minAmount: 2n * USDC });
    await expect(sendCreate(market, await termsOf(market)))
      .to.be.revertedWithCustomError(escrow, "AmountBelowMinimum")
      .withArgs(USDC, 2n * USDC);
    await expect(escrow.connect(actors.buyer).accept(open.escrowId)).to.changeTokenBalance(
      ethers,
      usdc,
      actors.seller,
      open.locked,
    );
  });

  const refusals: [string, Partial<Listing>, string, unknown[]][] = [
    ["no minimum amount [D10]", { minAmount: 0n }, "MinAmountOutOfRange", [0n, 2n, MAX_UINT56]],
    ["a minimum amount that the fee uses up [D10]", { minAmount: 1n }, "MinAmountOutOfRange", [1n, 2n, MAX_UINT56]],
    [
      "a least amount above 56 bits",
      { minAmount: MAX_UINT56 + 1n },
      "MinAmountOutOfRange",
      [MAX_UINT56 + 1n, 2n, MAX_UINT56],
    ],
    [
      "a price age above 24 bits",
      { maxPriceAge: MAX_UINT24 + 1n },
      "MaxPriceAgeOutOfRange",
      [MAX_UINT24 + 1n, 0n, MAX_UINT24],
    ],
  ];
  for (const [title, change, error, args] of refusals) {
    it(`refuses ${title}`, async () => {
      const { escrow, actors, token } = await loadFixture(withNewToken);
      await expect(escrow.connect(actors.owner).listToken(token, { ...ASSUMED_DOLLAR, ...change }))
        .to.be.revertedWithCustomError(escrow, error)
        .withArgs(...args);
    });
  }

  it("refuses a feed whose answers would always be stale", async () => {
    const { escrow, actors, token, feed } = await loadFixture(withNewToken);
    await expect(
      escrow
        .connect(actors.owner)
        .listToken(token, { ...ASSUMED_DOLLAR, feed: await feed.getAddress(), maxPriceAge: 0n }),
    )
      .to.be.revertedWithCustomError(escrow, "MaxPriceAgeOutOfRange")
      .withArgs(0n, 1n, MAX_UINT24);
  });

  it("refuses a feed without code: no escrow in the token could be created", async () => {
    const { escrow, actors, token } = await loadFixture(withNewToken);
    const listing = { ...ASSUMED_DOLLAR, feed: actors.stranger.address, maxPriceAge: 60n };
    await expect(escrow.connect(actors.owner).listToken(token, listing))
      .to.be.revertedWithCustomError(escrow, "FeedWithoutCode")
      .withArgs(actors.stranger);
    expect((await escrow.tokenConfig(token)).listed).to.equal(false);
  });

  it("refuses other decimals than the token says [D10]", async () => {
    const { escrow, actors, token } = await loadFixture(withNewToken);
    await expect(escrow.connect(actors.owner).listToken(token, { ...ASSUMED_DOLLAR, decimals: 18n }))
      .to.be.revertedWithCustomError(escrow, "TokenDecimalsMismatch")
      .withArgs(token, 18n, 6n);
  });

  it("refuses a token of more than 36 decimals, whose value no product of 256 bits holds, and takes one of 36", async () => {
    const { escrow, actors } = await loadFixture(marketplace);
    const owner = escrow.connect(actors.owner);
    // The mock of a feed says how many decimals it has, and a listing asks a token for nothing else.
    const tooFine = await ethers.deployContract("MockPriceFeed", [37, 1n]);
    await expect(owner.listToken(tooFine, { ...ASSUMED_DOLLAR, decimals: 37n }))
      .to.be.revertedWithCustomError(escrow, "DecimalsAboveMaximum")
      .withArgs(tooFine, 37n, 36n);
    const finest = await ethers.deployContract("MockPriceFeed", [36, 1n]);
    await owner.listToken(finest, { ...ASSUMED_DOLLAR, decimals: 36n });
    expect((await escrow.tokenConfig(finest)).decimals).to.equal(36n);
  });

  it("leaves the main token's minimum as it is when another dollar is listed [D10]", async () => {
    const market = await loadFixture(hostileMarketplace);
    const { escrow, token, usdc } = market;
    expect((await escrow.tokenConfig(token)).minAmount).to.equal(2n);
    expect((await escrow.tokenConfig(usdc)).minAmount).to.equal(10_000n);
    await expect(sendCreate(market, await termsOf(market, { amount: 9_999n })))
      .to.be.revertedWithCustomError(escrow, "AmountBelowMinimum")
      .withArgs(9_999n, 10_000n);
  });

  it("refuses an address without code", async () => {
    const { escrow, actors } = await loadFixture(withNewToken);
    for (const account of [actors.stranger.address, ethers.ZeroAddress]) {
      await expect(escrow.connect(actors.owner).listToken(account, ASSUMED_DOLLAR))
        .to.be.revertedWithCustomError(escrow, "TokenWithoutCode")
        .withArgs(account);
    }
  });

  it("takes 31 tokens and no more; relisting one needs no new place", async () => {
    const { escrow, actors, usdc } = await loadFixture(marketplace);
    const owner = escrow.connect(actors.owner);
    for (let listed = 2; listed < 31; listed += 1) {
      await owner.listToken(await ethers.deployContract("HostileToken"), ASSUMED_DOLLAR);
    }
    const last = await ethers.deployContract("HostileToken");
    await expect(owner.listToken(last, ASSUMED_DOLLAR))
      .to.be.revertedWithCustomError(escrow, "TooManyTokens")
      .withArgs(last, 31n);
    await owner.listToken(usdc, { ...ASSUMED_DOLLAR, minAmount: 5n });
    expect((await escrow.tokenConfig(usdc)).minAmount).to.equal(5n);
  });

  it("gives the 31st token to the escrows in it", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    let token = await ethers.deployContract("HostileToken");
    for (let listed = 2; listed < 31; listed += 1) {
      token = await ethers.deployContract("HostileToken");
      await escrow.connect(actors.owner).listToken(token, ASSUMED_DOLLAR);
    }
    await token.mint(actors.buyer, USDC);
    await token.connect(actors.buyer).approve(escrow, USDC);
    const { escrowId, locked } = await funded(market, { token: await token.getAddress() });
    expect((await escrow.getEscrow(escrowId)).token).to.equal(await token.getAddress());
    await expect(escrow.connect(actors.seller).refund(escrowId)).to.changeTokenBalance(
      ethers,
      token,
      actors.buyer,
      locked,
    );
  });
});

describe("EscrowV2.delistToken", () => {
  it("stops new escrows in the token; open ones settle and the token can come back [D10]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    const open = await delivered(market);
    await expect(escrow.connect(actors.owner).delistToken(usdc)).to.emit(escrow, "TokenDelisted").withArgs(usdc);
    expect((await escrow.tokenConfig(usdc)).listed).to.equal(false);
    await expect(sendCreate(market, await termsOf(market)))
      .to.be.revertedWithCustomError(escrow, "TokenNotListed")
      .withArgs(usdc);
    await expect(escrow.connect(actors.buyer).accept(open.escrowId)).to.changeTokenBalance(
      ethers,
      usdc,
      actors.seller,
      open.locked,
    );
    await escrow.connect(actors.owner).listToken(usdc, ASSUMED_DOLLAR);
    const again = await funded(market);
    expect((await escrow.getEscrow(again.escrowId)).token).to.equal(await usdc.getAddress());
  });

  it("keeps the token's place and valuation: it can come back as one of 31", async () => {
    const { escrow, weth, feed, actors } = await loadFixture(marketplace);
    const owner = escrow.connect(actors.owner);
    for (let listed = 2; listed < 31; listed += 1) {
      await owner.listToken(await ethers.deployContract("HostileToken"), ASSUMED_DOLLAR);
    }
    const valuation = { feed: await feed.getAddress(), maxPriceAge: 3_600n, decimals: 18n };
    await owner.delistToken(weth);
    expect(fieldsOf(await escrow.tokenConfig(weth))).to.deep.equal({ ...valuation, listed: false, minAmount: 0n });
    const listing = { ...valuation, listed: true, minAmount: 5n };
    await owner.listToken(weth, listing);
    expect(fieldsOf(await escrow.tokenConfig(weth))).to.deep.equal(listing);
  });

  it("refuses a token that is not listed, and one a second time", async () => {
    const { escrow, usdc, actors } = await loadFixture(marketplace);
    const owner = escrow.connect(actors.owner);
    await expect(owner.delistToken(actors.stranger))
      .to.be.revertedWithCustomError(escrow, "TokenNotListed")
      .withArgs(actors.stranger);
    await owner.delistToken(usdc);
    await expect(owner.delistToken(usdc)).to.be.revertedWithCustomError(escrow, "TokenNotListed").withArgs(usdc);
  });
});

describe("EscrowV2.tokenConfig", () => {
  it("says how the tokens of the deployment are valued [D10]", async () => {
    const { escrow, usdc, weth, feed, actors } = await loadFixture(marketplace);
    expect(fieldsOf(await escrow.tokenConfig(usdc))).to.deep.equal({ ...ASSUMED_DOLLAR, minAmount: 10_000n });
    expect(fieldsOf(await escrow.tokenConfig(weth))).to.deep.equal({
      feed: await feed.getAddress(),
      maxPriceAge: 3_600n,
      decimals: 18n,
      listed: true,
      minAmount: 5_000_000_000_000n,
    });
    expect((await escrow.tokenConfig(actors.stranger)).listed).to.equal(false);
  });
});
