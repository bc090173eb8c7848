import type { ClientSession, Connection } from "mongoose";
import { isAddressEqual } from "viem";

import type { ChainClient } from "../../chain/chain-client.ts";
import { CHAIN_MIN_DELIVERY_SECONDS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import { canonicalJson } from "../../lib/canonical-json.ts";
import { sha256Hex } from "../../lib/ids.ts";
import { askedOf, intentConflict } from "../intents/intents.ts";
import type { Intent, Intents } from "../intents/intents.ts";
import { EXPIRY_MARGIN_SECONDS } from "../transactions/expiry.ts";
import { OPEN_STATUSES } from "../transactions/model.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import { escrowOf, UNFUNDED } from "../transactions/reader.ts";
import { withChain } from "../transactions/snapshot.ts";
import { orderModel, takeTurn } from "./orders.ts";
import type { Order } from "./schemas.ts";

/** What a buyer wants to buy once. */
export interface Purchase extends Intent {
  /** Hash of buyer, service and request payload. */
  orderHash: string;
  /** The network that the buyer named. */
  network: Network | undefined;
  /** True if the buyer wants it although another purchase looks the same. */
  again: boolean;
}

/** The deal of a purchase. `isDead` if its terms were never funded and the chain would refuse them for ever. */
export interface PurchasedDeal {
  record: TransactionRecord;
  isDead: boolean;
}

/** Dependencies of the purchases. */
export interface PurchaseDeps {
  connection: Connection;
  intents: Intents;
  transactions: TransactionModel;
  chains: Readonly<Record<Network, ChainClient>>;
  indexers: Readonly<Record<Network, Indexer>>;
  /** How long a repeat waits for the subgraph to reach the chain's head, in milliseconds. */
  waitMs: number;
}

/** Thrown when another request has replaced the intent's deal in the meantime. */
class IntentMovedError extends Error {
  constructor() {
    super("the intent has another deal now");
    this.name = "IntentMovedError";
  }
}

/** The purchase that an order names; undefined if it names none. */
export function purchaseOf(agentId: string, order: Order): Purchase | undefined {
  const { intentId, again = false, network, ...asked } = order;
  if (intentId === undefined) return undefined;
  const orderHash = sha256Hex(canonicalJson([agentId, order.serviceId, order.requestPayload ?? null]));
  return { agentId, intentId, kind: "deal", asked: askedOf(asked), orderHash, network, again };
}

/** Keeps each purchase to one deal. */
export function createPurchases({ connection, intents, transactions, chains, indexers, waitMs }: PurchaseDeps) {
  const orders = orderModel(connection);

  /**
   * The deal as the chain has it. One that its buyer hasn't funded is dead once the latest block is so late that the
   * contract refuses its deadline, and two minutes more, in case a reorganisation moves the clock back. Time and escrow
   * are read at one block.
   */
  async function current(record: TransactionRecord, signal: AbortSignal): Promise<PurchasedDeal> {
    const { network, escrowId } = record;
    let minBlock = Math.max(record.minBlock, record.escrow?.updatedBlock ?? 0);
    const head = UNFUNDED.includes(record.status) ? await chains[network].head() : undefined;
    if (head !== undefined && head.number >= minBlock) {
      const escrow = await chains[network].escrowAt(escrowId, head.number);
      const isFunded = escrow !== null && isAddressEqual(escrow.buyer, record.buyerAddress);
      const lastFunding = record.deadline - CHAIN_MIN_DELIVERY_SECONDS;
      if (!isFunded && head.timestamp > lastFunding + EXPIRY_MARGIN_SECONDS) return { record, isDead: true };
      if (escrow === null) return { record, isDead: false };
      minBlock = head.number;
    }
    const { escrows } = await indexers[network].escrows([escrowId], { minBlock, waitMs, signal });
    return { record: withChain(record, escrowOf(record, escrows)), isDead: false };
  }

  /** @throws ApiError `looks_like_a_repeat` if another purchase of the same is open */
  async function requireNew({ orderHash, intentId, again }: Purchase, session?: ClientSession): Promise<void> {
    if (again) return;
    const like = await transactions
      .findOne({ orderHash, status: { $in: [...OPEN_STATUSES] }, intentId: { $exists: true, $ne: intentId } }, null, {
        session,
      })
      .lean();
    if (like === null) return;
    const { _id: transactionId, escrowId, status } = like;
    throw new ApiError("looks_like_a_repeat", {
      details: { transactionId, escrowId, intentId: like.intentId ?? "", status },
    });
  }

  /** The deal of a purchase; undefined if there is none yet. @throws ApiError `intent_conflict` */
  async function find(purchase: Purchase, signal: AbortSignal): Promise<PurchasedDeal | undefined> {
    const earlier = await intents.find(purchase);
    if (earlier === undefined) return undefined;
    if (earlier.kind !== "deal") throw intentConflict(purchase, earlier);
    const record = await transactions.findById(earlier.recordId).lean().orFail();
    const isElsewhere = purchase.network !== undefined && purchase.network !== record.network;
    const differs = [...earlier.differs, ...(isElsewhere ? ["network"] : [])];
    if (differs.length > 0) throw intentConflict(purchase, { ...earlier, differs }, record.escrowId);
    return current(record, signal);
  }

  return {
    find,
    requireNew,

    /**
     * Stores the deal of a purchase, in place of a dead one if there is one. Returns the deal that another request has
     * stored first, if any.
     * @param insert stores the record in the purchase's database transaction
     * @throws ApiError `intent_conflict`, `looks_like_a_repeat`
     */
    async store(
      purchase: Purchase,
      deal: TransactionRecord,
      dead: TransactionRecord | undefined,
      insert: (record: TransactionRecord, session: ClientSession) => Promise<void>,
      signal: AbortSignal,
    ): Promise<PurchasedDeal> {
      const { intentId, orderHash } = purchase;
      const record = { ...deal, intentId, orderHash };
      try {
        await withTransaction(connection, async (session) => {
          if (dead === undefined) await intents.claim(purchase, record._id, record.createdAt, session);
          else {
            if (!(await intents.move(purchase, dead._id, record._id, session))) throw new IntentMovedError();
            await transactions.updateOne({ _id: dead._id }, { $unset: { intentId: 1, orderHash: 1 } }, { session });
          }
          await takeTurn(orders, orderHash, record._id, session);
          await requireNew(purchase, session);
          await insert(record, session);
        });
        return { record, isDead: false };
      } catch (error) {
        if (!isDuplicateKey(error) && !(error instanceof IntentMovedError)) throw error;
        const other = await find(purchase, signal);
        if (other === undefined) throw error;
        return other;
      }
    },
  };
}

/** Keeps each purchase to one deal. */
export type Purchases = ReturnType<typeof createPurchases>;
