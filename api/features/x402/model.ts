import type { Connection, Model } from "mongoose";

import { CALL_CLASSES, NETWORKS } from "../../config/constants.ts";
import {
  collection,
  date,
  flag,
  mixed,
  nullable,
  number,
  oneOf,
  optional,
  part,
  text,
  textOf,
  withDefault,
} from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { countFields } from "../mandates/model.ts";

/*
 * A claim is the use of one payment for one request:
 *
 *     reserve ──► reserved ──beginSettling──► settling ──confirm──► settled ──claimResponse──► spent ──noteSent──► spent
 *                   │  │                        │  │                                            ▲                 (sent)
 *           release │  └─confirm (a transfer)───│──┴─confirm (the request that ran the call)────┘
 *                   ▼                           ▼ release
 *                deleted                     deleted
 *
 * state      tokens have moved    response    a live lease means         after its end
 * reserved   only by a transfer   none yet    a request runs the call    `reserve`: the same agent may use the payment again
 * settling   unknown              pending     somebody settles it        `takeOver`: an identical request or the worker goes on
 * settled    yes                  pending     nothing                    `claimResponse`: an identical request sends it
 * spent      yes                  pending     a request sends it         `claimResponse`, as before: it was lost on its way
 * spent      yes                  sent        nothing                    repeats get the stored response, for a day
 *
 * A reservation that has outlived its lease neither settles nor counts against the payer's balance. `runs` counts the requests
 * that ran the call: `reserve` raises it for the same request and sets it to 1 for another one. From the second run on an
 * earlier one may have taken effect, so the balance isn't compared, a stored answer is used, and an error only ends the lease.
 */
const CLAIM_STATES = ["reserved", "settling", "settled", "spent"] as const;
export type ClaimState = (typeof CLAIM_STATES)[number];

/** States of a claim whose payment isn't known to be on chain. */
export const UNPAID_STATES = ["reserved", "settling"] as const satisfies readonly ClaimState[];

/** The data needed to settle a signed payment again after its process was killed. */
export interface StoredPayment {
  version: 1 | 2;
  signature: `0x${string}`;
  /** Unix seconds. */
  validAfter: string;
  validBefore: string;
  /** First block of the search for the payment on chain: no use of the authorisation is older. */
  fromBlock: number;
  /** Transactions that may have settled it. */
  txHashes: `0x${string}`[];
}

const claimFields = {
  _id: text,
  network: oneOf(NETWORKS),
  /** Lower case, like every address here. */
  token: text,
  payer: text,
  payTo: text,
  /** Units of the token. */
  amount: text,
  /** The transfer: known from the start for a transaction hash, else once the payment is settled. */
  txHash: optional(text),
  /** Position of the transfer among the logs of its receipt. */
  position: optional(number),
  /** The EIP-3009 authorisation that moved the tokens. */
  nonce: optional(text),
  payment: optional(mixed<StoredPayment>()),
  agentId: text,
  /** Id of the API key that the request came with: only this key gets the answer again. */
  keyId: text,
  /** Id that the client has given the payment. A key gives each id to one payment. */
  paymentId: optional(text),
  /** Hash of caller, route and input: a payment pays for one request. */
  requestHash: text,
  /** Id that the request's `Idempotency-Key` gives it: the same for all repeats, and for no other request. */
  operationId: optional(text),
  /** What the payment counts against the mandate of the request's key: nothing once the reservation is over. */
  mandate: optional(part(countFields)),
  /** Calls to credit when the payment is confirmed. */
  pack: optional(part({ class: oneOf(CALL_CLASSES), calls: number })),
  state: oneOf(CLAIM_STATES),
  /** True while the answer of the call hasn't been sent to the caller. */
  responsePending: optional(flag),
  /** Random token of the request or worker that holds the lease. */
  owner: text,
  leaseEndsAt: date,
  /** When the operation began, and its random seed: a request that runs again is the same operation. */
  startedAt: date,
  seed: text,
  runs: number,
  spentAt: optional(date),
};

export type ClaimRecord = RecordOf<typeof claimFields>;
export type ClaimModel = Model<ClaimRecord>;

/** Selects the records that have a field. */
const having = (field: string) => ({ partialFilterExpression: { [field]: { $exists: true } } });

/** Declares the collection of claims. */
export const claimModel = (connection: Connection): ClaimModel =>
  collection(connection, "X402Claim", "x402_claims", claimFields, [
    // A transfer pays once, and so does an authorisation, even if a second proof names the same payment in the other way.
    [
      { network: 1, txHash: 1, position: 1 },
      { unique: true, ...having("txHash") },
    ],
    [
      { network: 1, token: 1, payer: 1, nonce: 1 },
      { unique: true, ...having("nonce") },
    ],
    [
      { keyId: 1, paymentId: 1 },
      { unique: true, ...having("paymentId") },
    ],
    [
      { agentId: 1, requestHash: 1 },
      { partialFilterExpression: { responsePending: true }, name: "response_pending" },
    ],
    [{ operationId: 1 }, having("operationId")],
    [{ leaseEndsAt: 1 }, { partialFilterExpression: { state: "settling" } }],
    [
      { leaseEndsAt: 1, state: 1 },
      { partialFilterExpression: { "mandate.counted": true, state: "reserved" }, name: "counted_reservations" },
    ],
    [{ network: 1, token: 1, payer: 1, state: 1 }, { partialFilterExpression: { state: { $in: [...UNPAID_STATES] } } }],
    [{ network: 1, token: 1, payer: 1, spentAt: 1 }, having("payment")],
  ]);

const lastTransactionFields = { _id: text, nonce: number, raw: textOf<`0x${string}`>() };

/** The last transaction that a settlement key has signed on a network. The id is `network:address`. */
export type LastTransactionRecord = RecordOf<typeof lastTransactionFields>;
export type LastTransactionModel = Model<LastTransactionRecord>;

/** Declares the collection of last transactions. */
export const lastTransactionModel = (connection: Connection): LastTransactionModel =>
  collection(connection, "X402LastTransaction", "x402_last_transactions", lastTransactionFields);

const keptAnswerFields = {
  /** The claim's id. */
  _id: text,
  requestHash: text,
  status: number,
  type: nullable(text),
  headers: withDefault(mixed<Record<string, string>>(), {}),
  body: withDefault(text, ""),
  isBase64: flag,
  /** When MongoDB deletes it. */
  expiresAt: date,
};

/** A stored answer that awaits its payment, or a repeat by a client that lost it. */
export type KeptAnswerRecord = RecordOf<typeof keptAnswerFields>;
export type KeptAnswerModel = Model<KeptAnswerRecord>;

/** Declares the collection of answers. */
export const keptAnswerModel = (connection: Connection): KeptAnswerModel =>
  collection(connection, "X402Answer", "x402_answers", keptAnswerFields, [
    [{ expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ]);
