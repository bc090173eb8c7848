import { NETWORKS } from "../../config/constants.ts";
import { date, flag, listOf, nullable, number, oneOf, optional, part, text, textOf } from "../../db/records.ts";
import type { Indexes, RecordOf } from "../../db/records.ts";

/**
 * `queued`: nothing is signed. `sending`: a transaction is signed and may be mined. `mined`: it succeeded in a block that a
 * reorganisation may still remove. `final`: enough blocks follow it. `superseded`: another transaction did what it was for.
 * `held`: a named problem is in the way; the sender tries again.
 */
export const SENDING_STATES = ["queued", "sending", "mined", "final", "superseded", "held"] as const;
export type SendingState = (typeof SENDING_STATES)[number];

/** The states of calls that aren't on chain. */
export const WAITING_STATES = ["queued", "sending", "held"] as const satisfies readonly SendingState[];

type Hex = `0x${string}`;

const attemptFields = {
  hash: textOf<Hex>(),
  raw: textOf<Hex>(),
  from: textOf<Hex>(),
  nonce: number,
  /** Units of gas. */
  gas: text,
  /** Wei per unit of gas. */
  maxFeePerGas: text,
  maxPriorityFeePerGas: text,
  signedAt: date,
};

/** A signed transaction, stored before it is sent. */
export type SigningAttempt = RecordOf<typeof attemptFields>;

const unseenFields = {
  /** Time of the first such send. */
  since: date,
  sends: number,
  /** When it may be sent again. */
  nextAt: date,
  /** The node's last refusal; null if it accepted the transaction. */
  refusal: nullable(text),
};

/** Unsuccessful sends of a transaction: no node has it, pending or mined. */
export type Unseen = RecordOf<typeof unseenFields>;

/** The fields of a call that goes on chain once, with the transactions that carry it. Features add what the call is. */
export function sendingFields(problems: readonly string[]) {
  return {
    _id: text,
    network: oneOf(NETWORKS),
    state: oneOf(SENDING_STATES),
    /** Why it is held, or what the sender waits for in another state. */
    problem: nullable(oneOf(problems)),
    /** Facts about the problem, for operators. */
    detail: nullable(text),
    /** When state or problem last changed. */
    since: date,
    queuedAt: date,
    /** When the sender looks at it next. Missing once nothing can change any more. */
    dueAt: optional(date),
    /** Looks in a row that ended with a problem. */
    failures: number,
    /** Rises with every write, so a sender that was paused can't overwrite a newer record. */
    version: number,
    /** True from the first signature until the nonce is used for certain. Meanwhile no other nonce is allocated. */
    inFlight: flag,
    /** The wallet and nonce of the signed transactions in flight, and afterwards of the one that ended it. */
    from: optional(textOf<Hex>()),
    nonce: optional(number),
    /** Every signed transaction, oldest first. */
    attempts: listOf(part(attemptFields)),
    /** When the latest attempt was first sent, and the height of the chain then. */
    sentAt: optional(date),
    sentAtBlock: optional(number),
    /** Missing while the node has a transaction of this record, and before one was sent. */
    unseen: optional(part(unseenFields)),
    /** The transaction that did what the call is for, of this sender or of another. */
    txHash: optional(textOf<Hex>()),
    blockNumber: optional(number),
    /** Transactions that were mined and reverted. */
    reverts: number,
  };
}

/** A call that goes on chain once. */
export type SendingRecord = RecordOf<ReturnType<typeof sendingFields>>;

/** A record with a signed transaction: its wallet and nonce are set. */
export type Flight<R extends SendingRecord> = R & Required<Pick<SendingRecord, "from" | "nonce">>;

/** The indexes that every sender reads by. `lane`: the field that a network's records are divided by, if any. */
export function sendingIndexes(lane?: string): Indexes {
  return [
    // For the records that are due.
    [
      { network: 1, ...(lane === undefined ? {} : { [lane]: 1 }), inFlight: 1, dueAt: 1 },
      { partialFilterExpression: { dueAt: { $exists: true } } },
    ],
    // One call for each nonce of a key, and the highest that was allocated.
    [
      { network: 1, from: 1, nonce: 1 },
      { unique: true, partialFilterExpression: { nonce: { $exists: true } } },
    ],
    // For a key's records in flight.
    [
      { network: 1, from: 1, nonce: 1, state: 1 },
      { partialFilterExpression: { inFlight: true }, name: "in_flight" },
    ],
    // For the waiting records, by network and problem.
    [{ network: 1, state: 1, problem: 1, queuedAt: 1 }],
  ];
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
