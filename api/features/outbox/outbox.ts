import type { PipelineStage } from "mongoose";

import { DURABLE_RETRIES, FUNDED_BACKUP_DELAY_MS, WEBHOOK_RETRIES } from "../../config/constants.ts";
import { fromNow, isDue, isFree, isScheduled, released } from "../../db/leases.ts";
import { BY_ID } from "../../db/plain-writes.ts";
import { fullJitter } from "../../lib/retry.ts";
import { createChains, isChained } from "./chains.ts";
import type { ChainLink } from "./chains.ts";
import { INTERRUPTED } from "./model.ts";
import type { AttemptOutcome, AttemptResult, DispatchRecord, DispatchStatus, OutboxModels } from "./model.ts";
import { backupIdOf } from "./enqueue.ts";

/** Time limits of the outbox. */
export interface OutboxOptions {
  /** Lease of a taken dispatch or lane, in milliseconds; longer than an attempt or a turn can take. */
  leaseMs: number;
  /** Pause before the single retry, in milliseconds. */
  retryDelayMs: number;
  /** Delay of the backup of `escrow.funded` after the immediate attempt, in milliseconds. */
  backupDelayMs: number;
  /** Retries of durable dispatches. */
  durable: typeof DURABLE_RETRIES;
}

export const OUTBOX_DEFAULTS: OutboxOptions = {
  leaseMs: 30_000,
  retryDelayMs: 1_000,
  backupDelayMs: FUNDED_BACKUP_DELAY_MS,
  durable: DURABLE_RETRIES,
};

/** Outcomes that count as failures. */
const COUNTED: ReadonlySet<AttemptOutcome> = new Set(["refused", "unreachable"]);
/** Maximum number of attempts, for a dispatch that kills its worker each time. */
const MAX_ATTEMPTS = 5;
/** The same for a durable dispatch, which usually makes about sixty attempts in 24 hours. */
const MAX_DURABLE_ATTEMPTS = 100;
/** Maximum reads of a lane while a turn makes dispatches wait. */
const LOOKS = 20;

/** The dispatches that a turn takes from its lane. */
export interface Taken {
  dispatches: DispatchRecord[];
  /** Whether other dispatches wait in the lane, due now or later. */
  hasMore: boolean;
}

/** The status of a non-durable dispatch after an attempt. It has one retry, and any 2xx acknowledges. */
export function statusAfter(attempts: readonly { outcome: AttemptOutcome }[], result: AttemptResult): DispatchStatus {
  if (result.outcome === "acknowledged") return "acknowledged";
  if (result.outcome === "dropped") return "dropped";
  const failures = attempts.filter(({ outcome }) => COUNTED.has(outcome)).length + 1;
  return failures > WEBHOOK_RETRIES || attempts.length + 1 >= MAX_ATTEMPTS ? "failed" : "pending";
}

/** Selects the scheduled dispatches of a lane. An index has them in the order of `dueAt`. */
export function waitingInLane(agentId: string) {
  return { agentId, status: "pending" as const, ...isScheduled("dueAt") };
}

/** A scheduled dispatch of a lane. */
interface Waiting extends ChainLink {
  attemptCount: number;
  isDue: boolean;
}

/** The status of a durable dispatch after an attempt, if there is time for another attempt. */
function durableStatusAfter({ outcome }: AttemptResult): DispatchStatus {
  return outcome === "acknowledged" || outcome === "dropped" ? outcome : "pending";
}

/** The random pause before a durable dispatch's next attempt: full jitter up to a limit that doubles, in milliseconds. */
export function durablePauseMs(attempts: number, { firstPauseMs, maxPauseMs }: OutboxOptions["durable"]): number {
  return fullJitter(attempts - 1, { minMs: firstPauseMs, maxMs: maxPauseMs });
}

/** Selects a dispatch while the turn holds it. After the lease, another turn may have started an attempt. */
function asTaken({ _id, agentId, holder, attempts }: DispatchRecord) {
  return { _id, agentId, holder, attempts: { $size: attempts.length } };
}

/** The waiting dispatches, taken under leases by the database's clock. */
export class Outbox {
  readonly #model: OutboxModels["dispatches"];
  readonly #chains: ReturnType<typeof createChains>;
  readonly #options: OutboxOptions;

  constructor(models: OutboxModels, options: OutboxOptions) {
    this.#model = models.dispatches;
    this.#chains = createChains(models);
    this.#options = options;
  }

  /**
   * Takes the next due dispatches of a lane and records the start of their attempts. No other turn gets them before the lease
   * ends. An attempt whose worker died is recorded as `interrupted` and doesn't use up the retry. After too many attempts
   * the dispatch fails.
   * @param holder the turn that takes them
   */
  async take(agentId: string, holder: string, limit: number): Promise<Taken> {
    // Reading one more shows whether the lane is then empty.
    const waiting = await this.#readFirst(agentId, limit + 1);
    const due = waiting.slice(0, limit).filter((dispatch) => dispatch.isDue);
    const begun = await Promise.all(due.map((dispatch) => this.#beginAttempt(agentId, dispatch, holder)));
    const dispatches = begun.flatMap((dispatch) => (dispatch?.status === "pending" ? [dispatch] : []));
    return { dispatches, hasMore: waiting.length > dispatches.length };
  }

  /**
   * Schedules the backup of a dispatch, counted from this attempt. Changes nothing if it is already scheduled. Returns false
   * if the dispatch has no backup.
   */
  async scheduleBackup(dispatch: DispatchRecord): Promise<boolean> {
    const backupId = backupIdOf(dispatch);
    const attemptedAt = dispatch.attempts.at(-1)?.startedAt;
    if (backupId === undefined || attemptedAt === undefined) return false;
    await this.#model.updateOne(
      { _id: backupId, agentId: dispatch.agentId, status: "pending", dueAt: null },
      { $set: { dueAt: new Date(attemptedAt.getTime() + this.#options.backupDelayMs) } },
    );
    return true;
  }

  /**
   * Records the result of an attempt. The dispatch stays `pending` if a retry follows. When a durable dispatch ends, the next
   * one of its chain is due.
   */
  async finish(dispatch: DispatchRecord, result: AttemptResult): Promise<DispatchStatus> {
    const { durable, retryDelayMs } = this.#options;
    const earlier = dispatch.attempts.slice(0, -1);
    const status = dispatch.durable ? durableStatusAfter(result) : statusAfter(earlier, result);
    const ended = {
      $mergeObjects: [{ $literal: { ...dispatch.attempts.at(-1), ...result } }, { finishedAt: "$$NOW" }],
    };
    const pauseMs = dispatch.durable ? durablePauseMs(dispatch.attempts.length, durable) : retryDelayMs;
    // A durable dispatch fails if its next attempt would be too late.
    const endsAt = { $add: ["$createdAt", durable.retriedForMs] };
    const isOver = dispatch.durable ? { $gt: [fromNow(pauseMs), endsAt] } : false;
    const isPending = status === "pending";
    const written = await this.#update(
      asTaken(dispatch),
      {
        status: isPending ? { $cond: [isOver, "failed", "pending"] } : status,
        attempts: { $concatArrays: [{ $literal: earlier }, [ended]] },
        holder: null,
        dueAt: isPending ? { $cond: [isOver, null, fromNow(pauseMs)] } : null,
      },
      isChained(dispatch),
    );
    return written?.status ?? status;
  }

  /** Records that the worker aborted the attempts. The dispatches are due immediately. */
  async requeue(dispatches: readonly DispatchRecord[]): Promise<void> {
    if (dispatches.length === 0) return;
    await this.#model.bulkWrite(
      dispatches.map((dispatch) => ({
        updateOne: {
          filter: { ...asTaken(dispatch), status: "pending" as const },
          update: released("dueAt", { attempts: INTERRUPTED, holder: null }),
        },
      })),
      { ordered: false },
    );
  }

  /** Updates a dispatch. The filter contains its id and its agent's. Returns null if the filter doesn't match. */
  #update(
    filter: Record<string, unknown>,
    fields: Record<string, unknown>,
    endsLink: boolean,
  ): Promise<DispatchRecord | null> {
    const change = [{ $set: fields }] as PipelineStage.Set[];
    if (endsLink) return this.#chains.update(filter, change);
    return this.#model
      .findOneAndUpdate(filter, change, { returnDocument: "after", updatePipeline: true, hint: BY_ID })
      .lean();
  }

  /** Starts an attempt, or records that there were too many. Returns null if another turn was first. */
  #beginAttempt(agentId: string, waiting: Waiting, holder: string): Promise<DispatchRecord | null> {
    const begun = {
      startedAt: "$$NOW",
      finishedAt: null,
      outcome: "running",
      statusCode: null,
      error: null,
      latencyMs: null,
      answer: null,
    };
    const maxAttempts = waiting.durable ? MAX_DURABLE_ATTEMPTS : MAX_ATTEMPTS;
    // A worker that dies during an attempt can't record its end. The next worker does.
    const isSpent = { $gte: [{ $size: "$attempts" }, maxAttempts] };
    return this.#update(
      { _id: waiting._id, agentId, status: "pending", ...isDue("dueAt") },
      {
        status: { $cond: [isSpent, "failed", "$status"] },
        holder: { $cond: [isSpent, null, holder] },
        dueAt: { $cond: [isSpent, null, fromNow(this.#options.leaseMs)] },
        attempts: { $concatArrays: [INTERRUPTED, { $cond: [isSpent, [], [begun]] }] },
      },
      isChained(waiting) && waiting.attemptCount >= maxAttempts,
    );
  }

  /** Reads the first scheduled dispatches of a lane. First unschedules those that must wait for an earlier one of their chain. */
  async #readFirst(agentId: string, limit: number): Promise<Waiting[]> {
    for (let look = 1; ; look += 1) {
      const waiting = await this.#model
        .find(waitingInLane(agentId), {
          durable: 1,
          webhookId: 1,
          orderKey: 1,
          seq: 1,
          attemptCount: { $size: "$attempts" },
          isDue: isFree("dueAt"),
        })
        .sort({ dueAt: 1 })
        .limit(limit)
        .lean<Waiting[]>();
      const due = waiting.filter((dispatch) => dispatch.isDue);
      const wasBlocked = due.some(isChained) && (await this.#chains.hold(due));
      if (!wasBlocked) return waiting;
      // A later turn takes the chained dispatches.
      if (look === LOOKS) return waiting.filter((dispatch) => !isChained(dispatch));
    }
  }
}
