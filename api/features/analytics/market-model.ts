import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { MARKET_WINDOWS } from "./market-figures.ts";
import type { MarketFigures, MarketWindow, WindowFigures } from "./market-figures.ts";

/** The market figures of a network and window, as they were last computed. */
export interface MarketRecord extends WindowFigures {
  /** `<network>:<window>` */
  _id: string;
  network: Network;
  window: MarketWindow;
  start: Date;
  /** Exclusive: the second after that of the block. */
  end: Date;
  /** The block up to which the chain's moves are in the figures. */
  indexedBlock: number;
  /** When the computation started, by the database's clock. */
  computedAt: Date;
  /** How long the computation took, in milliseconds. */
  tookMs: number;
}

export type MarketModel = Model<MarketRecord>;

const text = { type: String, required: true } as const;
const count = { type: Number, required: true } as const;
const date = { type: Date, required: true } as const;
const textOrNull = { type: String, default: null } as const;
const countOrNull = { type: Number, default: null } as const;

const figures = {
  deals: count,
  released: count,
  resolved: count,
  refunded: count,
  abandoned: count,
  volumeUsd: text,
  disputed: count,
  disputeRate: countOrNull,
  medianDealUsd: textOrNull,
  medianUnitPriceUsd: textOrNull,
  medianSecondsToDeliver: countOrNull,
  medianSecondsToRelease: countOrNull,
  excluded: {
    type: new Schema<MarketFigures["excluded"]>({ deals: count, volumeUsd: text }, { _id: false }),
    required: true,
  },
};

const schema = new Schema<MarketRecord>(
  {
    _id: text,
    network: { ...text, enum: NETWORKS },
    window: { ...text, enum: Object.keys(MARKET_WINDOWS) },
    start: date,
    end: date,
    indexedBlock: count,
    computedAt: date,
    tookMs: count,
    total: { type: new Schema<MarketFigures>(figures, { _id: false }), required: true },
    categories: [new Schema<WindowFigures["categories"][number]>({ category: textOrNull, ...figures }, { _id: false })],
  },
  { collection: "market_figures", versionKey: false, strict: "throw" },
);

/** Id of the figures of a network and window. */
export const marketIdOf = (network: Network, window: MarketWindow): string => `${network}:${window}`;

/** The collection of the market figures. */
export function marketModel(connection: Connection): MarketModel {
  return connection.model<MarketRecord>("MarketFigures", schema);
}
