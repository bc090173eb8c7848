import type { ChainTime } from "../../chain/chain-time.ts";
import type { Network } from "../../config/constants.ts";
import { repeat } from "../../jobs/background-loop.ts";
import type { RepeatedLoop } from "../../jobs/background-loop.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { pauseAfter } from "../../lib/retry.ts";
import type { CriteriaEvaluator } from "../criteria/evaluator.ts";
import { handoverEnd } from "../transactions/deadlines.ts";
import type { TransactionModel } from "../transactions/model.ts";
import { hasDispute, loadCase } from "./load-case.ts";
import type { Judge } from "./judging/case.ts";
import type { DisputeModel, DisputeRecord } from "./model.ts";
import type { StoreRuling } from "./rulings.ts";
import type { WithdrawIfGone } from "./withdrawal.ts";

/** Durations of the ruling. Tests shorten them. */
export interface RulerTimings {
  /** Longest pause between looks for due rulings, in milliseconds. */
  rulingPollMs: number;
  /** How long a worker keeps a dispute that it judges after it dies, in milliseconds. It renews that while it judges. */
  judgeLeaseMs: number;
}

export const RULER_TIMINGS: RulerTimings = { rulingPollMs: 2_000, judgeLeaseMs: 20_000 };

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
/** After an outage of the database. */
const LOOK_RETRY = { minMs: 1_000, maxMs: 5_000 };
/** A due dispute that can't be taken yet is looked at again after this long. */
const SHORTEST_PAUSE_MS = 500;
/** Disputes judged at once by one worker: most of the time is spent waiting for a model. */
const CONCURRENCY = 4;
const MAX_ERROR_LENGTH = 500;

/**
 * Rules the disputes of a network when they are due. Several workers may run it. A worker that was killed or paused past
 * its lease loses nothing but its work: the ruling is stored by one of them.
 */
export class Ruler {
  readonly #deps: RulerOptions;
  /** Disputes that this process judges. */
  readonly #underWay = new Set<Promise<void>>();
  /** To be woken when a dispute has changed. */
  readonly loop: RepeatedLoop;

  constructor(deps: RulerOptions) {
    this.#deps = deps;
    const looking = repeat({
      name: `disputes.rule-${deps.network}`,
      step: async (signal) => {
        // A case that takes minutes doesn't delay the others.
        if (this.#underWay.size === CONCURRENCY) await Promise.race(this.#underWay);
        const { taken, dueInMs } = await this.#take(signal);
        return taken > 0 ? 0 : Math.min(deps.timings.rulingPollMs, Math.max(dueInMs, SHORTEST_PAUSE_MS));
      },
      retry: LOOK_RETRY,
      failed: "couldn't look for disputes to rule",
      log: deps.log.child({ network: deps.network }),
    });
    this.loop = {
      ...looking,
      run: async (signal) => {
        await looking.run(signal);
        await Promise.all(this.#underWay);
      },
    };
  }

  /** Rules what is due now and waits for it; returns how many disputes it took. */
  async step(signal: AbortSignal): Promise<number> {
    const { taken } = await this.#take(signal);
    await Promise.all(this.#underWay);
    return taken;
  }

  /** The chain's time, which is never behind the wall clock. */
  async #chainNow(): Promise<number> {
    return Math.max(toUnixSeconds(this.#deps.now()), await this.#deps.chainTime.latest());
  }

  /** Takes a due dispute and closes its evidence. Nobody else judges it before the lease ends. */
  async #claim(time: number): Promise<DisputeRecord | undefined> {
    const at = new Date(time * MILLISECONDS);
    const claimed = await this.#deps.disputes
      .findOneAndUpdate(
        { network: this.#deps.network, isOpen: true, dueAt: { $type: "date", $lte: at } },
        [
          {
            $set: {
              closedAt: { $ifNull: ["$closedAt", at] },
              dueAt: new Date(at.getTime() + this.#deps.timings.judgeLeaseMs),
              updatedAt: this.#deps.now(),
            },
          },
        ],
        { sort: { dueAt: 1 }, returnDocument: "after", updatePipeline: true },
      )
      .lean();
    return claimed ?? undefined;
  }

  async #rule(dispute: DisputeRecord, time: number, signal: AbortSignal): Promise<void> {
    const record = await this.#deps.transactions.findById(dispute.transactionId).lean();
    if (record === null) throw new Error(`Transaction ${dispute.transactionId} doesn't exist`);
    if (!hasDispute(record, dispute)) {
      if (!(await this.#deps.withdrawIfGone(dispute, record, signal))) {
        throw new Error("The follower hasn't applied the dispute yet");
      }
      this.#deps.log.warn(
        { disputeId: dispute._id, network: this.#deps.network },
        "dispute withdrawn: a reorganisation removed it",
      );
      return;
    }
    const end = handoverEnd(record);
    if (record.responsePayloadJson === null && time <= end) {
      // The seller still has time to hand the payload over.
      await this.#deps.disputes.updateOne(
        { _id: dispute._id, ruling: null, isOpen: true },
        { $set: { closedAt: null, dueAt: new Date((end + 1) * MILLISECONDS) } },
      );
      return;
    }
    const disputeCase = await loadCase({ dispute, record }, this.#deps.evaluator, time);
    const judgement = await this.#deps.judge.judge(disputeCase, signal);
    const stored = await this.#deps.store(
      { dispute, record, disputeCase, factsAt: time },
      { ruledBy: "system", judgement },
    );
    if (stored === "changed") throw new Error("The case changed while it was judged");
    if (stored !== "stored") return;
    this.#deps.log.info(
      { disputeId: dispute._id, network: this.#deps.network, outcome: judgement.outcome, judge: judgement.judge },
      "dispute ruled",
    );
  }

  /** Renews a claim while work on it is under way: a model may take minutes. */
  async #keeping(dispute: DisputeRecord, time: number, work: () => Promise<void>): Promise<void> {
    const startedAt = performance.now();
    const renewal = setInterval(() => {
      const elapsedMs = performance.now() - startedAt;
      const dueAt = new Date(time * MILLISECONDS + elapsedMs + this.#deps.timings.judgeLeaseMs);
      // If this fails, the lease may end early, and two workers judge: one of the rulings is stored.
      this.#deps.disputes
        .updateOne({ _id: dispute._id, ruling: null, isOpen: true, closedAt: dispute.closedAt }, { $set: { dueAt } })
        .catch((error: unknown) => {
          this.#deps.log.warn(
            { err: error, disputeId: dispute._id, network: this.#deps.network },
            "couldn't renew the claim of a dispute",
          );
        });
    }, this.#deps.timings.judgeLeaseMs / 3);
    try {
      await work();
    } finally {
      clearInterval(renewal);
    }
  }

  /** A dispute is never given up: it waits longer after each failure, and /ready shows it once it is overdue. */
  async #postpone(dispute: DisputeRecord, time: number, error: unknown): Promise<void> {
    const lastError = (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR_LENGTH);
    this.#deps.log.warn(
      { err: error, disputeId: dispute._id, network: this.#deps.network, attempts: dispute.attempts + 1 },
      "couldn't rule a dispute",
    );
    const dueAt = new Date(time * MILLISECONDS + pauseAfter(dispute.attempts, RETRY));
    await this.#deps.disputes.updateOne(
      { _id: dispute._id, ruling: null, dueAt: { $ne: null } },
      { $set: { dueAt, lastError }, $inc: { attempts: 1 } },
    );
  }

  async #release(dispute: DisputeRecord): Promise<void> {
    await this.#deps.disputes.updateOne(
      { _id: dispute._id, ruling: null, isOpen: true },
      { $set: { dueAt: this.#deps.now() } },
    );
  }

  async #handle(dispute: DisputeRecord, time: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#keeping(dispute, time, () => this.#rule(dispute, time, signal));
    } catch (error) {
      // A dispute that a stopping worker leaves behind is due again at once.
      if (signal.aborted) await this.#release(dispute);
      else await this.#postpone(dispute, time, error);
    }
  }

  /**
   * Starts to rule what is due now, as long as there is room.
   * @returns how many disputes it took, and when the first one was due
   */
  async #take(signal: AbortSignal): Promise<{ taken: number; dueInMs: number }> {
    const next = await this.#deps.disputes
      .findOne({ network: this.#deps.network, dueAt: { $type: "date" } }, { dueAt: 1 })
      .sort({ dueAt: 1 })
      .lean();
    if (next?.dueAt == null) return { taken: 0, dueInMs: Infinity };
    const time = await this.#chainNow();
    const dueInMs = next.dueAt.getTime() - time * MILLISECONDS;
    if (dueInMs > 0) return { taken: 0, dueInMs };
    let taken = 0;
    while (this.#underWay.size < CONCURRENCY && !signal.aborted) {
      const dispute = await this.#claim(time);
      if (dispute === undefined) break;
      taken += 1;
      const work = this.#handle(dispute, time, signal)
        .catch((error: unknown) => {
          // Its lease ends by itself.
          this.#deps.log.error(
            { err: error, disputeId: dispute._id, network: this.#deps.network },
            "couldn't put a dispute back",
          );
        })
        .finally(() => this.#underWay.delete(work));
      this.#underWay.add(work);
    }
    return { taken, dueInMs };
  }
}
