import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { CALL_CLASSES, NETWORKS } from "../../config/constants.ts";
import type { CallClass, Network } from "../../config/constants.ts";
import type { StoredAnswer } from "../../http/kept-answer.ts";

/**
 * `reserved`: the call that it pays for is running; a claim whose call failed is deleted. `settling`: the call has been
 * answered, and the payment is being settled or its outcome is unknown. `settled`: the payment is confirmed, and no
 * request is sending the answer yet. `spent`: a request is sending the answer, or has sent it.
 */
export type ClaimState = "reserved" | "settling" | "settled" | "spent";

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

/** The use of one payment for one call or pack, for either kind of proof. */
export interface ClaimRecord {
  _id: string;
  network: Network;
  /** Lower case, like every address here. */
  token: string;
  payer: string;
  payTo: string;
  /** Units of the token. */
  amount: string;
  /** The transfer: known from the start for a transaction hash, else once the payment is settled. */
  txHash?: string;
  /** Position of the transfer among the logs of its receipt. */
  position?: number;
  /** The EIP-3009 authorisation that moved the tokens. */
  nonce?: string;
  payment?: StoredPayment;
  agentId: string;
  /** Id of the API key that the request came with: only this key gets the answer again. Older claims have none. */
  keyId?: string;
  /** Id that the client has given the payment. A key gives each id to one payment. */
  paymentId?: string;
  /** Hash of caller, route and input: a payment pays for one request. */
  requestHash: string;
  /** Id that the request's `Idempotency-Key` gives it: the same for all repeats, and for no other request. */
  operationId?: string;
  /** Calls to credit when the payment is confirmed. */
  pack?: { class: CallClass; calls: number };
  state: ClaimState;
  /** True while the answer of the call hasn't been sent to the caller. */
  responsePending?: boolean;
  /** Random token of the request or worker that holds the lease. */
  owner: string;
  leaseEndsAt: Date;
  /** When the operation began, and its random seed: a request that runs again is the same operation. */
  startedAt: Date;
  seed: string;
  runs: number;
  spentAt?: Date;
}

export type ClaimModel = Model<ClaimRecord>;

/** A stored answer that awaits its payment, or a repeat by a client that lost it. */
export interface KeptAnswerRecord extends StoredAnswer {
  /** The claim's id. */
  _id: string;
  requestHash: string;
  /** When MongoDB deletes it. */
  expiresAt: Date;
}

export type KeptAnswerModel = Model<KeptAnswerRecord>;

const required = { required: true } as const;
const text = { type: String, ...required } as const;

/** Declares the collection of claims. */
export function claimModel(connection: Connection): ClaimModel {
  const schema = new Schema<ClaimRecord>(
    {
      _id: text,
      network: { ...text, enum: NETWORKS },
      token: text,
      payer: text,
      payTo: text,
      amount: text,
      txHash: String,
      position: Number,
      nonce: String,
      payment: Schema.Types.Mixed,
      agentId: text,
      keyId: String,
      paymentId: String,
      requestHash: text,
      operationId: String,
      pack: { type: new Schema({ class: { ...text, enum: CALL_CLASSES }, calls: Number }, { _id: false }) },
      state: { ...text, enum: ["reserved", "settling", "settled", "spent"] },
      responsePending: Boolean,
      owner: text,
      leaseEndsAt: { type: Date, ...required },
      startedAt: { type: Date, ...required },
      seed: text,
      runs: { type: Number, ...required },
      spentAt: Date,
    },
    { collection: "x402_claims", versionKey: false, strict: "throw" },
  );
  // A transfer pays once, and so does an authorisation, even if a second proof names the same payment in the other way.
  schema.index(
    { network: 1, txHash: 1, position: 1 },
    { unique: true, partialFilterExpression: { txHash: { $exists: true } } },
  );
  schema.index(
    { network: 1, token: 1, payer: 1, nonce: 1 },
    { unique: true, partialFilterExpression: { nonce: { $exists: true } } },
  );
  schema.index({ keyId: 1, paymentId: 1 }, { unique: true, partialFilterExpression: { paymentId: { $exists: true } } });
  schema.index(
    { agentId: 1, requestHash: 1 },
    { partialFilterExpression: { responsePending: true }, name: "response_pending" },
  );
  schema.index({ operationId: 1 }, { partialFilterExpression: { operationId: { $exists: true } } });
  schema.index({ leaseEndsAt: 1 }, { partialFilterExpression: { state: "settling" } });
  schema.index(
    { network: 1, token: 1, payer: 1, state: 1 },
    { partialFilterExpression: { state: { $in: [...UNPAID_STATES] } } },
  );
  schema.index(
    { network: 1, token: 1, payer: 1, spentAt: 1 },
    { partialFilterExpression: { payment: { $exists: true } } },
  );
  return connection.model<ClaimRecord>("X402Claim", schema);
}

/** The last transaction that a settlement key has signed on a network. The id is `network:address`. */
export interface LastTransactionRecord {
  _id: string;
  nonce: number;
  raw: `0x${string}`;
}

export type LastTransactionModel = Model<LastTransactionRecord>;

/** Declares the collection of last transactions. */
export function lastTransactionModel(connection: Connection): LastTransactionModel {
  const schema = new Schema<LastTransactionRecord>(
    { _id: text, nonce: { type: Number, ...required }, raw: text },
    { collection: "x402_last_transactions", versionKey: false, strict: "throw" },
  );
  return connection.model<LastTransactionRecord>("X402LastTransaction", schema);
}

/** Declares the collection of answers. */
export function keptAnswerModel(connection: Connection): KeptAnswerModel {
  const schema = new Schema<KeptAnswerRecord>(
    {
      _id: text,
      requestHash: text,
      status: { type: Number, ...required },
      type: { type: String, default: null },
      headers: { type: Schema.Types.Mixed, default: {} },
      body: { type: String, default: "" },
      isBase64: { type: Boolean, ...required },
      expiresAt: { type: Date, ...required },
    },
    { collection: "x402_answers", versionKey: false, strict: "throw", minimize: false },
  );
  schema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
  return connection.model<KeptAnswerRecord>("X402Answer", schema);
}
