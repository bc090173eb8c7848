import { expect } from "chai";

import { ethers, loadFixture, networkHelpers } from "../../fixtures/chain.ts";
import type { Terms } from "../../fixtures/deals.ts";
import { funded, now, sendCreate, termsOf } from "../../fixtures/deals.ts";
import { ETH_PRICE, MAX_PRICE_AGE, marketplace } from "../../fixtures/marketplace.ts";
import type { Marketplace } from "../../fixtures/marketplace.ts";

/** What is wrong with a creation. Two flaws that set the same thing can't be had together. */
interface Flaw {
  error: string;
  terms?: Partial<Terms>;
  seller?: { minAmountUsd?: bigint; minDeliverySeconds?: bigint; isPaused?: boolean };
  isPaused?: true;
  isStale?: true;
}

/** Every check of a creation, in the order of docs/operations/createEscrow.md. */
async function flawsOf(market: Marketplace): Promise<Flaw[]> {
  const { actors, weth } = market;
  const { escrowId } = await funded(market);
  return [
    { error: "NewEscrowsPaused", isPaused: true },
    { error: "InvalidEscrowId", terms: { escrowId: ethers.ZeroHash } },
    { error: "InvalidSeller", terms: { seller: ethers.ZeroAddress } },
    { error: "BuyerIsSeller", terms: { seller: actors.buyer.address } },
    { error: "EscrowAlreadyExists", terms: { escrowId } },
    { error: "DisputeWindowOutOfRange", terms: { disputeWindow: 1n } },
    { error: "AbandonmentGraceOutOfRange", terms: { abandonmentGrace: 1n } },
    { error: "DeadlineTooEarly", terms: { deadline: 1n } },
    { error: "DeadlineTooLate", terms: { deadline: 2n ** 40n } },
    { error: "TokenNotListed", terms: { token: actors.stranger.address } },
    { error: "AmountBelowMinimum", terms: { amount: 1n } },
    { error: "AmountAboveMaximum", terms: { amount: 2n ** 96n } },
    // $25 by the stale price, above the parties' cap as well.
    { error: "InvalidPrice", terms: { token: await weth.getAddress(), amount: 10n ** 16n }, isStale: true },
    { error: "SellerPaused", seller: { isPaused: true } },
    { error: "BelowSellerMinimum", seller: { minAmountUsd: 2n ** 64n - 1n } },
    { error: "DeliveryTimeBelowSellerMinimum", seller: { minDeliverySeconds: 2n ** 32n - 1n } },
    { error: "JobValueCapExceeded", terms: { amount: 10n ** 18n } },
  ];
}

/** Whether a creation can have both. */
function fit(one: Flaw, other: Flaw): boolean {
  const keysOf = ({ terms, seller }: Flaw): string[] => [...Object.keys(terms ?? {}), ...Object.keys(seller ?? {})];
  return !keysOf(one).some((key) => keysOf(other).includes(key));
}

/** Makes what the flaws say of pauser, seller and feed true. */
async function prepare({ escrow, feed, actors }: Marketplace, flaws: readonly Flaw[]): Promise<void> {
  if (flaws.some(({ isPaused }) => isPaused)) await escrow.connect(actors.pauser).pause();
  if (flaws.some(({ isStale }) => isStale)) {
    const updatedAt = (await now()) - 2n * MAX_PRICE_AGE;
    await feed.setRound({ roundId: 7n, answeredInRound: 7n, answer: ETH_PRICE, startedAt: updatedAt, updatedAt });
  }
  if (flaws.some(({ seller }) => seller !== undefined)) {
    const asked = { minAmountUsd: 0n, minDeliverySeconds: 0n, isPaused: false };
    for (const { seller } of flaws) Object.assign(asked, seller);
    await escrow.connect(actors.seller).setSellerTerms(asked.minAmountUsd, asked.minDeliverySeconds, asked.isPaused);
  }
}

/** Tries a creation with these flaws, and leaves the market as it was. */
async function expectRefusal(market: Marketplace, flaws: readonly Flaw[], error: string): Promise<void> {
  const snapshot = await networkHelpers.takeSnapshot();
  await prepare(market, flaws);
  const terms = await termsOf(market);
  for (const flaw of flaws) Object.assign(terms, flaw.terms);
  const title = flaws.map((flaw) => flaw.error).join(" and ");
  await expect(sendCreate(market, terms), title).to.be.revertedWithCustomError(market.escrow, error);
  await snapshot.restore();
}

describe("EscrowV2.createEscrow", () => {
  it("answers with the first error of its page when several checks fail, for every two that can fail together", async () => {
    const market = await loadFixture(marketplace);
    const flaws = await flawsOf(market);
    let pairs = 0;
    for (const [index, first] of flaws.entries()) {
      for (const later of flaws.slice(index + 1)) {
        if (!fit(first, later)) continue;
        await expectRefusal(market, [first, later], first.error);
        pairs += 1;
      }
    }
    expect(pairs).to.be.greaterThan(100);
  });

  it("checks everything before it takes the deposit", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    const flaws = await flawsOf(market);
    await usdc.connect(actors.buyer).approve(escrow, 0);
    await expect(sendCreate(market, await termsOf(market))).to.be.revertedWith(
      "ERC20: transfer amount exceeds allowance",
    );
    for (const flaw of flaws) await expectRefusal(market, [flaw], flaw.error);
  });
});
