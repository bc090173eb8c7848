import type { ChainTime } from "../../chain/chain-time.ts";
import type { ChainClient } from "../../chain/chain-client.ts";
import type { Network } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import { EvaluatorUnavailableError } from "../criteria/evaluator.ts";
import type { CriteriaEvaluator } from "../criteria/evaluator.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import { disputeCase, hasDispute } from "./case-of.ts";
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

/** Rules a dispute as an admin (decision 8). The first ruling counts, the system's or an admin's. */
export function createAdminRuling(options: AdminRulingOptions) {
  const { disputes, transactions, evaluator, store, progress, chains, chainTimes, now } = options;
  async function factsOf(subject: { dispute: DisputeRecord; record: TransactionRecord }, chainNow: number) {
    try {
      return await disputeCase(subject, evaluator, chainNow);
    } catch (error) {
      if (!(error instanceof EvaluatorUnavailableError)) throw error;
      throw new ApiError("criteria_check_unavailable", { retryAfterSeconds: RETRY_SECONDS, cause: error });
    }
  }

  /** An open dispute with its transaction. */
  async function read(disputeId: string): Promise<{ dispute: DisputeRecord; record: TransactionRecord }> {
    const dispute = await disputes.findById(disputeId).lean<DisputeRecord | null>();
    const record =
      dispute === null ? null : await transactions.findById(dispute.transactionId).lean<TransactionRecord | null>();
    if (dispute === null || record === null) throw new ApiError("not_found");
    if (!dispute.isOpen) {
      throw new ApiError("dispute_not_open_on_chain", { details: { status: record.status, openDispute: null } });
    }
    if (hasDispute(record, dispute)) return { dispute, record };
    // The follower hasn't applied it yet, so facts would rest on the state before it.
    throw new ApiError("indexer_unavailable", { retryAfterSeconds: RETRY_SECONDS });
  }

  return async function rule(disputeId: string, body: AdminRulingBody): Promise<DisputeReading> {
    const { outcome, rationale } = body;
    const buyerPercent = outcome === "Split" ? (body.buyerPercent ?? 0) : FIXED_PERCENT[outcome];
    const decision = { ruledBy: "admin", outcome, buyerPercent, rationale } as const;
    // The evidence is open until the ruling is stored. What a party adds meanwhile is read too, and it can add only so much.
    for (;;) {
      const { dispute, record } = await read(disputeId);
      const { network } = record;
      if (!progress.hasKey(network, "admin")) throw new ApiError("resolver_key_missing", { details: { network } });
      const chainNow = Math.max(toUnixSeconds(now()), await chainTimes[network].latest());
      const facts = await factsOf({ dispute, record }, chainNow);
      const stored = await store({ dispute, record, facts, factsAt: chainNow }, decision);
      if (stored === "changed") continue;
      const current = (await disputes.findById(disputeId).lean<DisputeRecord | null>()) ?? dispute;
      if (stored === "refused") {
        const details = { outcome: current.ruling?.outcome ?? null, ruledBy: current.ruling?.ruledBy ?? null };
        throw new ApiError("dispute_already_ruled", { details });
      }
      const resolverContract = chains[network].deployment.resolver;
      const transaction = await progress.of(disputeId);
      return { dispute: current, record, indexedBlock: null, chainNow, resolverContract, transaction };
    }
  };
}

/** Rules disputes as an admin. */
export type AdminRuling = ReturnType<typeof createAdminRuling>;
