import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import { collection, date, flag, listOf, nullable, number, oneOf, optional, part, text } from "../../db/records.ts";
import { textOf } from "../../db/records.ts";
import type { Indexes, RecordOf } from "../../db/records.ts";
import { DISPUTE_OUTCOMES, ESCROW_STATES, RESOLUTION_METHODS, RESOLVED_BY } from "../../indexer/schemas.ts";
import type { EscrowEventType } from "../../indexer/schemas.ts";
import { countFields } from "../mandates/model.ts";

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
const moveFields = {
  type: textOf<EscrowEventType>(),
  at: number,
  txHash: textOf<`0x${string}`>(),
  blockNumber: number,
};
export type ChainMove = RecordOf<typeof moveFields>;

/** The escrow in the subgraph. Times are in unix seconds, amounts in token units as decimal strings. */
const snapshotFields = {
  state: oneOf(ESCROW_STATES),
  valueUsd: text,
  proofHash: nullable(textOf<`0x${string}`>()),
  createdAt: number,
  createdTxHash: textOf<`0x${string}`>(),
  deliveredAt: nullable(number),
  /** Last second in which the buyer may accept or dispute; null before the delivery. */
  windowEnd: nullable(number),
  disputedAt: nullable(number),
  settledAt: nullable(number),
  /** True if the end of the dispute window released the funds; null without a release. */
  automatic: nullable(flag),
  outcome: nullable(oneOf(DISPUTE_OUTCOMES)),
  buyerPercent: nullable(number),
  /** Who resolved the dispute, how, and the hash of the ruling document. */
  resolvedBy: nullable(oneOf(RESOLVED_BY)),
  resolutionMethod: nullable(oneOf(RESOLUTION_METHODS)),
  rationaleHash: nullable(textOf<`0x${string}`>()),
  buyerAmount: text,
  sellerAmount: text,
  updatedBlock: number,
  moves: listOf(part(moveFields)),
};
export type EscrowSnapshot = RecordOf<typeof snapshotFields>;

/** The token that a transaction settles in. */
const tokenFields = {
  symbol: text,
  address: textOf<`0x${string}`>(),
  decimals: number,
};

/**
 * A deal between two agents. Checkout fixes the terms. `escrow` is a copy of the chain's state, which the follower updates
 * for lists. The subgraph is authoritative.
 */
const transactionFields = {
  /** `txn_…` */
  _id: text,
  /** True for an escrow that was created on chain without a checkout. */
  unsolicited: flag,
  serviceId: nullable(text),
  serviceTitle: nullable(text),
  deliveryType: nullable(text),
  /** The listing's category at checkout; null without a checkout. */
  category: nullable(text),
  /** Null only for an unsolicited escrow from an unregistered wallet. */
  buyerAgentId: nullable(text),
  sellerAgentId: nullable(text),
  buyerAddress: textOf<`0x${string}`>(),
  sellerAddress: textOf<`0x${string}`>(),
  network: oneOf(NETWORKS),
  chainId: number,
  /** bytes32, lower case */
  escrowId: textOf<`0x${string}`>(),
  escrowContract: textOf<`0x${string}`>(),
  token: part(tokenFields),
  quantity: number,
  /** Gross deposit, fee, and the amount that the escrow holds, in token units as decimal strings. */
  amount: text,
  platformFee: text,
  lockedAmount: text,
  criteriaHash: textOf<`0x${string}`>(),
  /** JSON text of the criteria document; null without a checkout. */
  criteriaJson: nullable(text),
  /** Seconds. */
  disputeWindow: number,
  /** Seconds. */
  abandonmentGrace: number,
  /** Last second in which the seller may deliver, in unix seconds. */
  deadline: number,
  /** Last second in which the terms may be funded, in unix seconds; null without a checkout. */
  quoteExpiresAt: nullable(number),
  callbackUrl: nullable(text),
  /** What the buyer calls this purchase. Only the last deal of an intent has it. */
  intentId: optional(text),
  /** Hash of buyer, service and request payload, of a deal with an intent: equal hashes look like one purchase. */
  orderHash: optional(text),
  /** What the deal counts against the mandate of the key that checked it out: nothing while the deal is expired. */
  mandate: optional(part(countFields)),
  /** JSON texts, because free-form documents are kept as received, with any keys and numbers. */
  requestPayloadJson: nullable(text),
  responsePayloadJson: nullable(text),
  /** SHA-256 of the canonical JSON of the response payload, 0x hex. */
  deliveryProof: nullable(textOf<`0x${string}`>()),
  /** When the seller submitted the payload, by the chain's clock if that is ahead of the service's. */
  payloadReceivedAt: nullable(date),
  /**
   * Time, in unix seconds, of a delivery whose payload wasn't submitted in time. The service doesn't finalize its escrow,
   * and has notified the buyer.
   */
  buyerNotifiedAt: optional(number),
  status: oneOf(TRANSACTION_STATUSES),
  /** The reason why a transaction is `expired`: its quote ended, or its escrow id was taken. */
  expiredBy: nullable(oneOf(["quote", "escrow_id_taken"])),
  escrow: nullable(part(snapshotFields)),
  /** The block that a read must include: the latest one that a party has reported or been shown. */
  minBlock: number,
  createdAt: date,
  updatedAt: date,
};
export type TransactionRecord = RecordOf<typeof transactionFields>;

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
/** Covering index of the outcomes of checkouts' escrows, so that counting declines reads no documents. */
export const CHECKOUT_OUTCOMES_INDEX = "checkout-outcomes";
/** Covering index of the disputes that have ended: their public list reads it in order, and their statistics no documents. */
export const RESOLVED_INDEX = "resolved";
/** Index of the open transactions in the order of their ids, for the reconciliation. */
export const OPEN_TRANSACTIONS_INDEX = "open";
const whileDelivered = { partialFilterExpression: { status: "delivered" } } as const;

/** The planner uses this filter for queries by a string. It wouldn't use `$type`. */
const given = (field: string) => ({ [field]: { $gt: "" } });

const INDEXES: Indexes = [
  // If another party takes an escrow id, that escrow is a second, unsolicited record beside the checkout that lost it.
  [{ network: 1, escrowId: 1, unsolicited: 1 }, { unique: true }],
  /*
   * Indexes for lists (see byCopy in list-reader.ts). Every move of an escrow rewrites its entries in each index with
   * `status`, so each side has two indexes instead of one per filter. `network` and `status` have few values: a list without
   * one of these filters merges the ranges of all its values in order. Each service has its own range, so a busy service
   * doesn't slow down another's list. A seller's list never reads the ranges of unfunded checkouts.
   */
  [{ buyerAgentId: 1, network: 1, status: 1, _id: -1 }],
  [{ sellerAgentId: 1, network: 1, status: 1, _id: -1 }],
  [{ buyerAgentId: 1, serviceId: 1, network: 1, status: 1, _id: -1 }],
  [{ sellerAgentId: 1, serviceId: 1, network: 1, status: 1, _id: -1 }],
  // Records whose reported block the follower hasn't reached yet: few, usually none.
  [{ buyerAgentId: 1, network: 1, minBlock: 1 }],
  [{ sellerAgentId: 1, network: 1, minBlock: 1 }],
  [{ network: 1, status: 1, quoteExpiresAt: 1 }],
  // The collection of intents keeps an id to one deal.
  [{ buyerAgentId: 1, intentId: 1 }, { partialFilterExpression: given("intentId") }],
  [{ orderHash: 1, status: 1 }, { partialFilterExpression: given("orderHash") }],
  // For the keeper: deliveries by the end of their windows, and those without a payload by their time.
  [{ network: 1, buyerNotifiedAt: 1, "escrow.windowEnd": 1, _id: 1 }, whileDelivered],
  [{ network: 1, buyerNotifiedAt: 1, payloadReceivedAt: 1, "escrow.deliveredAt": 1 }, whileDelivered],
  [{ ...MARKET_INDEX }, { name: "market", partialFilterExpression: { "escrow.settledAt": { $gt: 0 } } }],

  [
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
  ],

  [
    {
      network: 1,
      "escrow.settledAt": -1,
      _id: -1,
      status: 1,
      "escrow.outcome": 1,
      "escrow.resolutionMethod": 1,
      "escrow.resolvedBy": 1,
      "escrow.disputedAt": 1,
    },
    { name: RESOLVED_INDEX, partialFilterExpression: { status: "resolved" } },
  ],

  [
    { network: 1, _id: 1 },
    { name: OPEN_TRANSACTIONS_INDEX, partialFilterExpression: { status: { $in: [...OPEN_STATUSES] } } },
  ],
];

/** The collection of transactions. */
export function transactionModel(connection: Connection): TransactionModel {
  return collection(connection, "Transaction", "transactions", transactionFields, INDEXES);
}
