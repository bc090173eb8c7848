import { formatUnits } from "viem";

import { USD_DECIMALS } from "../../config/constants.ts";
import { SPANS } from "./market-model.ts";
import type { MarketFigures, MarketWindow, TallyRecord, WindowFigures } from "./market-model.ts";
import { RoundedValues } from "./rounded-values.ts";

/** A rate or median of fewer deals says more about them than about the market, so it is null. */
export const LEAST_DEALS = 5;

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

const RATE_DECIMALS = 4;

/** Adds up escrows that have ended. Its size doesn't depend on their number. */
export class MarketTally {
  readonly #counts = { released: 0, resolved: 0, refunded: 0, abandoned: 0, disputed: 0, excluded: 0 };
  /** In USD with 6 decimals. */
  readonly #sums = { volumeUsd: 0n, excludedUsd: 0n };
  readonly #values = {
    dealUsd: new RoundedValues(),
    unitPriceUsd: new RoundedValues(),
    secondsToDeliver: new RoundedValues(),
    secondsToRelease: new RoundedValues(),
  };

  /** Reads what `record` has written. */
  static of({ counts, sums, values }: TallyRecord): MarketTally {
    const tally = new MarketTally();
    Object.assign(tally.#counts, counts);
    for (const name of keysOf(tally.#sums)) tally.#sums[name] = BigInt(sums[name]);
    for (const name of keysOf(tally.#values)) tally.#values[name].addAll(RoundedValues.of(values[name]));
    return tally;
  }

  /** All that it knows, to be stored. */
  record(): TallyRecord {
    const { dealUsd, unitPriceUsd, secondsToDeliver, secondsToRelease } = this.#values;
    return {
      counts: { ...this.#counts },
      sums: { volumeUsd: String(this.#sums.volumeUsd), excludedUsd: String(this.#sums.excludedUsd) },
      values: {
        dealUsd: dealUsd.record(),
        unitPriceUsd: unitPriceUsd.record(),
        secondsToDeliver: secondsToDeliver.record(),
        secondsToRelease: secondsToRelease.record(),
      },
    };
  }

  /** @param counts false for wash trading */
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

/** Tallies by category; null for escrows without a checkout. */
export type TalliesByCategory = Map<string | null, MarketTally>;

/** The tally of a category, new if nothing was added yet. */
export function tallyOf(tallies: TalliesByCategory, category: string | null): MarketTally {
  const tally = tallies.get(category) ?? new MarketTally();
  tallies.set(category, tally);
  return tally;
}

/** Adds up the escrows of each window in one pass. */
export class MarketTallies {
  readonly #end: number;
  /** Only those of a window that no shorter one has. */
  readonly #tallies = new Map<MarketWindow, TalliesByCategory>();

  /**
   * @param end last second of every window, unix seconds
   * @param older what ended before the longest span
   */
  constructor(end: number, older: TalliesByCategory) {
    this.#end = end;
    this.#tallies.set("all", older);
  }

  /** Takes an escrow that ended in the longest span. */
  add(deal: EndedDeal, counts: boolean): void {
    const span = keysOf(SPANS).find((name) => deal.settledAt > this.#end - SPANS[name]);
    if (span === undefined) throw new RangeError(`${deal.settledAt} is before every span that ends at ${this.#end}`);
    const byCategory: TalliesByCategory = this.#tallies.get(span) ?? new Map<string | null, MarketTally>();
    this.#tallies.set(span, byCategory);
    tallyOf(byCategory, deal.category).add(deal, counts);
  }

  /** The figures of each window. */
  figures(): Record<MarketWindow, WindowFigures> {
    const total = new MarketTally();
    const categories: TalliesByCategory = new Map();
    const figuresUpTo = (window: MarketWindow): WindowFigures => {
      for (const [category, tally] of this.#tallies.get(window) ?? []) {
        tallyOf(categories, category).addAll(tally);
        total.addAll(tally);
      }
      const listed = [...categories].map(([category, tally]) => ({ category, ...tally.figures() }));
      return { total: total.figures(), categories: listed.sort(byVolume) };
    };
    // Each has what the shorter ones have.
    return { "24h": figuresUpTo("24h"), "7d": figuresUpTo("7d"), "30d": figuresUpTo("30d"), all: figuresUpTo("all") };
  }
}

type Listed = WindowFigures["categories"][number];

function byVolume(one: Listed, other: Listed): number {
  const difference = Number(other.volumeUsd) - Number(one.volumeUsd);
  return difference === 0 ? String(one.category).localeCompare(String(other.category)) : difference;
}
