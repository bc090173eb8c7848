import { formatUnits } from "viem";

import { USD_DECIMALS } from "../../config/constants.ts";
import { counterpartyWeightOf } from "../agents/score.ts";
import type { Counterparties } from "../agents/score.ts";
import { MARKET_WINDOWS } from "./market-model.ts";
import type { MarketFigures, MarketWindow, WindowFigures } from "./market-model.ts";
import { RoundedValues } from "./rounded-values.ts";

/** A rate or median of fewer deals says more about them than about the market, so it is null. */
export const LEAST_DEALS = 5;

/**
 * Minimum `counterpartyWeightOf` of a deal's better connected party for the deal to count. Ten counterparties reach it
 * with at most half of the deals with one of them, eight only with equal shares.
 */
export const LEAST_WEIGHT = 0.75;

/** Statuses of an escrow that has ended. */
export const ENDED = ["released", "resolved", "refunded", "abandoned"] as const;

/** An escrow that has ended. Times are in unix seconds, USD values have 6 decimals, amounts are in token units. */
export interface EndedDeal {
  status: (typeof ENDED)[number];
  /** Null without a checkout. */
  category: string | null;
  quantity: number;
  valueUsd: bigint;
  locked: bigint;
  sellerAmount: bigint;
  createdAt: number;
  deliveredAt: number | null;
  disputedAt: number | null;
  settledAt: number;
}

/** Whether deals of this party count, with any other. */
export function isConnected(history: Counterparties): boolean {
  return counterpartyWeightOf(history) >= LEAST_WEIGHT;
}

const RATE_DECIMALS = 4;

/** Adds up escrows that have ended. Its size doesn't depend on their number. */
export class MarketTally {
  readonly #counts = { released: 0, resolved: 0, refunded: 0, abandoned: 0, disputed: 0, excluded: 0 };
  readonly #sums = { volumeUsd: 0n, excludedUsd: 0n };
  readonly #values = {
    dealUsd: new RoundedValues(),
    unitPriceUsd: new RoundedValues(),
    secondsToDeliver: new RoundedValues(),
    secondsToRelease: new RoundedValues(),
  };

  /** @param counts whether one of the parties is connected well enough */
  add(deal: EndedDeal, counts: boolean): void {
    const isDeal = deal.status === "released" || deal.status === "resolved";
    // A deal counts by the share that its seller was paid, as in the volume of fee tiers.
    const volumeUsd = (deal.valueUsd * deal.sellerAmount) / deal.locked;
    if (!counts) {
      if (!isDeal) return;
      this.#counts.excluded += 1;
      this.#sums.excludedUsd += volumeUsd;
      return;
    }
    this.#counts[deal.status] += 1;
    if (!isDeal) return;
    this.#sums.volumeUsd += volumeUsd;
    if (deal.disputedAt !== null) this.#counts.disputed += 1;
    this.#values.dealUsd.add(deal.valueUsd);
    this.#values.unitPriceUsd.add(deal.valueUsd / BigInt(deal.quantity));
    if (deal.deliveredAt === null) return;
    this.#values.secondsToDeliver.add(BigInt(deal.deliveredAt - deal.createdAt));
    if (deal.status === "released") this.#values.secondsToRelease.add(BigInt(deal.settledAt - deal.deliveredAt));
  }

  /** Adds what another has added up. */
  addAll(other: MarketTally): void {
    for (const name of keysOf(this.#counts)) this.#counts[name] += other.#counts[name];
    for (const name of keysOf(this.#sums)) this.#sums[name] += other.#sums[name];
    for (const name of keysOf(this.#values)) this.#values[name].addAll(other.#values[name]);
  }

  figures(): MarketFigures {
    const { released, resolved, refunded, abandoned, disputed, excluded } = this.#counts;
    const { volumeUsd, excludedUsd } = this.#sums;
    const { dealUsd, unitPriceUsd, secondsToDeliver, secondsToRelease } = this.#values;
    const deals = released + resolved;
    return {
      deals,
      released,
      resolved,
      refunded,
      abandoned,
      volumeUsd: toUsd(volumeUsd),
      disputed,
      disputeRate: deals < LEAST_DEALS ? null : Number((disputed / deals).toFixed(RATE_DECIMALS)),
      medianDealUsd: usdOrNull(medianOf(dealUsd)),
      medianUnitPriceUsd: usdOrNull(medianOf(unitPriceUsd)),
      medianSecondsToDeliver: numberOrNull(medianOf(secondsToDeliver)),
      medianSecondsToRelease: numberOrNull(medianOf(secondsToRelease)),
      excluded: { deals: excluded, volumeUsd: toUsd(excludedUsd) },
    };
  }
}

const keysOf = <Key extends string>(record: Readonly<Record<Key, unknown>>) => Object.keys(record) as Key[];
const toUsd = (units: bigint) => formatUnits(units, USD_DECIMALS);
const medianOf = (values: RoundedValues) => (values.size < LEAST_DEALS ? null : values.median());
const usdOrNull = (units: bigint | null) => (units === null ? null : toUsd(units));
const numberOrNull = (value: bigint | null) => (value === null ? null : Number(value));

/** Adds up the escrows of each window in one pass. */
export class MarketTallies {
  readonly #end: number;
  /** Only those of a window that no shorter one has, by category. */
  readonly #tallies = new Map<MarketWindow, Map<string | null, MarketTally>>();

  /** @param end last second of every window, unix seconds */
  constructor(end: number) {
    this.#end = end;
  }

  /** Takes an escrow that ended in the longest window. */
  add(deal: EndedDeal, counts: boolean): void {
    const window = keysOf(MARKET_WINDOWS).find((name) => deal.settledAt > this.#end - MARKET_WINDOWS[name]);
    if (window === undefined)
      throw new RangeError(`${deal.settledAt} is before every window that ends at ${this.#end}`);
    const byCategory = this.#tallies.get(window) ?? new Map<string | null, MarketTally>();
    this.#tallies.set(window, byCategory);
    const tally = byCategory.get(deal.category) ?? new MarketTally();
    byCategory.set(deal.category, tally);
    tally.add(deal, counts);
  }

  /** The figures of each window. */
  figures(): Record<MarketWindow, WindowFigures> {
    const total = new MarketTally();
    const categories = new Map<string | null, MarketTally>();
    const figuresUpTo = (window: MarketWindow): WindowFigures => {
      for (const [category, tally] of this.#tallies.get(window) ?? []) {
        const sum = categories.get(category) ?? new MarketTally();
        categories.set(category, sum);
        sum.addAll(tally);
        total.addAll(tally);
      }
      const listed = [...categories].map(([category, tally]) => ({ category, ...tally.figures() }));
      return { total: total.figures(), categories: listed.sort(byVolume) };
    };
    return { "24h": figuresUpTo("24h"), "7d": figuresUpTo("7d"), "30d": figuresUpTo("30d") };
  }
}

type Listed = WindowFigures["categories"][number];

function byVolume(one: Listed, other: Listed): number {
  const difference = Number(other.volumeUsd) - Number(one.volumeUsd);
  return difference === 0 ? String(one.category).localeCompare(String(other.category)) : difference;
}
