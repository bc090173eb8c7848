import { isDue, isTaken, released, taken } from "../../db/leases.ts";
import type { LaneRecord, OutboxModels } from "./model.ts";
import { waitingInLane } from "./outbox.ts";

/** Concurrent attempts of a lane whose receiver hasn't answered promptly yet. */
export const NARROW_WIDTH = 2;
/** Concurrent attempts of a lane whose receiver answers promptly. */
export const FULL_WIDTH = 8;
/** Maximum number of arrivals applied to their lanes at once. */
const ARRIVALS_PER_LOOK = 1_000;

/** The state in which a turn leaves its lane. */
export interface TurnEnd extends Pick<LaneRecord, "isSlow" | "width"> {
  /** Whether the lane is empty, except for arrivals during the turn. */
  isEmpty: boolean;
}

/** The queues of the agents, each served by one worker at a time. */
export interface Lanes {
  /** Applies arrivals to their lanes. Several workers may do it at once. Returns the number of arrivals that it read. */
  admit(): Promise<number>;
  /**
   * Takes the lanes that have waited longest. No other worker serves them before the lease ends.
   * @param isSlow whether to take slow lanes or prompt ones
   * @param newHolder creates the name of a turn; each lane gets its own
   */
  claim(isSlow: boolean, limit: number, newHolder: () => string): Promise<LaneRecord[]>;
  /** Times, in unix milliseconds, of the latest arrivals in the lanes of these turns, by holder. Omits lanes without arrivals. */
  arrivals(turns: readonly { agentId: string; holder: string }[]): Promise<Map<string, number>>;
  /**
   * Ends a turn. The lane goes to the end of the queue if a dispatch is due; otherwise it waits until one is. Has no effect
   * if another worker has taken over the lease.
   */
  release(agentId: string, holder: string, end: TurnEnd): Promise<void>;
  /** Ends turns early: their lanes are due immediately. */
  requeue(holders: readonly string[], agentIds: readonly string[]): Promise<void>;
}

/**
 * Creates the lanes of the outbox's collections.
 * @param leaseMs maximum duration of a turn, in milliseconds; longer than the time in which it starts attempts plus one attempt
 */
export function createLanes({ dispatches, lanes, arrivals }: OutboxModels, leaseMs: number): Lanes {
  const isHeld = { $and: [{ $gt: ["$holder", null] }, isTaken("nextDueAt")] };

  return {
    async admit() {
      const arrived = await arrivals.find().limit(ARRIVALS_PER_LOOK).lean();
      if (arrived.length === 0) return 0;
      const agentIds = new Set(arrived.map(({ agentId }) => agentId));
      await lanes.bulkWrite(
        [...agentIds].map((agentId) => ({
          updateOne: {
            filter: { _id: agentId },
            update: [
              {
                $set: {
                  isSlow: { $ifNull: ["$isSlow", false] },
                  width: { $ifNull: ["$width", NARROW_WIDTH] },
                  holder: { $ifNull: ["$holder", null] },
                  // $min ignores null.
                  nextDueAt: { $cond: [isHeld, "$nextDueAt", { $min: ["$nextDueAt", "$$NOW"] }] },
                  arrivedAt: { $cond: [isHeld, "$$NOW", null] },
                },
              },
            ],
            upsert: true,
          },
        })),
        { ordered: false },
      );
      // Deleted last, so that a worker that dies before this leaves the arrivals to the next one.
      await arrivals.deleteMany({ _id: { $in: arrived.map(({ _id }) => _id) } });
      return arrived.length;
    },

    async claim(isSlow, limit, newHolder) {
      if (limit <= 0) return [];
      const due = await lanes
        .find({ isSlow, ...isDue("nextDueAt") }, { _id: 1 })
        .sort({ nextDueAt: 1 })
        .limit(limit)
        .lean();
      const claimed = await Promise.all(
        due.map(({ _id }) =>
          lanes
            .findOneAndUpdate(
              { _id, ...isDue("nextDueAt") },
              taken("nextDueAt", leaseMs, { holder: newHolder(), arrivedAt: null }),
              { returnDocument: "after", updatePipeline: true },
            )
            .lean(),
        ),
      );
      return claimed.filter((lane) => lane !== null);
    },

    async arrivals(turns) {
      if (turns.length === 0) return new Map();
      const found = await lanes
        .find(
          { _id: { $in: turns.map(({ agentId }) => agentId) }, arrivedAt: { $ne: null } },
          { holder: 1, arrivedAt: 1 },
        )
        .lean();
      return new Map(found.map(({ holder, arrivedAt }) => [holder ?? "", arrivedAt?.getTime() ?? 0]));
    },

    async release(agentId, holder, { isSlow, width, isEmpty }) {
      const next = isEmpty
        ? null
        : await dispatches.findOne(waitingInLane(agentId), { dueAt: 1 }).sort({ dueAt: 1 }).lean();
      const nextDueAt = next === null ? null : { $max: [next.dueAt, "$$NOW"] };
      await lanes.updateOne(
        { _id: agentId, holder },
        [{ $set: { isSlow, width, holder: null, arrivedAt: null, nextDueAt: { $min: [nextDueAt, "$arrivedAt"] } } }],
        { updatePipeline: true },
      );
    },

    async requeue(holders, agentIds) {
      await lanes.updateMany(
        { _id: { $in: [...agentIds] }, holder: { $in: [...holders] } },
        released("nextDueAt", { holder: null, arrivedAt: null }),
        { updatePipeline: true },
      );
    },
  };
}
