import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { DISPUTE_OUTCOMES, ESCROW_STATES, RESOLUTION_METHODS, RESOLVED_BY } from "../../indexer/schemas.ts";
import type {
  DisputeOutcome,
  EscrowEventType,
  EscrowState,
  ResolutionMethod,
  ResolvedBy,
} from "../../indexer/schemas.ts";

/** Status values of a transaction. */
export const TRANSACTION_STATUSES = [
  "pending_funding",
  "funded",
  "delivered",
  "released",
  "refunded",
  "disputed",
  "resolved",
  "abandoned",
  "expired",
] as const;
export type TransactionStatus = (typeof TRANSACTION_STATUSES)[number];

/** One move of the escrow on chain. `at` is in unix seconds. */
export interface ChainMove {
  type: EscrowEventType;
  at: number;
  txHash: `0x${string}`;
  blockNumber: number;
}

/** The escrow in the subgraph. Times are in unix seconds, amounts in token units as decimal strings. */
export interface EscrowSnapshot {
  state: EscrowState;
  valueUsd: string;
  proofHash: `0x${string}` | null;
  createdAt: number;
  createdTxHash: `0x${string}`;
  deliveredAt: number | null;
  /** Last second in which the buyer may accept or dispute; null before the delivery. */
  windowEnd: number | null;
  disputedAt: number | null;
  settledAt: number | null;
  /** True if the end of the dispute window released the funds; null without a release. */
  automatic: boolean | null;
  outcome: DisputeOutcome | null;
  buyerPercent: number | null;
  /** Who resolved the dispute, how, and the hash of the ruling document. */
  resolvedBy: ResolvedBy | null;
  resolutionMethod: ResolutionMethod | null;
  rationaleHash: `0x${string}` | null;
  buyerAmount: string;
  sellerAmount: string;
  updatedBlock: number;
  moves: ChainMove[];
}

/** The token that a transaction settles in. */
export interface SettlementToken {
  symbol: string;
  address: `0x${string}`;
  decimals: number;
}

/**
 * A deal between two agents. Checkout fixes the terms. `escrow` is a copy of the chain's state, which the follower updates
 * for lists. The subgraph is authoritative.
 */
export interface TransactionRecord {
  /** `txn_…` */
  _id: string;
  /** True for an escrow that was created on chain without a checkout. */
  unsolicited: boolean;
  serviceId: string | null;
  serviceTitle: string | null;
  deliveryType: string | null;
  /** The listing's category at checkout; null without a checkout. */
  category: string | null;
  /** Null only for an unsolicited escrow from an unregistered wallet. */
  buyerAgentId: string | null;
  sellerAgentId: string | null;
  buyerAddress: `0x${string}`;
  sellerAddress: `0x${string}`;
  network: Network;
  chainId: number;
  /** bytes32, lower case */
  escrowId: `0x${string}`;
  escrowContract: `0x${string}`;
  token: SettlementToken;
  quantity: number;
  /** Gross deposit, fee, and the amount that the escrow holds, in token units as decimal strings. */
  amount: string;
  platformFee: string;
  lockedAmount: string;
  criteriaHash: `0x${string}`;
  /** JSON text of the criteria document; null without a checkout. */
  criteriaJson: string | null;
  /** Seconds. */
  disputeWindow: number;
  /** Seconds. */
  abandonmentGrace: number;
  /** Last second in which the seller may deliver, in unix seconds. */
  deadline: number;
  /** Last second in which the terms may be funded, in unix seconds; null without a checkout. */
  quoteExpiresAt: number | null;
  callbackUrl: string | null;
  /** JSON texts, because free-form documents are kept as received, with any keys and numbers. */
  requestPayloadJson: string | null;
  responsePayloadJson: string | null;
  /** SHA-256 of the canonical JSON of the response payload, 0x hex. */
  deliveryProof: `0x${string}` | null;
  /** When the seller submitted the payload, by the chain's clock if that is ahead of the service's. */
  payloadReceivedAt: Date | null;
  /**
   * Time, in unix seconds, of a delivery whose payload wasn't submitted in time. The service doesn't finalize its escrow,
   * and has notified the buyer.
   */
  buyerNotifiedAt?: number;
  status: TransactionStatus;
  /** The reason why a transaction is `expired`: its quote ended, or its escrow id was taken. */
  expiredBy: "quote" | "escrow_id_taken" | null;
  escrow: EscrowSnapshot | null;
  /** The block that a read must include: the latest one that a party has reported or been shown. */
  minBlock: number;
  createdAt: Date;
  updatedAt: Date;
}

/** The fields of a transaction that lists read. */
export type ListedTransaction = Omit<TransactionRecord, "criteriaJson">;

export type TransactionModel = Model<TransactionRecord>;

/** Statuses in which a transaction may still change. */
export const OPEN_STATUSES = [
  "pending_funding",
  "funded",
  "delivered",
  "disputed",
] as const satisfies TransactionStatus[];
/** Statuses that are final, unless a reorganisation removes a move or an expired checkout is funded late. */
export const CLOSED_STATUSES: readonly TransactionStatus[] = TRANSACTION_STATUSES.filter(
  (status) => !(OPEN_STATUSES as readonly TransactionStatus[]).includes(status),
);

const required = { required: true } as const;
const text = { type: String, ...required };
const textOrNull = { type: String, default: null };
const count = { type: Number, ...required };
const countOrNull = { type: Number, default: null };

const moveSchema = new Schema<ChainMove>(
  { type: { ...text }, at: count, txHash: text, blockNumber: count },
  { _id: false },
);

const snapshotSchema = new Schema<EscrowSnapshot>(
  {
    state: { ...text, enum: ESCROW_STATES },
    valueUsd: text,
    proofHash: textOrNull,
    createdAt: count,
    createdTxHash: text,
    deliveredAt: countOrNull,
    windowEnd: countOrNull,
    disputedAt: countOrNull,
    settledAt: countOrNull,
    automatic: { type: Boolean, default: null },
    outcome: { type: String, enum: [...DISPUTE_OUTCOMES, null], default: null },
    buyerPercent: countOrNull,
    resolvedBy: { type: String, enum: [...RESOLVED_BY, null], default: null },
    resolutionMethod: { type: String, enum: [...RESOLUTION_METHODS, null], default: null },
    rationaleHash: textOrNull,
    buyerAmount: text,
    sellerAmount: text,
    updatedBlock: count,
    moves: [moveSchema],
  },
  { _id: false },
);

const schema = new Schema<TransactionRecord>(
  {
    _id: text,
    unsolicited: { type: Boolean, ...required },
    serviceId: textOrNull,
    serviceTitle: textOrNull,
    deliveryType: textOrNull,
    category: textOrNull,
    buyerAgentId: textOrNull,
    sellerAgentId: textOrNull,
    buyerAddress: text,
    sellerAddress: text,
    network: { ...text, enum: NETWORKS },
    chainId: count,
    escrowId: text,
    escrowContract: text,
    token: {
      type: new Schema<SettlementToken>({ symbol: text, address: text, decimals: count }, { _id: false }),
      ...required,
    },
    quantity: count,
    amount: text,
    platformFee: text,
    lockedAmount: text,
    criteriaHash: text,
    criteriaJson: textOrNull,
    disputeWindow: count,
    abandonmentGrace: count,
    deadline: count,
    quoteExpiresAt: countOrNull,
    callbackUrl: textOrNull,
    requestPayloadJson: textOrNull,
    responsePayloadJson: textOrNull,
    deliveryProof: textOrNull,
    payloadReceivedAt: { type: Date, default: null },
    buyerNotifiedAt: Number,
    status: { ...text, enum: TRANSACTION_STATUSES },
    expiredBy: { type: String, enum: ["quote", "escrow_id_taken", null], default: null },
    escrow: { type: snapshotSchema, default: null },
    minBlock: count,
    createdAt: { type: Date, ...required },
    updatedAt: { type: Date, ...required },
  },
  { collection: "transactions", versionKey: false, strict: "throw" },
);
// If another party takes an escrow id, that escrow is a second, unsolicited record beside the checkout that lost it.
schema.index({ network: 1, escrowId: 1, unsolicited: 1 }, { unique: true });
/*
 * Indexes for lists (see byCopy in list-reader.ts). Every move of an escrow rewrites its entries in each index with
 * `status`, so each side has two indexes instead of one per filter. `network` and `status` have few values: a list without
 * one of these filters merges the ranges of all its values in order. Each service has its own range, so a busy service
 * doesn't slow down another's list. A seller's list never reads the ranges of unfunded checkouts.
 */
schema.index({ buyerAgentId: 1, network: 1, status: 1, _id: -1 });
schema.index({ sellerAgentId: 1, network: 1, status: 1, _id: -1 });
schema.index({ buyerAgentId: 1, serviceId: 1, network: 1, status: 1, _id: -1 });
schema.index({ sellerAgentId: 1, serviceId: 1, network: 1, status: 1, _id: -1 });
// Records whose reported block the follower hasn't reached yet: few, usually none.
schema.index({ buyerAgentId: 1, network: 1, minBlock: 1 });
schema.index({ sellerAgentId: 1, network: 1, minBlock: 1 });
schema.index({ network: 1, status: 1, quoteExpiresAt: 1 });
// For the keeper: deliveries by the end of their windows, and those without a payload by their time.
const whileDelivered = { partialFilterExpression: { status: "delivered" } } as const;
schema.index({ network: 1, buyerNotifiedAt: 1, "escrow.windowEnd": 1, _id: 1 }, whileDelivered);
schema.index({ network: 1, buyerNotifiedAt: 1, payloadReceivedAt: 1, "escrow.deliveredAt": 1 }, whileDelivered);
/** Covering index of the market figures, which read no documents. Contains only escrows that have ended. */
export const MARKET_INDEX: Readonly<Record<string, 1>> = {
  network: 1,
  "escrow.settledAt": 1,
  category: 1,
  status: 1,
  buyerAddress: 1,
  sellerAddress: 1,
  quantity: 1,
  lockedAmount: 1,
  "escrow.valueUsd": 1,
  "escrow.sellerAmount": 1,
  "escrow.createdAt": 1,
  "escrow.deliveredAt": 1,
  "escrow.disputedAt": 1,
};
schema.index({ ...MARKET_INDEX }, { name: "market", partialFilterExpression: { "escrow.settledAt": { $gt: 0 } } });

/** Covering index of the outcomes of checkouts' escrows, so that counting declines reads no documents. */
export const CHECKOUT_OUTCOMES_INDEX = "checkout-outcomes";
schema.index(
  {
    network: 1,
    sellerAddress: 1,
    status: 1,
    "escrow.settledAt": 1,
    deadline: 1,
    "escrow.createdAt": 1,
    quoteExpiresAt: 1,
    buyerAddress: 1,
    unsolicited: 1,
  },
  {
    name: CHECKOUT_OUTCOMES_INDEX,
    partialFilterExpression: { unsolicited: false, "escrow.settledAt": { $gt: 0 } },
  },
);

// For the reconciliation: open transactions in the order of their ids.
export const OPEN_TRANSACTIONS_INDEX = "open";
schema.index(
  { network: 1, _id: 1 },
  { name: OPEN_TRANSACTIONS_INDEX, partialFilterExpression: { status: { $in: [...OPEN_STATUSES] } } },
);

/** The collection of transactions. */
export function transactionModel(connection: Connection): TransactionModel {
  return connection.model<TransactionRecord>("Transaction", schema);
}
