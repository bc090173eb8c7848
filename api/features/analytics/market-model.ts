import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { collection, date, listOf, nullable, number, oneOf, part, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** How far the figures look back, in seconds of the chain's time; the shortest first. */
export const MARKET_WINDOWS = { "24h": 86_400, "7d": 604_800, "30d": 2_592_000 } as const;
export type MarketWindow = keyof typeof MARKET_WINDOWS;

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
  /** Deals that don't count because neither party is connected well enough. */
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
  window: oneOf(Object.keys(MARKET_WINDOWS) as MarketWindow[]),
  start: date,
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
