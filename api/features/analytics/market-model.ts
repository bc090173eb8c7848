import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { collection, date, listOf, nullable, number, oneOf, part, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** How far the figures look back, in seconds of the chain's time; the shortest first. */
export const SPANS = { "24h": 86_400, "7d": 604_800, "30d": 2_592_000 } as const;
/** The spans, and all time. */
export const MARKET_WINDOWS = [...(Object.keys(SPANS) as (keyof typeof SPANS)[]), "all"] as const;
export type MarketWindow = (typeof MARKET_WINDOWS)[number];
/** The longest span. Escrows that ended before it are kept as a tally. */
export const LONGEST_SPAN = SPANS["30d"];

/** Figures of the escrows that ended in a window. USD values are decimal strings. */
const figures = {
  /** Escrows that were released, or resolved by a dispute. */
  deals: number,
  released: number,
  resolved: number,
  refunded: number,
  abandoned: number,
  volumeUsd: text,
  disputed: number,
  disputeRate: nullable(number),
  medianDealUsd: nullable(text),
  medianUnitPriceUsd: nullable(text),
  medianSecondsToDeliver: nullable(number),
  medianSecondsToRelease: nullable(number),
  /** Deals that don't count, because the pair has more than half of the deals of one of the two. */
  excluded: part({ deals: number, volumeUsd: text }),
};
export type MarketFigures = RecordOf<typeof figures>;

/** The figures of one window: of all escrows, and by category, the largest volume first. */
const windowFigures = {
  total: part(figures),
  categories: listOf(part({ category: nullable(text), ...figures })),
};
export type WindowFigures = RecordOf<typeof windowFigures>;

/** The market figures of a network and window, as they were last computed. */
const marketFields = {
  /** `<network>:<window>` */
  _id: text,
  network: oneOf(NETWORKS),
  window: oneOf(MARKET_WINDOWS),
  /** Null for all time. */
  start: nullable(date),
  /** Exclusive: the second after that of the block. */
  end: date,
  /** The block up to which the chain's moves are in the figures. */
  indexedBlock: number,
  /** When the computation started, by the database's clock. */
  computedAt: date,
  /** How long the computation took, in milliseconds. */
  tookMs: number,
  ...windowFigures,
};
export type MarketRecord = RecordOf<typeof marketFields>;
export type MarketModel = Model<MarketRecord>;

/** Id of the figures of a network and window. */
export const marketIdOf = (network: Network, window: MarketWindow): string => `${network}:${window}`;

/** The collection of the market figures. */
export function marketModel(connection: Connection): MarketModel {
  return collection(connection, "MarketFigures", "market_figures", marketFields);
}

/** What was added up, and is kept. USD values have 6 decimals. */
const rounded = part({ keys: listOf(number), counts: listOf(number) });
const tally = {
  counts: part({
    released: number,
    resolved: number,
    refunded: number,
    abandoned: number,
    disputed: number,
    excluded: number,
  }),
  sums: part({ volumeUsd: text, excludedUsd: text }),
  values: part({
    dealUsd: rounded,
    unitPriceUsd: rounded,
    secondsToDeliver: rounded,
    secondsToRelease: rounded,
  }),
};
export type TallyRecord = RecordOf<typeof tally>;

/** The running tally of a network and category: every escrow that ended up to the network's progress. */
const keptTallyFields = {
  /** `<network>:<category>`, or `<network>:` without a checkout. */
  _id: text,
  network: oneOf(NETWORKS),
  category: nullable(text),
  ...tally,
};
export type KeptTallyModel = Model<RecordOf<typeof keptTallyFields>>;

/** How many escrows a wallet, or a pair of wallets, had ended up to the network's progress. */
const keptCountFields = {
  /** `<network>:<wallet>` or `<network>:<wallet>:<wallet>`, lower case, the smaller address first. */
  _id: text,
  ended: number,
};
export type KeptCountModel = Model<RecordOf<typeof keptCountFields>>;

/** Up to where the escrows of a network are in the tally and the counts. */
const progressFields = {
  /** The network. */
  _id: text,
  /** Last second that they have, unix seconds. */
  through: number,
};
export type MarketProgressModel = Model<RecordOf<typeof progressFields>>;

/** The collections of what is kept of all time. */
export interface KeptModels {
  tallies: KeptTallyModel;
  counts: KeptCountModel;
  progress: MarketProgressModel;
}

export function keptModels(connection: Connection): KeptModels {
  return {
    tallies: collection(connection, "MarketTally", "market_tallies", keptTallyFields, [[{ network: 1 }]]),
    counts: collection(connection, "MarketCount", "market_counts", keptCountFields),
    progress: collection(connection, "MarketProgress", "market_progress", progressFields),
  };
}
