import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import { collection, date, flag, nullable, oneOf, optional, text, textOf } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** What became of an approval. It ends with its time and with its mandate, without a write. */
const STORED_STATUSES = ["open", "granted", "declined", "used", "replaced"] as const;

/** A checkout above the amounts of its key's mandate that its wallet was asked to approve. */
const approvalFields = {
  /** `apr_…` */
  _id: text,
  agentId: text,
  /** The mandate's key. */
  keyId: text,
  network: oneOf(NETWORKS),
  /** SHA-256 of the canonical JSON of the request. */
  requestHash: textOf<`0x${string}`>(),
  /** The checkout's body with its defaults, as JSON. */
  requestJson: text,
  /** Title of the service and wallet of its seller, as they were when it was asked for. */
  serviceTitle: text,
  sellerAddress: textOf<`0x${string}`>(),
  /** The amount of the mandate that the checkout is above. */
  bound: text,
  /** Value of the deposit when it was asked for, in 10⁻⁶ US dollars. */
  askedUsd: text,
  status: oneOf(STORED_STATUSES),
  /** True while the approval decides about its request, unless its time is over. Then the request may have another. */
  live: optional(flag),
  /** The most that the wallet has approved, in 10⁻⁶ US dollars; null until then. */
  maxUsd: nullable(text),
  /** The deal that used it. */
  transactionId: nullable(text),
  createdAt: date,
  /** Until then it can be granted and used. */
  expiresAt: date,
  decidedAt: nullable(date),
  /** MongoDB deletes the record after that. */
  deleteAt: date,
};
export type ApprovalRecord = RecordOf<typeof approvalFields>;
export type ApprovalModel = Model<ApprovalRecord>;

/** The collection of approvals. A request of a key has one live approval. */
export function approvalModel(connection: Connection): ApprovalModel {
  return collection(connection, "MandateApproval", "mandate_approvals", approvalFields, [
    [
      { agentId: 1, keyId: 1, requestHash: 1 },
      { unique: true, partialFilterExpression: { live: true } },
    ],
    [{ agentId: 1, _id: 1 }],
    [{ agentId: 1, keyId: 1, _id: 1 }],
    [{ deleteAt: 1 }, { expireAfterSeconds: 0 }],
  ]);
}

/** A filter for the approval that decides about a request, or for all of a key. */
export function liveApprovals(of: { agentId: string; keyId: string; requestHash?: `0x${string}` }, now: Date) {
  return { ...of, live: true, expiresAt: { $gt: now } } as const;
}
