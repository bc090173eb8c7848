import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../../config/constants.ts";
import type { Network } from "../../../config/constants.ts";
import { DISPUTE_OUTCOMES, RESOLVED_BY } from "../../../indexer/schemas.ts";
import type { DisputeOutcome, ResolvedBy } from "../../../indexer/schemas.ts";
import { PROBLEMS } from "./problems.ts";
import type { Problem } from "./problems.ts";

/**
 * `queued`: nothing is signed. `sending`: a transaction is signed and may be mined. `mined`: it succeeded in a block that a
 * reorganisation may still remove. `final`: enough blocks follow it. `superseded`: the dispute was resolved by another
 * transaction. `held`: a named problem is in the way; the sender tries again.
 */
export const RULING_STATES = ["queued", "sending", "mined", "final", "superseded", "held"] as const;
export type RulingState = (typeof RULING_STATES)[number];

/** The states of rulings that aren't on chain. */
export const WAITING_STATES = ["queued", "sending", "held"] as const satisfies readonly RulingState[];

/** A ruling as it is to stand on chain. */
export interface Ruling {
  disputeId: string;
  network: Network;
  escrowId: `0x${string}`;
  /** The resolver contract's role that rules. */
  role: ResolvedBy;
  outcome: DisputeOutcome;
  /** Whole percent of the locked funds for the buyer. By role `system` it follows from the outcome (decision 8). */
  buyerPercent: number;
  /** Hash of the ruling document. */
  rationaleHash: `0x${string}`;
}

/** A signed transaction of a ruling, stored before it is sent. */
export interface SigningAttempt {
  hash: `0x${string}`;
  raw: `0x${string}`;
  from: `0x${string}`;
  nonce: number;
  /** Units of gas. */
  gas: string;
  /** Wei per unit of gas. */
  maxFeePerGas: string;
  maxPriorityFeePerGas: string;
  signedAt: Date;
}

/** The transactions of one ruling. The id is the dispute's. */
export interface RulingTransactionRecord extends Omit<Ruling, "disputeId"> {
  _id: string;
  state: RulingState;
  /** Why it is held, or what the sender waits for in another state. */
  problem: Problem | null;
  /** Facts about the problem, for operators. */
  detail: string | null;
  /** When state or problem last changed. */
  since: Date;
  queuedAt: Date;
  /** When the sender looks at it next. Missing once nothing can change any more. */
  dueAt?: Date;
  /** Looks in a row that ended with a problem. */
  failures: number;
  /** Rises with every write: a sender that was paused overwrites nothing. */
  version: number;
  /** True from the first signature until the nonce is used for certain. Meanwhile no other nonce is allocated. */
  inFlight: boolean;
  /** The wallet and nonce of the signed transactions in flight, and afterwards of the one that ended it. */
  from?: `0x${string}`;
  nonce?: number;
  /** Every signed transaction, oldest first. */
  attempts: SigningAttempt[];
  /** When the latest attempt was first sent, and the height of the chain then. */
  sentAt?: Date;
  sentAtBlock?: number;
  /** The transaction that resolved the dispute, of this sender or of another. */
  txHash?: `0x${string}`;
  blockNumber?: number;
  /** Transactions that were mined and reverted. */
  reverts: number;
}

export type RulingTransactionModel = Model<RulingTransactionRecord>;

const required = { required: true } as const;
const text = { type: String, ...required } as const;
const date = { type: Date, ...required } as const;
const count = { type: Number, ...required } as const;

const attemptSchema = new Schema<SigningAttempt>(
  {
    ...{ hash: text, raw: text, from: text, nonce: count },
    ...{ gas: text, maxFeePerGas: text, maxPriorityFeePerGas: text, signedAt: date },
  },
  { _id: false, strict: "throw" },
);

const schema = new Schema<RulingTransactionRecord>(
  {
    _id: text,
    network: { ...text, enum: NETWORKS },
    escrowId: text,
    role: { ...text, enum: RESOLVED_BY },
    outcome: { ...text, enum: DISPUTE_OUTCOMES },
    buyerPercent: count,
    rationaleHash: text,
    state: { ...text, enum: RULING_STATES },
    problem: { type: String, enum: [...PROBLEMS, null], default: null },
    detail: { type: String, default: null },
    since: date,
    queuedAt: date,
    dueAt: Date,
    failures: count,
    version: count,
    inFlight: { type: Boolean, ...required },
    from: String,
    nonce: Number,
    attempts: { type: [attemptSchema], ...required },
    sentAt: Date,
    sentAtBlock: Number,
    txHash: String,
    blockNumber: Number,
    reverts: count,
  },
  { collection: "ruling_transactions", versionKey: false, strict: "throw" },
);
// A dispute ends once, so an escrow has one ruling.
schema.index({ network: 1, escrowId: 1 }, { unique: true });
// What is due.
schema.index({ network: 1, role: 1, inFlight: 1, dueAt: 1 }, { partialFilterExpression: { dueAt: { $exists: true } } });
// One ruling for each nonce of a key, and the highest that was allocated.
schema.index(
  { network: 1, from: 1, nonce: 1 },
  { unique: true, partialFilterExpression: { nonce: { $exists: true } } },
);
// What a key has in flight.
schema.index(
  { network: 1, from: 1, nonce: 1, state: 1 },
  { partialFilterExpression: { inFlight: true }, name: "in_flight" },
);
// What waits, by network and problem.
schema.index({ network: 1, state: 1, problem: 1, queuedAt: 1 });

/** Declares the collection of the rulings' transactions. */
export function rulingTransactionModel(connection: Connection): RulingTransactionModel {
  return connection.model<RulingTransactionRecord>("RulingTransaction", schema);
}
