import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { Method, Outcome, RATIONALE, ResolvedBy, ScoreOutcome, State, disputed } from "../../fixtures/deals.ts";
import { impersonate, marketplace } from "../../fixtures/marketplace.ts";

/** The market with the resolver contract as a caller. */
async function withResolverCaller() {
  const market = await marketplace();
  return { ...market, caller: await impersonate(await market.resolver.getAddress()) };
}

interface Case {
  outcome: keyof typeof Outcome;
  buyerPercent: bigint;
  /** What buyer and seller get of 980,001 locked units. */
  shares: [bigint, bigint];
  score: keyof typeof ScoreOutcome;
  deltas: [bigint, bigint];
  cites: string;
}

/** A deposit whose locked part is odd: less its fee of 20,001 it leaves 980,001 units. */
const AMOUNT = 1_000_002n;

const CASES: Case[] = [
  {
    outcome: "BuyerRefund",
    buyerPercent: 100n,
    shares: [980_001n, 0n],
    score: "BuyerRefund",
    deltas: [1n, -3n],
    cites: "[S3.2.28] [S3.2.33] ",
  },
  {
    outcome: "SellerPaid",
    buyerPercent: 0n,
    shares: [0n, 980_001n],
    score: "SellerPaid",
    deltas: [-3n, 1n],
    cites: "[S3.2.29] [S3.2.34] ",
  },
  {
    outcome: "Split",
    buyerPercent: 50n,
    shares: [490_000n, 490_001n],
    score: "Split",
    deltas: [0n, 0n],
    cites: "[S3.2.30] [S3.2.35] ",
  },
  {
    outcome: "Split",
    buyerPercent: 33n,
    shares: [323_400n, 656_601n],
    score: "Split",
    deltas: [0n, 0n],
    cites: "[S3.2.30] ",
  },
  {
    outcome: "Split",
    buyerPercent: 100n,
    shares: [980_001n, 0n],
    score: "Split",
    deltas: [0n, 0n],
    cites: "[S3.2.35] ",
  },
  { outcome: "Split", buyerPercent: 0n, shares: [0n, 980_001n], score: "Split", deltas: [0n, 0n], cites: "[S3.2.35] " },
];

describe("EscrowV2.resolve", () => {
  for (const { outcome, buyerPercent, shares, score: scoreOutcome, deltas, cites } of CASES) {
    it(`${outcome} with ${buyerPercent}% for the buyer shares the locked funds and scores both ${cites}[S3.1.07] [D8]`, async () => {
      const market = await loadFixture(withResolverCaller);
      const { escrow, usdc, score, actors, caller } = market;
      const { escrowId } = await disputed(market, { amount: AMOUNT });
      const resolution = escrow
        .connect(caller)
        .resolve(
          escrowId,
          Outcome[outcome],
          buyerPercent,
          100n - buyerPercent,
          ResolvedBy.Admin,
          Method.Ruling,
          RATIONALE,
        );
      await expect(resolution).to.changeTokenBalances(
        ethers,
        usdc,
        [actors.buyer, actors.seller, escrow, actors.treasury],
        [...shares, -980_001n, 0n],
      );
      await expect(resolution)
        .to.emit(escrow, "EscrowResolved")
        .withArgs(
          escrowId,
          actors.buyer,
          actors.seller,
          Outcome[outcome],
          ...shares,
          buyerPercent,
          ResolvedBy.Admin,
          Method.Ruling,
          RATIONALE,
        );
      await expect(resolution)
        .to.emit(score, "ScoresChanged")
        .withArgs(escrowId, actors.buyer, actors.seller, ScoreOutcome[scoreOutcome], deltas[0], deltas[1]);
      expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Resolved);
    });
  }

  const unfit: [keyof typeof Outcome, bigint, bigint][] = [
    ["BuyerRefund", 99n, 1n],
    ["BuyerRefund", 100n, 1n],
    ["BuyerRefund", 100n, 50n],
    ["BuyerRefund", 0n, 100n],
    ["SellerPaid", 100n, 0n],
    ["SellerPaid", 1n, 99n],
    ["SellerPaid", 0n, 99n],
    ["SellerPaid", 50n, 100n],
    ["Split", 50n, 49n],
    ["Split", 50n, 51n],
    ["Split", 101n, 0n],
    ["Split", 0n, 101n],
    ["Split", 2n ** 255n, 2n ** 255n + 100n],
    ["Split", ethers.MaxUint256, 101n],
  ];
  for (const [outcome, buyerPercent, sellerPercent] of unfit) {
    it(`refuses ${outcome} with ${buyerPercent} and ${sellerPercent} percent [D8]`, async () => {
      const market = await loadFixture(withResolverCaller);
      const { escrow, caller } = market;
      const { escrowId } = await disputed(market);
      await expect(
        escrow
          .connect(caller)
          .resolve(escrowId, Outcome[outcome], buyerPercent, sellerPercent, 0n, Method.Ruling, RATIONALE),
      )
        .to.be.revertedWithCustomError(escrow, "InvalidPercentages")
        .withArgs(Outcome[outcome], buyerPercent, sellerPercent);
    });
  }

  it("fails for anyone but the resolver contract, whatever role he has [D8] [D14]", async () => {
    const market = await loadFixture(withResolverCaller);
    const { escrow, resolver, actors } = market;
    const { escrowId } = await disputed(market);
    for (const other of Object.values(actors)) {
      await expect(
        escrow.connect(other).resolve(escrowId, Outcome.Split, 50, 50, ResolvedBy.Admin, Method.Ruling, RATIONALE),
      )
        .to.be.revertedWithCustomError(escrow, "CallerNotResolverContract")
        .withArgs(other, resolver);
    }
  });
});
