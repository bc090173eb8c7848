import type { Connection, Model } from "mongoose";

import { sendingFields, sendingIndexes } from "../../../chain/sending/record.ts";
import type { Network } from "../../../config/constants.ts";
import { collection, number, oneOf, textOf } from "../../../db/records.ts";
import type { RecordOf } from "../../../db/records.ts";
import { DISPUTE_OUTCOMES, RESOLVED_BY } from "../../../indexer/schemas.ts";
import type { DisputeOutcome, ResolvedBy } from "../../../indexer/schemas.ts";
import { PROBLEMS } from "./problems.ts";

/** A ruling as it is to stand on chain. */
export interface Ruling {
  disputeId: string;
  network: Network;
  escrowId: `0x${string}`;
  /** The resolver contract's role that rules. */
  role: ResolvedBy;
  outcome: DisputeOutcome;
  /** Whole percent of the locked funds for the buyer. By role `system` it follows from the outcome. */
  buyerPercent: number;
  /** Hash of the ruling document. */
  rationaleHash: `0x${string}`;
}

const rulingTransactionFields = {
  ...sendingFields(PROBLEMS),
  escrowId: textOf<`0x${string}`>(),
  role: oneOf(RESOLVED_BY),
  outcome: oneOf(DISPUTE_OUTCOMES),
  buyerPercent: number,
  rationaleHash: textOf<`0x${string}`>(),
};

/** The transactions of one ruling. The id is the dispute's. */
export type RulingTransactionRecord = RecordOf<typeof rulingTransactionFields>;
export type RulingTransactionModel = Model<RulingTransactionRecord>;

/** Declares the collection of the rulings' transactions. */
export function rulingTransactionModel(connection: Connection): RulingTransactionModel {
  return collection(connection, "RulingTransaction", "ruling_transactions", rulingTransactionFields, [
    // A dispute ends once, so an escrow has one ruling.
    [{ network: 1, escrowId: 1 }, { unique: true }],
    ...sendingIndexes("role"),
  ]);
}
