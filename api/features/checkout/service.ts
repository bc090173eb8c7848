import { randomBytes } from "node:crypto";

import type { ClientSession, Connection } from "mongoose";
import { getAddress } from "viem";

import type { ChainClient } from "../../chain/chain-client.ts";
import { QUOTE_SECONDS } from "../../config/constants.ts";
import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import type { KyaLevel, Network } from "../../config/constants.ts";
import { ApiError, validationError } from "../../http/errors.ts";
import type { Caller } from "../../http/define-route.ts";
import type { Operation } from "../../http/operation.ts";
import { actsByMandate } from "../../http/page-session.ts";
import { canonicalJson } from "../../lib/canonical-json.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId, sha256Hex } from "../../lib/ids.ts";
import type { TradeGate } from "../agents/trade-gate.ts";
import type { Approvals, RequestedApproval } from "../approvals/approvals.ts";
import { criteriaDocument, hashCriteria } from "../criteria/document.ts";
import type { BuyerCriteria } from "../criteria/document.ts";
import { EvaluatorUnavailableError } from "../criteria/evaluator.ts";
import type { CriteriaEvaluator } from "../criteria/evaluator.ts";
import type { Listing } from "../listings/listing.ts";
import { ApprovalNeededError } from "../mandates/ledger.ts";
import type { MandateLedger, Spending } from "../mandates/ledger.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import { UNFUNDED } from "../transactions/reader.ts";
import { readSigning } from "./gasless.ts";
import type { FundingSignature } from "./gasless.ts";
import { readLimits, requireBalance, requireGraduation, requireVerifiedBuyer, requireWithinLimits } from "./gates.ts";
import { purchaseOf } from "./purchases.ts";
import type { PurchasedDeal, Purchases } from "./purchases.ts";
import { quoteListing } from "./quote.ts";
import type { Order } from "./schemas.ts";

/** A transaction that waits for its funding, or that an earlier request under the same intent made. */
export interface CheckedOut {
  record: TransactionRecord;
  /** Whether the chain may still accept its funding. */
  isFundable: boolean;
  /** Whether the buyer can fund it by a signature. */
  signing: FundingSignature;
  /** Value of the deposit in US dollars with 6 decimals. */
  valueUsd: bigint;
}

/** Dependencies of the checkout service. */
export interface CheckoutOptions {
  /** @throws ApiError `not_found` */
  findListing: (serviceId: string) => Promise<Listing>;
  gate: Pick<TradeGate, "pass">;
  kyaLevelOf: (agentId: string) => Promise<KyaLevel>;
  evaluator: CriteriaEvaluator;
  transactions: TransactionModel;
  purchases: Purchases;
  connection: Connection;
  ledger: MandateLedger;
  approvals: Pick<Approvals, "ask">;
  chains: Readonly<Record<Network, ChainClient>>;
  clock: Clock;
}

const ESCROW_ID_BYTES = 32;
const RETRY_SECONDS = 5;
/** Times that a checkout is tried whose approval was granted, or whose mandate got room, just when it was refused. */
const APPROVAL_ATTEMPTS = 3;

/** The checks that need no chain. @throws ApiError for the first that fails */
function requireOrderable(listing: Listing, buyer: Caller, order: Order): void {
  if (listing.moderation?.state === "hidden") throw new ApiError("listing_hidden");
  if (listing.status !== "active") throw new ApiError("service_not_active", { details: { status: listing.status } });
  if (listing.sellerAgentId === buyer.agentId) throw new ApiError("self_purchase");
  if (order.network !== undefined && order.network !== listing.network) {
    const details = { serviceNetwork: listing.network, requestedNetwork: order.network };
    throw new ApiError("network_mismatch", { details });
  }
  if (listing.callbackRequired && order.callbackUrl === undefined) throw new ApiError("callback_url_required");
}

/** @throws ApiError `validation_error` naming the parts that can't be evaluated, `criteria_check_unavailable` */
async function requireUsableCriteria(buyer: Caller, criteria: BuyerCriteria, evaluator: CriteriaEvaluator) {
  try {
    const faults = await evaluator.faults(buyer.agentId, criteria);
    if (faults.length === 0) return;
    throw validationError(faults.map(({ path, message }) => ({ path: `body.criteria.${path}`, message })));
  } catch (error) {
    if (!(error instanceof EvaluatorUnavailableError)) throw error;
    throw new ApiError("criteria_check_unavailable", { retryAfterSeconds: RETRY_SECONDS, cause: error });
  }
}

/** An order as an approval knows it. */
function approvableRequest(order: Order): { requestHash: `0x${string}`; requestJson: string } {
  const requestJson = JSON.stringify(order);
  return { requestHash: `0x${sha256Hex(canonicalJson(JSON.parse(requestJson)))}`, requestJson };
}

/** Creates a transaction with the terms of its escrow. */
export function createCheckoutService(options: CheckoutOptions) {
  const { chains, transactions, purchases, clock, connection, ledger, approvals, gate } = options;

  /** The later of the chain's clock and ours: a deadline must hold for both. */
  async function chainNow(chain: ChainClient): Promise<number> {
    const head = await chain.head();
    return Math.max(head.timestamp, toUnixSeconds(clock.now()));
  }

  /** A checkout whose record exists, with what its buyer can still do about it. */
  async function checkedOut({ record, isDead }: PurchasedDeal): Promise<CheckedOut> {
    const { buyerAddress: buyer, sellerAddress: seller, token, escrow } = record;
    const chain = chains[record.network];
    const isFundable = !isDead && UNFUNDED.includes(record.status) && record.expiredBy !== "escrow_id_taken";
    const isQuoteOpen = isFundable && (record.quoteExpiresAt ?? 0) >= (await chainNow(chain));
    const [signing, { valueUsd }] = await Promise.all([
      isQuoteOpen ? readSigning(chain, token.address, buyer) : ({ obstacle: "no_open_quote" } as const),
      escrow === null
        ? readLimits(chain, { buyer, seller }, { token, amount: BigInt(record.amount) })
        : { valueUsd: BigInt(escrow.valueUsd) },
    ]);
    return { record, isFundable, signing, valueUsd };
  }

  /** The checkout that an earlier request of this operation created before its process was killed; undefined if none. */
  async function alreadyCreated(transactionId: string): Promise<CheckedOut | undefined> {
    const record = await transactions.findById(transactionId).lean();
    return record === null ? undefined : checkedOut({ record, isDead: false });
  }

  /**
   * Stores a deal in a database transaction that also counts it against the mandate of the buyer's key, if it has one.
   * @throws ApiError `mandate_exceeded`; ApprovalNeededError
   */
  function counting(buyer: Caller, spending: Spending, requestHash: `0x${string}`) {
    return async (record: TransactionRecord, session: ClientSession): Promise<void> => {
      const order = { requestHash, transactionId: record._id };
      const mandate = actsByMandate(buyer)
        ? { mandate: await ledger.reserve(buyer.keyId, spending, record.createdAt, session, order) }
        : {};
      await transactions.create([{ ...record, ...mandate }], { session });
    };
  }

  /** Stores a deal; undefined if this request stored it, else the one that another request stored first. */
  async function storedFirst(
    record: TransactionRecord,
    store: () => Promise<unknown>,
  ): Promise<CheckedOut | undefined> {
    try {
      await store();
      return undefined;
    } catch (error) {
      // The same operation went on in another process while this one was paused.
      const other = isDuplicateKey(error, "_id") ? await alreadyCreated(record._id) : undefined;
      if (other === undefined) throw error;
      return other;
    }
  }

  /** Stores a deal, or asks the wallet of the buyer's mandate to approve it. @throws ApiError `approval_limit_reached` */
  async function approved<Stored>(
    buyer: Caller,
    checkout: Parameters<Approvals["ask"]>[1],
    store: () => Promise<Stored>,
  ): Promise<Stored | RequestedApproval> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await store();
      } catch (error) {
        if (!(error instanceof ApprovalNeededError)) throw error;
        const asked = await approvals.ask(buyer, checkout);
        if (asked !== undefined) return asked;
        if (attempt === APPROVAL_ATTEMPTS) throw new ApiError("request_in_progress", { retryAfterSeconds: 1 });
      }
    }
  }

  return {
    /**
     * With an intent, the deal that an earlier request of the same purchase created. It is replaced if it was never funded
     * and can't be any more.
     * @returns the approval that is needed first, for an order above a mandate whose wallet may approve it
     * @throws ApiError `intent_conflict`, `looks_like_a_repeat`, `mandate_exceeded`, `approval_limit_reached`, and for an order that can't be taken
     */
    async checkout(
      buyer: Caller,
      order: Order,
      operation: Operation,
      signal: AbortSignal,
    ): Promise<CheckedOut | RequestedApproval> {
      const createdAt = clock.now();
      const purchase = purchaseOf(buyer.agentId, order);
      const bought = purchase === undefined ? undefined : await purchases.find(purchase, signal);
      if (bought !== undefined && !bought.isDead) return checkedOut(bought);
      // The id of the operation may be that of the dead deal.
      const transactionId = bought === undefined ? operation.newId("txn", createdAt) : newId("txn", createdAt);
      const earlier = purchase === undefined && operation.isRepeat ? await alreadyCreated(transactionId) : undefined;
      if (earlier !== undefined) return earlier;
      if (purchase !== undefined) await purchases.requireNew(purchase);
      const listing = await options.findListing(order.serviceId);
      requireOrderable(listing, buyer, order);
      await gate.pass({ buyerAgentId: buyer.agentId, sellerAgentId: listing.sellerAgentId });
      await requireUsableCriteria(buyer, order.criteria ?? {}, options.evaluator);
      const chain = chains[listing.network];
      await requireGraduation(listing.network, buyer.walletAddress, chains);
      const now = await chainNow(chain);
      const quote = await quoteListing(chain, listing, order, now);
      const parties = { buyer: buyer.walletAddress, seller: listing.sellerAddress };
      const { valueUsd } = await requireWithinLimits(chain, parties, quote, order.deliveryDeadlineSeconds);
      await requireVerifiedBuyer(valueUsd, () => options.kyaLevelOf(buyer.agentId));
      await requireBalance(chain, buyer.walletAddress, quote);

      const { schema, checks = [] } = order.criteria ?? {};
      const { network, category, sellerAddress: seller } = listing;
      const deal = { category, seller, hasCriteria: schema !== undefined || checks.length > 0 };
      const spending = { usd: valueUsd, network, deal };
      const request = approvableRequest(order);
      const insert = counting(buyer, spending, request.requestHash);
      const signing = await readSigning(chain, quote.token.address, getAddress(buyer.walletAddress));
      const document = criteriaDocument(listing, order);
      const record: TransactionRecord = {
        _id: transactionId,
        unsolicited: false,
        serviceId: listing.id,
        serviceTitle: listing.title,
        deliveryType: listing.deliveryType,
        category: listing.category,
        buyerAgentId: buyer.agentId,
        sellerAgentId: listing.sellerAgentId,
        buyerAddress: getAddress(buyer.walletAddress),
        sellerAddress: getAddress(listing.sellerAddress),
        network: listing.network,
        chainId: chain.chainId,
        escrowId: `0x${randomBytes(ESCROW_ID_BYTES).toString("hex")}`,
        escrowContract: chain.deployment.escrow,
        token: { symbol: quote.token.symbol, address: quote.token.address, decimals: quote.token.decimals },
        quantity: order.quantity,
        amount: quote.amount.toString(),
        platformFee: quote.fee.toString(),
        lockedAmount: quote.locked.toString(),
        criteriaHash: hashCriteria(document),
        criteriaJson: JSON.stringify(document),
        disputeWindow: order.disputeWindow,
        abandonmentGrace: order.abandonmentGrace,
        deadline: now + order.deliveryDeadlineSeconds,
        quoteExpiresAt: now + QUOTE_SECONDS,
        callbackUrl: order.callbackUrl ?? null,
        requestPayloadJson: order.requestPayload === undefined ? null : JSON.stringify(order.requestPayload),
        responsePayloadJson: null,
        deliveryProof: null,
        payloadReceivedAt: null,
        status: "pending_funding",
        expiredBy: null,
        escrow: null,
        minBlock: 0,
        createdAt,
        updatedAt: createdAt,
      };
      const created = { record, isFundable: true, signing, valueUsd };
      const shown = { serviceTitle: listing.title, sellerAddress: record.sellerAddress };
      return approved(buyer, { ...request, ...shown, spending }, async () => {
        if (purchase === undefined) {
          const other = await storedFirst(record, () =>
            actsByMandate(buyer)
              ? withTransaction(connection, (session) => insert(record, session))
              : transactions.create([record]),
          );
          return other ?? created;
        }
        const stored = await purchases.store(purchase, record, bought?.record, insert, signal);
        return stored.record._id === record._id ? { ...created, record: stored.record } : checkedOut(stored);
      });
    },
  };
}

/** Creates transactions at checkout. */
export type CheckoutService = ReturnType<typeof createCheckoutService>;
