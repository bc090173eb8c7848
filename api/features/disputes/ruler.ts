import { setTimeout as sleep } from "node:timers/promises";

import type { ChainTime } from "../../chain/chain-time.ts";
import type { Network } from "../../config/constants.ts";
import type { BackgroundLoop } from "../../jobs/background-loop.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { pauseAfter } from "../../lib/retry.ts";
import type { CriteriaEvaluator } from "../criteria/evaluator.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import { handoverEnd, hasDispute, loadCase } from "./load-case.ts";
import type { Judge } from "./judging/case.ts";
import type { DisputeModel, DisputeRecord } from "./model.ts";
import type { StoreRuling } from "./rulings.ts";
import type { WithdrawIfGone } from "./withdrawal.ts";

/** Durations of the ruling. Tests shorten them. */
export interface RulerTimings {
  /** Pause between looks for due rulings, in milliseconds. */
  rulingPollMs: number;
  /** How long a worker keeps a dispute that it judges after it dies, in milliseconds. It renews that while it judges. */
  judgeLeaseMs: number;
}

export const RULER_TIMINGS: RulerTimings = { rulingPollMs: 500, judgeLeaseMs: 20_000 };

/** Dependencies of the ruler of one network. */
export interface RulerOptions {
  network: Network;
  disputes: DisputeModel;
  transactions: TransactionModel;
  evaluator: CriteriaEvaluator;
  judge: Judge;
  store: StoreRuling;
  withdrawIfGone: WithdrawIfGone;
  chainTime: ChainTime;
  now: () => Date;
  log: Logger;
  timings: RulerTimings;
}

const MILLISECONDS = 1_000;
const RETRY = { minMs: 1_000, maxMs: 60_000 };
/** Disputes judged at once by one worker: most of the time is spent waiting for a model. */
const CONCURRENCY = 4;
const MAX_ERROR_LENGTH = 500;

/**
 * Rules the disputes of a network when they are due. Several workers may run it. A worker that was killed or paused past
 * its lease loses nothing but its work: the ruling is stored by one of them.
 */
export function createRuler(options: RulerOptions) {
  const { network, disputes, transactions, evaluator, judge, store, chainTime, now, log, timings } = options;

  /** Disputes that this process judges. */
  const underWay = new Set<Promise<void>>();

  /** The chain's time, which is never behind the wall clock. */
  async function chainNow(): Promise<number> {
    return Math.max(toUnixSeconds(now()), await chainTime.latest());
  }

  /** Takes a due dispute and closes its evidence. Nobody else judges it before the lease ends. */
  async function claim(time: number): Promise<DisputeRecord | undefined> {
    const at = new Date(time * MILLISECONDS);
    const claimed = await disputes
      .findOneAndUpdate(
        { network, isOpen: true, dueAt: { $type: "date", $lte: at } },
        [
          {
            $set: {
              closedAt: { $ifNull: ["$closedAt", at] },
              dueAt: new Date(at.getTime() + timings.judgeLeaseMs),
              updatedAt: now(),
            },
          },
        ],
        { sort: { dueAt: 1 }, returnDocument: "after", updatePipeline: true },
      )
      .lean<DisputeRecord | null>();
    return claimed ?? undefined;
  }

  async function rule(dispute: DisputeRecord, time: number, signal: AbortSignal): Promise<void> {
    const record = await transactions.findById(dispute.transactionId).lean<TransactionRecord | null>();
    if (record === null) throw new Error(`Transaction ${dispute.transactionId} doesn't exist`);
    if (!hasDispute(record, dispute)) {
      if (!(await options.withdrawIfGone(dispute, record, signal))) {
        throw new Error("The follower hasn't applied the dispute yet");
      }
      log.warn({ disputeId: dispute._id, network }, "dispute withdrawn: a reorganisation removed it");
      return;
    }
    const end = handoverEnd(record);
    if (record.responsePayloadJson === null && time <= end) {
      // The seller still has time to hand the payload over.
      await disputes.updateOne(
        { _id: dispute._id, ruling: null, isOpen: true },
        { $set: { closedAt: null, dueAt: new Date((end + 1) * MILLISECONDS) } },
      );
      return;
    }
    const facts = await loadCase({ dispute, record }, evaluator, time);
    const judgement = await judge.judge(facts, signal);
    const stored = await store({ dispute, record, facts, factsAt: time }, { ruledBy: "system", judgement });
    if (stored === "changed") throw new Error("The case changed while it was judged");
    if (stored !== "stored") return;
    log.info({ disputeId: dispute._id, network, outcome: judgement.outcome, judge: judgement.judge }, "dispute ruled");
  }

  /** Renews a claim while work on it is under way: a model may take minutes. */
  async function keeping(dispute: DisputeRecord, time: number, work: () => Promise<void>): Promise<void> {
    const startedAt = performance.now();
    const renewal = setInterval(() => {
      const elapsedMs = performance.now() - startedAt;
      const dueAt = new Date(time * MILLISECONDS + elapsedMs + timings.judgeLeaseMs);
      // If this fails, the lease may end early, and two workers judge: one of the rulings is stored.
      disputes
        .updateOne({ _id: dispute._id, ruling: null, isOpen: true, closedAt: dispute.closedAt }, { $set: { dueAt } })
        .catch((error: unknown) => {
          log.warn({ err: error, disputeId: dispute._id, network }, "couldn't renew the claim of a dispute");
        });
    }, timings.judgeLeaseMs / 3);
    try {
      await work();
    } finally {
      clearInterval(renewal);
    }
  }

  /** A dispute is never given up: it waits longer after each failure, and /ready shows it once it is overdue. */
  async function postpone(dispute: DisputeRecord, time: number, error: unknown): Promise<void> {
    const lastError = (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR_LENGTH);
    log.warn(
      { err: error, disputeId: dispute._id, network, attempts: dispute.attempts + 1 },
      "couldn't rule a dispute",
    );
    const dueAt = new Date(time * MILLISECONDS + pauseAfter(dispute.attempts, RETRY));
    await disputes.updateOne(
      { _id: dispute._id, ruling: null, dueAt: { $ne: null } },
      { $set: { dueAt, lastError }, $inc: { attempts: 1 } },
    );
  }

  async function release(dispute: DisputeRecord): Promise<void> {
    await disputes.updateOne({ _id: dispute._id, ruling: null, isOpen: true }, { $set: { dueAt: now() } });
  }

  async function handle(dispute: DisputeRecord, time: number, signal: AbortSignal): Promise<void> {
    try {
      await keeping(dispute, time, () => rule(dispute, time, signal));
    } catch (error) {
      // A dispute that a stopping worker leaves behind is due again at once.
      if (signal.aborted) await release(dispute);
      else await postpone(dispute, time, error);
    }
  }

  /** Starts to rule what is due now, as long as there is room; returns how many disputes it took. */
  async function take(signal: AbortSignal): Promise<number> {
    const next = await disputes
      .findOne({ network, dueAt: { $type: "date" } }, { dueAt: 1 })
      .sort({ dueAt: 1 })
      .lean();
    if (next === null) return 0;
    const time = await chainNow();
    let taken = 0;
    while (underWay.size < CONCURRENCY && !signal.aborted) {
      const dispute = await claim(time);
      if (dispute === undefined) break;
      taken += 1;
      const work = handle(dispute, time, signal)
        .catch((error: unknown) => {
          // Its lease ends by itself.
          log.error({ err: error, disputeId: dispute._id, network }, "couldn't put a dispute back");
        })
        .finally(() => underWay.delete(work));
      underWay.add(work);
    }
    return taken;
  }

  /** Rules what is due now and waits for it; returns how many disputes it took. */
  async function step(signal: AbortSignal): Promise<number> {
    const taken = await take(signal);
    await Promise.all(underWay);
    return taken;
  }

  const loop: BackgroundLoop = {
    name: `disputes.rule-${network}`,
    async run(signal) {
      while (!signal.aborted) {
        let pauseMs = timings.rulingPollMs;
        try {
          if (underWay.size < CONCURRENCY && (await take(signal)) > 0) pauseMs = 0;
        } catch (error) {
          log.error({ err: error, network }, "couldn't look for disputes to rule");
        }
        // A case that takes minutes doesn't delay the others.
        if (underWay.size === CONCURRENCY) await Promise.race(underWay);
        else await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      }
      await Promise.all(underWay);
    },
  };
  return { step, loop };
}

/** Rules the disputes of one network. */
export type Ruler = ReturnType<typeof createRuler>;
