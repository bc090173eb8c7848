import { FUNDED_BACKUP_DELAY_MS, WEBHOOK_RETRIES } from "../../config/constants.ts";
import { fromNow, isDue, isScheduled } from "./due.ts";
import type { AttemptOutcome, AttemptResult, DispatchModel, DispatchRecord, DispatchStatus } from "./model.ts";
import { backupIdOf } from "./put.ts";

/** Bounds of the outbox. */
export interface OutboxOptions {
  /** How long nobody else may send a dispatch that was taken, or serve a lane; above what either can take. */
  leaseMs: number;
  /** Pause before the one retry. */
  retryDelayMs: number;
  /** How long after the immediate attempt the backup of `escrow.funded` is due. */
  backupDelayMs: number;
}

export const OUTBOX_DEFAULTS: OutboxOptions = {
  leaseMs: 30_000,
  retryDelayMs: 1_000,
  backupDelayMs: FUNDED_BACKUP_DELAY_MS,
};

/** Outcomes that the retry is counted by. */
const COUNTED: ReadonlySet<AttemptOutcome> = new Set(["refused", "unreachable"]);
/** A dispatch that kills its worker each time is given up after so many attempts. */
const MAX_ATTEMPTS = 5;

/** What a turn got from its lane. */
export interface Taken {
  dispatches: DispatchRecord[];
  /** Whether anything else waits in the lane, due now or later. */
  hasMore: boolean;
}

/** The dispatches that wait, taken under leases by the clock of the database. */
export interface Outbox {
  /**
   * Takes the next due dispatches of a lane and notes that attempts begin; nobody else gets them before the lease ends.
   * An attempt whose worker died is noted as `interrupted` and does not count as the one retry; after too many of them
   * the dispatch has failed.
   * @param holder the turn that takes them
   */
  take(agentId: string, holder: string, limit: number): Promise<Taken>;
  /**
   * Makes the backup of a dispatch due, counted from this attempt. Harmless when it is due already. False when there is
   * none.
   */
  scheduleBackup(dispatch: DispatchRecord): Promise<boolean>;
  /** Notes how the attempt ended and what follows: nothing, or the one retry, which leaves it `pending`. */
  finish(dispatch: DispatchRecord, result: AttemptResult): Promise<DispatchStatus>;
  /** Notes that attempts were broken off by their worker; the dispatches are due at once. */
  handBack(dispatches: readonly DispatchRecord[]): Promise<void>;
}

/** What follows an attempt (specification 6: one retry; any 2xx acknowledges). */
export function statusAfter(attempts: readonly { outcome: AttemptOutcome }[], result: AttemptResult): DispatchStatus {
  if (result.outcome === "acknowledged") return "acknowledged";
  if (result.outcome === "dropped") return "dropped";
  const failures = attempts.filter(({ outcome }) => COUNTED.has(outcome)).length + 1;
  return failures > WEBHOOK_RETRIES || attempts.length + 1 >= MAX_ATTEMPTS ? "failed" : "pending";
}

/** Which dispatches wait in a lane; in the order of `dueAt`, an index has them one after another. */
export function waitingInLane(agentId: string) {
  return { agentId, status: "pending" as const, ...isScheduled("dueAt") };
}

/** The attempts with those that run marked as interrupted. */
const INTERRUPTED = {
  $map: {
    input: "$attempts",
    in: {
      $cond: [
        { $eq: ["$$this.outcome", "running"] },
        { $mergeObjects: ["$$this", { outcome: "interrupted", finishedAt: "$$NOW" }] },
        "$$this",
      ],
    },
  },
};

/** The outbox on its collection. */
export function createOutbox(model: DispatchModel, options: OutboxOptions): Outbox {
  /** A dispatch as the turn took it: past the lease another turn may have begun an attempt of its own. */
  const asTaken = ({ _id, holder, attempts }: DispatchRecord) => ({
    _id,
    holder,
    attempts: { $size: attempts.length },
  });

  /** Begins an attempt, or notes that there were too many. Null when another turn was first. */
  function beginAttempt(_id: string, holder: string): Promise<DispatchRecord | null> {
    const begun = { startedAt: "$$NOW", finishedAt: null, outcome: "running", statusCode: null, error: null };
    // A worker that dies in each attempt never comes to say so: the next one does.
    const isSpent = { $gte: [{ $size: "$attempts" }, MAX_ATTEMPTS] };
    return model
      .findOneAndUpdate(
        { _id, status: "pending", ...isDue("dueAt") },
        [
          {
            $set: {
              status: { $cond: [isSpent, "failed", "$status"] },
              holder: { $cond: [isSpent, null, holder] },
              dueAt: { $cond: [isSpent, null, fromNow(options.leaseMs)] },
              attempts: { $concatArrays: [INTERRUPTED, { $cond: [isSpent, [], [begun]] }] },
            },
          },
        ],
        { returnDocument: "after", updatePipeline: true },
      )
      .lean<DispatchRecord | null>();
  }

  return {
    async take(agentId, holder, limit) {
      // One more than wanted tells whether the lane is empty afterwards.
      const waiting = await model
        .find(waitingInLane(agentId), { isDue: { $lte: ["$dueAt", "$$NOW"] } })
        .sort({ dueAt: 1 })
        .limit(limit + 1)
        .lean<{ _id: string; isDue: boolean }[]>();
      const due = waiting.slice(0, limit).filter((dispatch) => dispatch.isDue);
      const begun = await Promise.all(due.map(({ _id }) => beginAttempt(_id, holder)));
      const dispatches = begun.flatMap((dispatch) => (dispatch?.status === "pending" ? [dispatch] : []));
      return { dispatches, hasMore: waiting.length > dispatches.length };
    },

    async scheduleBackup(dispatch) {
      const backupId = backupIdOf(dispatch);
      const attemptedAt = dispatch.attempts.at(-1)?.startedAt;
      if (backupId === undefined || attemptedAt === undefined) return false;
      await model.updateOne(
        { _id: backupId, status: "pending", dueAt: null },
        { $set: { dueAt: new Date(attemptedAt.getTime() + options.backupDelayMs) } },
      );
      return true;
    },

    async finish(dispatch, result) {
      const earlier = dispatch.attempts.slice(0, -1);
      const status = statusAfter(earlier, result);
      const ended = {
        $mergeObjects: [{ $literal: { ...dispatch.attempts.at(-1), ...result } }, { finishedAt: "$$NOW" }],
      };
      await model.updateOne(
        asTaken(dispatch),
        [
          {
            $set: {
              status,
              attempts: { $concatArrays: [{ $literal: earlier }, [ended]] },
              holder: null,
              dueAt: status === "pending" ? fromNow(options.retryDelayMs) : null,
            },
          },
        ],
        { updatePipeline: true },
      );
      return status;
    },

    async handBack(dispatches) {
      if (dispatches.length === 0) return;
      await model.bulkWrite(
        dispatches.map((dispatch) => ({
          updateOne: {
            filter: { ...asTaken(dispatch), status: "pending" as const },
            update: [{ $set: { attempts: INTERRUPTED, holder: null, dueAt: "$$NOW" } }],
          },
        })),
        { ordered: false },
      );
    },
  };
}
