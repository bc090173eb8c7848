import type { ChainTime } from "../../chain/chain-time.ts";
import type { ChainClient } from "../../chain/chain-client.ts";
import type { Network } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import type { Operation } from "../../http/operation.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import { EvaluatorUnavailableError } from "../criteria/evaluator.ts";
import type { CriteriaEvaluator } from "../criteria/evaluator.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import { hasDispute, loadCase } from "./load-case.ts";
import type { DisputeModel, DisputeRecord } from "./model.ts";
import type { RulingProgress } from "./ports.ts";
import type { DisputeReading } from "./presenter.ts";
import type { StoreRuling } from "./rulings.ts";
import type { AdminRulingBody } from "./schemas.ts";

/** Dependencies of an admin's rulings. */
export interface AdminRulingOptions {
  disputes: DisputeModel;
  transactions: TransactionModel;
  evaluator: CriteriaEvaluator;
  store: StoreRuling;
  progress: RulingProgress;
  chains: Readonly<Record<Network, Pick<ChainClient, "deployment">>>;
  chainTimes: Readonly<Record<Network, ChainTime>>;
  now: () => Date;
}

/** Percentage of the buyer by outcome; a Split says its own. */
const FIXED_PERCENT = { BuyerRefund: 100, SellerPaid: 0 } as const;

const RETRY_SECONDS = 5;

/** A dispute as an admin reads it before a ruling. */
export interface ReadCase {
  reading: DisputeReading;
  criteria: Record<string, unknown> | null;
  /** What was delivered; null before that. */
  payload: Record<string, unknown> | null;
}

interface Found {
  dispute: DisputeRecord;
  record: TransactionRecord;
}

/** Reads and rules disputes as an admin. */
export function createAdminRuling(options: AdminRulingOptions) {
  const { disputes, transactions, evaluator, store, progress, chains, chainTimes, now } = options;
  async function loadFacts(subject: Found, chainNow: number) {
    try {
      return await loadCase(subject, evaluator, chainNow);
    } catch (error) {
      if (!(error instanceof EvaluatorUnavailableError)) throw error;
      throw new ApiError("criteria_check_unavailable", { retryAfterSeconds: RETRY_SECONDS, cause: error });
    }
  }

  /** A dispute with its transaction. */
  async function find(disputeId: string): Promise<Found> {
    const dispute = await disputes.findById(disputeId).lean();
    const record = dispute === null ? null : await transactions.findById(dispute.transactionId).lean();
    if (dispute === null || record === null) throw new ApiError("not_found");
    return { dispute, record };
  }

  function requireOpen({ dispute, record }: Found): void {
    if (!dispute.isOpen) {
      const details = { status: record.status, openDispute: null, indexedBlock: null };
      throw new ApiError("dispute_not_open_on_chain", { details });
    }
    if (hasDispute(record, dispute)) return;
    // Its ruling may be on chain already, and the follower about to close it.
    if (dispute.ruling !== null) throw alreadyRuled(dispute);
    // The follower hasn't applied it yet, so facts would rest on the state before it.
    throw new ApiError("indexer_unavailable", { retryAfterSeconds: RETRY_SECONDS });
  }

  function alreadyRuled({ ruling }: Pick<DisputeRecord, "ruling">): ApiError {
    const details = { outcome: ruling?.outcome ?? null, ruledBy: ruling?.ruledBy ?? null };
    return new ApiError("dispute_already_ruled", { details });
  }

  const readChainNow = async (network: Network) => Math.max(toUnixSeconds(now()), await chainTimes[network].latest());

  async function loadReading({ dispute, record }: Found, chainNow: number): Promise<DisputeReading> {
    const resolverContract = chains[record.network].deployment.resolver;
    const transaction = await progress.of(dispute._id);
    return { dispute, record, indexedBlock: null, chainNow, resolverContract, transaction };
  }

  /** A dispute with what it is about. */
  async function read(disputeId: string): Promise<ReadCase> {
    const found = await find(disputeId);
    const { record, dispute } = found;
    const reading = await loadReading(found, await readChainNow(record.network));
    const parsed = (json: string | null) => (json === null ? null : (JSON.parse(json) as Record<string, unknown>));
    return {
      reading,
      criteria: parsed(record.criteriaJson ?? dispute.criteriaJson),
      payload: parsed(record.responsePayloadJson),
    };
  }

  /** The first ruling counts, the system's or an admin's. A repeat of the request that made it reads it. */
  async function rule(disputeId: string, body: AdminRulingBody, operation: Operation): Promise<DisputeReading> {
    const { outcome, rationale } = body;
    const buyerPercent = outcome === "Split" ? (body.buyerPercent ?? 0) : FIXED_PERCENT[outcome];
    const operationId = operation.isRepeatable ? operation.newId("req", now()) : undefined;
    const decision = { ruledBy: "admin", outcome, buyerPercent, rationale, operationId } as const;
    // The evidence is open until the ruling is stored. What a party adds meanwhile is read too, and it can add only so much.
    for (;;) {
      const found = await find(disputeId);
      const { network } = found.record;
      if (isRuledBy(found.dispute, operationId)) return loadReading(found, await readChainNow(network));
      requireOpen(found);
      if (!progress.hasKey(network, "admin")) throw new ApiError("resolver_key_missing", { details: { network } });
      const chainNow = await readChainNow(network);
      const disputeCase = await loadFacts(found, chainNow);
      const stored = await store({ ...found, disputeCase, factsAt: chainNow }, decision);
      if (stored === "changed") continue;
      const dispute = (await disputes.findById(disputeId).lean()) ?? found.dispute;
      // A repeat of this request may have been faster.
      if (stored === "refused" && !isRuledBy(dispute, operationId)) throw alreadyRuled(dispute);
      return loadReading({ ...found, dispute }, chainNow);
    }
  }

  return { read, rule };
}

/** Whether an operation has made the ruling. */
function isRuledBy({ ruling }: DisputeRecord, operationId: string | undefined): boolean {
  return operationId !== undefined && ruling?.operationId === operationId;
}

export type AdminRuling = ReturnType<typeof createAdminRuling>;
