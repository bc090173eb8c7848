import { FUNDED_BACKUP_DELAY_MS, WEBHOOK_RETRIES } from "../../config/constants.ts";
import { fromNow, isDue, isScheduled } from "./due.ts";
import type { AttemptOutcome, AttemptResult, DispatchModel, DispatchRecord, DispatchStatus } from "./model.ts";
import { backupIdOf } from "./put.ts";

/** Time limits of the outbox. */
export interface OutboxOptions {
  /** Lease of a taken dispatch or lane, in milliseconds; longer than either can take. */
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

/** Outcomes that count towards the retry. */
const COUNTED: ReadonlySet<AttemptOutcome> = new Set(["refused", "unreachable"]);
/** Maximum number of attempts, for a dispatch that kills its worker each time. */
const MAX_ATTEMPTS = 5;

/** What a turn takes from its lane. */
export interface Taken {
  dispatches: DispatchRecord[];
  /** Whether anything else waits in the lane, due now or later. */
  hasMore: boolean;
}

/** The waiting dispatches, taken under leases by the database's clock. */
export interface Outbox {
  /**
   * Takes the next due dispatches of a lane and records the start of their attempts. Nobody else gets them before the
   * lease ends. An attempt whose worker died is recorded as `interrupted` and doesn't count as the one retry; after too
   * many of them the dispatch has failed.
   * @param holder the turn that takes them
   */
  take(agentId: string, holder: string, limit: number): Promise<Taken>;
  /**
   * Schedules the backup of a dispatch, counted from this attempt. Harmless if it is already scheduled. False if there
   * is none.
   */
  scheduleBackup(dispatch: DispatchRecord): Promise<boolean>;
  /** Records how the attempt ended. The dispatch stays `pending` if the one retry follows. */
  finish(dispatch: DispatchRecord, result: AttemptResult): Promise<DispatchStatus>;
  /** Records that their worker aborted attempts. The dispatches are due at once. */
  handBack(dispatches: readonly DispatchRecord[]): Promise<void>;
}

/** The status after an attempt (specification 6: one retry; any 2xx acknowledges). */
export function statusAfter(attempts: readonly { outcome: AttemptOutcome }[], result: AttemptResult): DispatchStatus {
  if (result.outcome === "acknowledged") return "acknowledged";
  if (result.outcome === "dropped") return "dropped";
  const failures = attempts.filter(({ outcome }) => COUNTED.has(outcome)).length + 1;
  return failures > WEBHOOK_RETRIES || attempts.length + 1 >= MAX_ATTEMPTS ? "failed" : "pending";
}

/** Selects the dispatches that wait in a lane. An index has them in the order of `dueAt`. */
export function waitingInLane(agentId: string) {
  return { agentId, status: "pending" as const, ...isScheduled("dueAt") };
}

/** The attempts, with running ones marked as interrupted. */
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

/** The outbox stored in its collection. */
export function createOutbox(model: DispatchModel, options: OutboxOptions): Outbox {
  /** Selects a dispatch while the turn holds it. After the lease, another turn may have started its own attempt. */
  const asTaken = ({ _id, holder, attempts }: DispatchRecord) => ({
    _id,
    holder,
    attempts: { $size: attempts.length },
  });

  /** Starts an attempt, or records that there were too many. Null if another turn was first. */
  function beginAttempt(_id: string, holder: string): Promise<DispatchRecord | null> {
    const begun = { startedAt: "$$NOW", finishedAt: null, outcome: "running", statusCode: null, error: null };
    // A worker that dies during an attempt can't record that. The next one does.
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
      // Reading one more shows whether the lane is empty afterwards.
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
