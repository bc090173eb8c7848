import { FUNDED_BACKUP_DELAY_MS, WEBHOOK_RETRIES } from "../../config/constants.ts";
import { deliveryId } from "./enqueue.ts";
import type { AttemptOutcome, DeliveryModel, DeliveryRecord, DeliveryStatus } from "./model.ts";
import type { SendResult } from "./sender.ts";

/** Bounds of the outbox. */
export interface OutboxOptions {
  /** How long nobody else may send a delivery that was claimed; above the time that an attempt can take. */
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

/** Attempts that ended with an answer, or the want of one: what the retry is counted by. */
const COUNTED: ReadonlySet<AttemptOutcome> = new Set(["refused", "unreachable"]);
/** A delivery that kills its worker each time is given up after so many attempts. */
const MAX_ATTEMPTS = 5;

/** The deliveries that wait, claimed one by one under a lease. */
export interface Outbox {
  /**
   * Takes the next due delivery and notes that an attempt begins; nobody else gets it before the lease ends. An attempt
   * whose worker died is noted as `interrupted` and does not count as the one retry; after too many of them the
   * delivery has failed.
   * @param busyAgents agents that have enough attempts under way
   */
  claim(owner: string, busyAgents: readonly string[]): Promise<DeliveryRecord | undefined>;
  /** Makes the backup of a delivery due, counted from this attempt. Harmless when there is none or it is due already. */
  scheduleBackup(delivery: DeliveryRecord, attemptedAt: Date): Promise<void>;
  /** Notes how the attempt ended and what follows: nothing, or the one retry. */
  finish(delivery: DeliveryRecord, owner: string, result: SendResult): Promise<void>;
}

/** What follows an attempt (specification 6: one retry; any 2xx acknowledges). */
export function statusAfter(attempts: readonly { outcome: AttemptOutcome }[], result: SendResult): DeliveryStatus {
  if (result.outcome === "acknowledged") return "acknowledged";
  if (result.outcome === "dropped") return "dropped";
  const failures = attempts.filter(({ outcome }) => COUNTED.has(outcome)).length + 1;
  return failures > WEBHOOK_RETRIES || attempts.length + 1 >= MAX_ATTEMPTS ? "failed" : "pending";
}

/** The outbox on its collection. */
export function createOutbox(model: DeliveryModel, options: OutboxOptions, now: () => Date): Outbox {
  return {
    async claim(owner, busyAgents) {
      const at = now();
      const begun = { startedAt: at, finishedAt: null, outcome: "running", statusCode: null, error: null };
      const interrupted = {
        $map: {
          input: "$attempts",
          in: {
            $cond: [
              { $eq: ["$$this.outcome", "running"] },
              { $mergeObjects: ["$$this", { outcome: "interrupted", finishedAt: at }] },
              "$$this",
            ],
          },
        },
      };
      // A worker that dies in each attempt never comes to say so: the next claim does.
      const isSpent = { $gte: [{ $size: "$attempts" }, MAX_ATTEMPTS] };
      for (;;) {
        const claimed = await model
          .findOneAndUpdate(
            {
              status: "pending",
              notBefore: { $lte: at },
              $or: [{ leaseUntil: null }, { leaseUntil: { $lte: at } }],
              agentId: { $nin: [...busyAgents] },
            },
            [
              {
                $set: {
                  status: { $cond: [isSpent, "failed", "$status"] },
                  leaseOwner: { $cond: [isSpent, null, owner] },
                  leaseUntil: { $cond: [isSpent, null, new Date(at.getTime() + options.leaseMs)] },
                  attempts: { $concatArrays: [interrupted, { $cond: [isSpent, [], [begun]] }] },
                },
              },
            ],
            { sort: { notBefore: 1 }, returnDocument: "after", updatePipeline: true },
          )
          .lean<DeliveryRecord | null>();
        if (claimed?.status !== "failed") return claimed ?? undefined;
      }
    },

    async scheduleBackup(delivery, attemptedAt) {
      if (delivery.kind !== "immediate") return;
      const { eventId, agentId, url } = delivery;
      await model.updateOne(
        { _id: deliveryId(eventId, { agentId, url }, "backup"), status: "pending", notBefore: null },
        { $set: { notBefore: new Date(attemptedAt.getTime() + options.backupDelayMs) } },
      );
    },

    async finish(delivery, owner, result) {
      const at = now();
      const earlier = delivery.attempts.slice(0, -1);
      const status = statusAfter(earlier, result);
      const attempts = [...earlier, { ...delivery.attempts.at(-1), ...result, finishedAt: at }];
      // Past the lease another worker may have begun an attempt of its own: its word counts then.
      await model.updateOne(
        { _id: delivery._id, leaseOwner: owner, leaseUntil: delivery.leaseUntil },
        {
          $set: {
            status,
            attempts,
            leaseOwner: null,
            leaseUntil: null,
            ...(status === "pending" ? { notBefore: new Date(at.getTime() + options.retryDelayMs) } : {}),
          },
        },
      );
    },
  };
}
