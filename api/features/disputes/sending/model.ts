import { Schema } from "mongoose";
import type { Connection } from "mongoose";

import { addSendingIndexes, sendingFields } from "../../../chain/sending/record.ts";
import type { SendingModel, SendingRecord } from "../../../chain/sending/record.ts";
import type { Network } from "../../../config/constants.ts";
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

/** The transactions of one ruling. The id is the dispute's. */
export interface RulingTransactionRecord extends SendingRecord, Omit<Ruling, "disputeId" | "network"> {}

export type RulingTransactionModel = SendingModel<RulingTransactionRecord>;

const required = { required: true } as const;
const text = { type: String, ...required } as const;

const schema = new Schema<RulingTransactionRecord>(
  {
    ...sendingFields(PROBLEMS),
    escrowId: text,
    role: { ...text, enum: RESOLVED_BY },
    outcome: { ...text, enum: DISPUTE_OUTCOMES },
    buyerPercent: { type: Number, ...required },
    rationaleHash: text,
  },
  { collection: "ruling_transactions", versionKey: false, strict: "throw" },
);
// A dispute ends once, so an escrow has one ruling.
schema.index({ network: 1, escrowId: 1 }, { unique: true });
addSendingIndexes(schema, "role");

/** Declares the collection of the rulings' transactions. */
export function rulingTransactionModel(connection: Connection): RulingTransactionModel {
  return connection.model<RulingTransactionRecord>("RulingTransaction", schema);
}
