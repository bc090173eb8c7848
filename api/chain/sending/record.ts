import { Schema } from "mongoose";
import type { Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";

/**
 * `queued`: nothing is signed. `sending`: a transaction is signed and may be mined. `mined`: it succeeded in a block that a
 * reorganisation may still remove. `final`: enough blocks follow it. `superseded`: another transaction did what it was for.
 * `held`: a named problem is in the way; the sender tries again.
 */
export const SENDING_STATES = ["queued", "sending", "mined", "final", "superseded", "held"] as const;
export type SendingState = (typeof SENDING_STATES)[number];

/** The states of calls that aren't on chain. */
export const WAITING_STATES = ["queued", "sending", "held"] as const satisfies readonly SendingState[];

/** A signed transaction, stored before it is sent. */
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

/** Unsuccessful sends of a transaction: no node has it, pending or mined. */
export interface Unseen {
  /** Time of the first such send. */
  since: Date;
  sends: number;
  /** When it may be sent again. */
  nextAt: Date;
  /** The node's last refusal; null if it accepted the transaction. */
  refusal: string | null;
}

/** A call that goes on chain once, with the transactions that carry it. Features add what the call is. */
export interface SendingRecord {
  _id: string;
  network: Network;
  state: SendingState;
  /** Why it is held, or what the sender waits for in another state. */
  problem: string | null;
  /** Facts about the problem, for operators. */
  detail: string | null;
  /** When state or problem last changed. */
  since: Date;
  queuedAt: Date;
  /** When the sender looks at it next. Missing once nothing can change any more. */
  dueAt?: Date;
  /** Looks in a row that ended with a problem. */
  failures: number;
  /** Rises with every write, so a sender that was paused can't overwrite a newer record. */
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
  /** Missing while the node has a transaction of this record, and before one was sent. */
  unseen?: Unseen;
  /** The transaction that did what the call is for, of this sender or of another. */
  txHash?: `0x${string}`;
  blockNumber?: number;
  /** Transactions that were mined and reverted. */
  reverts: number;
}

/** A record with a signed transaction: its wallet and nonce are set. */
export type Flight<R extends SendingRecord> = R & Required<Pick<SendingRecord, "from" | "nonce">>;

export type SendingModel<R extends SendingRecord> = Model<R>;

const required = { required: true } as const;
const text = { type: String, ...required } as const;
const date = { type: Date, ...required } as const;
const count = { type: Number, ...required } as const;

const attemptSchema = new Schema<SigningAttempt>(
  {
    hash: text,
    raw: text,
    from: text,
    nonce: count,
    gas: text,
    maxFeePerGas: text,
    maxPriorityFeePerGas: text,
    signedAt: date,
  },
  { _id: false, strict: "throw" },
);

const unseenSchema = new Schema<Unseen>(
  { since: date, sends: count, nextAt: date, refusal: { type: String, default: null } },
  { _id: false, strict: "throw" },
);

/** The shared fields of a schema, for a sender with these problems. */
export function sendingFields(problems: readonly string[]) {
  return {
    _id: text,
    network: { ...text, enum: NETWORKS },
    state: { ...text, enum: SENDING_STATES },
    problem: { type: String, enum: [...problems, null], default: null },
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
    unseen: unseenSchema,
    txHash: String,
    blockNumber: Number,
    reverts: count,
  } as const;
}

/** Adds the indexes that every sender reads by. `lane`: the field that a network's records are divided by, if any. */
export function addSendingIndexes<R extends SendingRecord>(schema: Schema<R>, lane?: keyof R & string): void {
  // For the records that are due.
  schema.index(
    { network: 1, ...(lane === undefined ? {} : { [lane]: 1 }), inFlight: 1, dueAt: 1 },
    { partialFilterExpression: { dueAt: { $exists: true } } },
  );
  // One call for each nonce of a key, and the highest that was allocated.
  schema.index(
    { network: 1, from: 1, nonce: 1 },
    { unique: true, partialFilterExpression: { nonce: { $exists: true } } },
  );
  // For a key's records in flight.
  schema.index(
    { network: 1, from: 1, nonce: 1, state: 1 },
    { partialFilterExpression: { inFlight: true }, name: "in_flight" },
  );
  // For the waiting records, by network and problem.
  schema.index({ network: 1, state: 1, problem: 1, queuedAt: 1 });
}

/** Fields of a record before anything is signed for it. */
export function queuedFields(at: Date) {
  return {
    ...({ state: "queued", problem: null, detail: null, since: at, queuedAt: at, dueAt: at, failures: 0 } as const),
    version: 0,
    inFlight: false,
    attempts: [],
    reverts: 0,
  };
}
