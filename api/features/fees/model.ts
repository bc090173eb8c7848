import type { Connection, Model } from "mongoose";

import { FEE_TIERS, NETWORKS } from "../../config/constants.ts";
import { collection, date, flag, number, oneOf, part, text, textOf } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** The terms of a statement. Its hash covers them; they include the hash of its settlements. */
const termsFields = {
  network: oneOf(NETWORKS),
  /** `2026-10` */
  month: text,
  /** The seller, and the token of the settlements; lower case. */
  wallet: textOf<`0x${string}`>(),
  token: textOf<`0x${string}`>(),
  tier: oneOf(FEE_TIERS.map(({ tier }) => tier)),
  effectiveRateBps: number,
  /** ISO 8601: the 30 days whose volume decides the tier. The end is exclusive and the month's end. */
  windowStart: text,
  windowEnd: text,
  /** Volume of the window in all tokens, in USD units (6 decimals). */
  settledVolumeUsdUnits: text,
  /** The block at which the settlements were read. */
  block: part({ number, hash: textOf<`0x${string}`>() }),
  settlementCount: number,
  settlementsHash: textOf<`0x${string}`>(),
  /** Sum of the counted fees, in token units. */
  fee: text,
  /** `floor(fee * (200 - rateBps) / 200)`, in token units. */
  rebate: text,
};
export type StatementTerms = RecordOf<typeof termsFields>;

/** A seller's rebate for a month in one token. It is written once and never changed. */
const statementFields = {
  /** `reb_…`, derived from network, month, wallet and token. */
  _id: text,
  ...termsFields,
  tokenSymbol: text,
  tokenDecimals: number,
  /** Hash of the terms. */
  hash: textOf<`0x${string}`>(),
  /** Whether there is something to pay. */
  isPayable: flag,
  createdAt: date,
};
export type StatementRecord = RecordOf<typeof statementFields>;

/** A settlement as a statement lists it. Amounts are decimal strings in token units, USD values have 6 decimals. */
const settlementFields = {
  escrowId: textOf<`0x${string}`>(),
  /** ISO 8601. */
  settledAt: text,
  amount: text,
  fee: text,
  locked: text,
  /** Amount that the seller was paid; divided by `locked` it is the paid share. */
  sellerAmount: text,
  /** USD units of the deposit. */
  valueUsdUnits: text,
  /** Volume that counts towards the tier: `floor(value * paid share)` within the 30 days, otherwise 0. In USD units. */
  volumeUsdUnits: text,
  /** Fee that the rebate is computed from: `floor(fee * paid share)` for a settlement of the month, otherwise 0. In token units. */
  countedFee: text,
};
export type SettlementLine = RecordOf<typeof settlementFields>;

const lineFields = {
  /** `<statement id>|<position>`, the position with 8 digits. */
  _id: text,
  statementId: text,
  position: number,
  ...settlementFields,
};
export type StatementLineRecord = RecordOf<typeof lineFields>;

/** A month whose statements are all written. */
const monthFields = {
  /** `<network>|<month>` */
  _id: text,
  network: oneOf(NETWORKS),
  month: text,
  statements: number,
  writtenAt: date,
};
export type WrittenMonthRecord = RecordOf<typeof monthFields>;

/** Collections of the statements. */
export interface StatementModels {
  statements: Model<StatementRecord>;
  lines: Model<StatementLineRecord>;
  months: Model<WrittenMonthRecord>;
}

/** Declares the collections of the statements. */
export function statementModels(connection: Connection): StatementModels {
  return {
    statements: collection(connection, "RebateStatement", "rebate_statements", statementFields, [
      [{ network: 1, month: 1, wallet: 1, token: 1 }, { unique: true }],
      // A wallet's own, newest first.
      [{ wallet: 1, month: -1, _id: -1 }],
      // A token's name.
      [{ token: 1 }],
      // The payable statements of a month.
      [{ network: 1, month: 1, isPayable: 1, _id: 1 }],
    ]),
    lines: collection(connection, "RebateSettlement", "rebate_settlements", lineFields, [
      [{ statementId: 1, position: 1 }, { unique: true }],
    ]),
    months: collection(connection, "RebateMonth", "rebate_months", monthFields, [[{ network: 1, month: -1 }]]),
  };
}
