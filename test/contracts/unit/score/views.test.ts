import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { ScoreOutcome, USDC, dealIn, newId } from "../../fixtures/deals.ts";
import { impersonate, marketplace } from "../../fixtures/marketplace.ts";

const CAPS: [from: number, to: number, capUsd: bigint, cites: string][] = [
  [-100, 9, 10n * USDC, "[S8.4.01]"],
  [10, 29, 25n * USDC, "[S8.4.02]"],
  [30, 69, 100n * USDC, "[S8.4.03]"],
  [70, 99, 2_500n * USDC, "[S8.4.04]"],
  [100, 160, ethers.MaxUint256, "[S8.4.05]"],
];

async function scoreMarket() {
  const market = await marketplace();
  const escrowCaller = await impersonate(await market.escrow.getAddress());
  /** Brings the score of a wallet to `target`; the other side of the jobs is a wallet of no interest. */
  const setScore = async (agent: string, target: number): Promise<void> => {
    const other = market.actors.stranger.address;
    let score = Number(await market.score.scoreOf(agent));
    while (score !== target) {
      const up = score < target;
      const outcome = up ? ScoreOutcome.Released : target - score <= -5 ? ScoreOutcome.Abandonment : undefined;
      if (outcome === undefined) {
        await market.score.connect(escrowCaller).recordOutcome(newId(), agent, other, ScoreOutcome.SellerPaid);
        score -= 3;
      } else {
        await market.score.connect(escrowCaller).recordOutcome(newId(), other, agent, outcome);
        score += up ? 1 : -5;
      }
    }
  };
  return { ...market, setScore };
}

describe("ScoreV2.maxJobValue", () => {
  for (const [from, to, capUsd, cites] of CAPS) {
    it(`is ${capUsd === ethers.MaxUint256 ? "unlimited" : `$${capUsd / USDC}`} at scores ${from} to ${to} ${cites} [D11]`, async () => {
      const { score, actors, setScore } = await loadFixture(scoreMarket);
      for (const edge of [from, to]) {
        await setScore(actors.buyer.address, edge);
        expect(await score.maxJobValue(actors.buyer), `score ${edge}`).to.equal(capUsd);
      }
    });
  }
});

describe("ScoreV2.jobValueCap", () => {
  it("gives the lower cap of both with the party whose it is, the buyer when both are equal [D11]", async () => {
    const { score, actors, setScore } = await loadFixture(scoreMarket);
    const { buyer, seller } = actors;
    expect([...(await score.jobValueCap(buyer, seller))]).to.deep.equal([10n * USDC, buyer.address]);
    await setScore(buyer.address, 10);
    expect([...(await score.jobValueCap(buyer, seller))]).to.deep.equal([10n * USDC, seller.address]);
    await setScore(seller.address, 30);
    expect([...(await score.jobValueCap(buyer, seller))]).to.deep.equal([25n * USDC, buyer.address]);
  });
});

describe("ScoreV2.scoreOf", () => {
  it("starts at 0 [S2.5.15]", async () => {
    const { score } = await loadFixture(marketplace);
    expect(await score.scoreOf(ethers.Wallet.createRandom())).to.equal(0n);
  });

  it("changes by the same number whatever the value of the job [S9.04]", async () => {
    const market = await loadFixture(marketplace);
    const { score, actors } = market;
    await dealIn(market, "Released", { amount: 10_000n });
    expect(await score.scoreOf(actors.seller)).to.equal(1n);
    await dealIn(market, "Released", { amount: 10n * USDC });
    expect(await score.scoreOf(actors.seller)).to.equal(2n);
    await dealIn(market, "Abandoned", { amount: 10_000n });
    expect(await score.scoreOf(actors.seller)).to.equal(-3n);
    await dealIn(market, "Abandoned", { amount: 10n * USDC });
    expect(await score.scoreOf(actors.seller)).to.equal(-8n);
  });
});

describe("ScoreV2.MAINNET_GRADUATION_SCORE", () => {
  it("is 10 [S3.4.03]", async () => {
    const { score } = await loadFixture(marketplace);
    expect(await score.MAINNET_GRADUATION_SCORE()).to.equal(10n);
  });
});
