import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { FEE_TIERS, NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { SettlementLine, StatementTerms } from "./rebate.ts";

/** A seller's rebate for a month in one token. It is written once and never changed. */
export interface StatementRecord extends StatementTerms {
  /** `reb_…`, derived from network, month, wallet and token. */
  _id: string;
  network: Network;
  tokenSymbol: string;
  tokenDecimals: number;
  /** Hash of the terms. */
  hash: `0x${string}`;
  /** Whether there is something to pay. */
  isPayable: boolean;
  createdAt: Date;
}

/** A settlement that a statement lists. */
export interface StatementLineRecord extends SettlementLine {
  /** `<statement id>|<position>`, the position with 8 digits. */
  _id: string;
  statementId: string;
  position: number;
}

/** A month whose statements are all written. */
export interface WrittenMonthRecord {
  /** `<network>|<month>` */
  _id: string;
  network: Network;
  month: string;
  statements: number;
  writtenAt: Date;
}

/** Collections of the statements. */
export interface StatementModels {
  statements: Model<StatementRecord>;
  lines: Model<StatementLineRecord>;
  months: Model<WrittenMonthRecord>;
}

const text = { type: String, required: true } as const;
const count = { type: Number, required: true } as const;
const date = { type: Date, required: true } as const;
const network = { ...text, enum: NETWORKS } as const;
const options = { versionKey: false, strict: "throw" } as const;

const statementSchema = new Schema<StatementRecord>(
  {
    _id: text,
    network,
    month: text,
    wallet: text,
    token: text,
    tokenSymbol: text,
    tokenDecimals: count,
    tier: { ...text, enum: FEE_TIERS.map(({ tier }) => tier) },
    effectiveRateBps: count,
    windowStart: text,
    windowEnd: text,
    settledVolumeUsdUnits: text,
    block: { type: new Schema({ number: count, hash: text }, { _id: false }), required: true },
    settlementCount: count,
    settlementsHash: text,
    fee: text,
    rebate: text,
    hash: text,
    isPayable: { type: Boolean, required: true },
    createdAt: date,
  },
  { ...options, collection: "rebate_statements" },
);
statementSchema.index({ network: 1, month: 1, wallet: 1, token: 1 }, { unique: true });
// A wallet's own, newest first.
statementSchema.index({ wallet: 1, month: -1, _id: -1 });
// A token's name.
statementSchema.index({ token: 1 });
// The payable statements of a month.
statementSchema.index({ network: 1, month: 1, isPayable: 1, _id: 1 });

const lineSchema = new Schema<StatementLineRecord>(
  {
    _id: text,
    statementId: text,
    position: count,
    escrowId: text,
    settledAt: text,
    amount: text,
    fee: text,
    locked: text,
    sellerAmount: text,
    valueUsdUnits: text,
    volumeUsdUnits: text,
    countedFee: text,
  },
  { ...options, collection: "rebate_settlements" },
);
lineSchema.index({ statementId: 1, position: 1 }, { unique: true });

const monthSchema = new Schema<WrittenMonthRecord>(
  { _id: text, network, month: text, statements: count, writtenAt: date },
  { ...options, collection: "rebate_months" },
);
monthSchema.index({ network: 1, month: -1 });

/** Declares the collections of the statements. */
export function statementModels(connection: Connection): StatementModels {
  return {
    statements: connection.model<StatementRecord>("RebateStatement", statementSchema),
    lines: connection.model<StatementLineRecord>("RebateSettlement", lineSchema),
    months: connection.model<WrittenMonthRecord>("RebateMonth", monthSchema),
  };
}
