import { expect } from "chai";

import * as api from "../../../api/config/constants.ts";
import { ethers, loadFixture } from "../fixtures/chain.ts";
import { marketplace } from "../fixtures/marketplace.ts";

async function reader() {
  return { constants: await ethers.deployContract("ConstantsReader") };
}

describe("Constants of the specification, in Solidity as in TypeScript", () => {
  it("agree on the fee of 2%", async () => {
    const { constants } = await loadFixture(reader);
    expect(await constants.fee()).to.deep.equal([BigInt(api.PLATFORM_FEE_BPS), BigInt(api.BPS_DENOMINATOR)]);
    expect(await constants.fee()).to.deep.equal([200n, 10_000n]);
  });

  it("agree on the ranges of dispute window and abandonment grace", async () => {
    const { constants } = await loadFixture(reader);
    const window = api.DISPUTE_WINDOW_SECONDS;
    const grace = api.ABANDONMENT_GRACE_SECONDS;
    expect([...(await constants.disputeWindow())].slice(0, 2)).to.deep.equal([BigInt(window.min), BigInt(window.max)]);
    expect(await constants.abandonmentGrace()).to.deep.equal([grace.min, grace.max, grace.default].map(BigInt));
  });

  it("give the contract its own default window of 3600 s, another than the application's 300 s", async () => {
    const { constants } = await loadFixture(reader);
    expect((await constants.disputeWindow()).defaultValue).to.equal(3_600n);
    expect(api.DISPUTE_WINDOW_SECONDS.default).to.equal(300);
  });

  it("agree on the delivery times: an escrow funded at the quote's end has the contract's least time", async () => {
    const { constants } = await loadFixture(reader);
    const { minDelivery, resolutionTimeout } = await constants.spans();
    expect(minDelivery).to.equal(600n);
    expect(minDelivery).to.equal(BigInt(api.CHAIN_MIN_DELIVERY_SECONDS));
    expect(api.DELIVERY_DEADLINE_SECONDS.min - api.QUOTE_SECONDS).to.be.at.least(Number(minDelivery));
    expect(api.DELIVERY_DEADLINE_SECONDS.max).to.be.at.most(2 ** 22 - 1);
    expect(resolutionTimeout).to.equal(30n * 86_400n);
  });

  it("agree on the graduation score [S3.4.03]", async () => {
    const { score } = await loadFixture(marketplace);
    expect(await score.MAINNET_GRADUATION_SCORE()).to.equal(BigInt(api.MAINNET_GRADUATION_SCORE));
  });

  it("agree on the job value caps at every score from -20 to 160 [D11]", async () => {
    const { constants } = await loadFixture(reader);
    for (let score = -20; score <= 160; score += 1) {
      const row = [...api.JOB_VALUE_CAPS]
        .sort((a, b) => b.minScore - a.minScore)
        .find(({ minScore }) => score >= minScore);
      const capUsd = row?.capUsd === null ? ethers.MaxUint256 : BigInt(row?.capUsd ?? -1) * 1_000_000n;
      expect(await constants.capOf(score), `score ${score}`).to.equal(capUsd);
    }
    expect(await constants.lowestCap()).to.equal(await constants.capOf(-1_000));
  });
});
