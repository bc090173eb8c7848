import { fromNow, isDue } from "./due.ts";
import type { LaneRecord, OutboxModels } from "./model.ts";
import { waitingInLane } from "./outbox.ts";

/** Attempts at once of a lane whose receiver has not shown yet that it answers promptly. */
export const NARROW_WIDTH = 2;
/** Attempts at once of a lane whose receiver answers promptly. */
export const FULL_WIDTH = 8;
/** Arrivals that one look brings to their lanes. */
const ARRIVALS_PER_LOOK = 1_000;

/** How a turn leaves its lane. */
export interface TurnEnd extends Pick<LaneRecord, "isSlow" | "width"> {
  /** Whether nothing is left in it, but for what may have arrived during the turn. */
  isEmpty: boolean;
}

/** The queues of the agents, each served by one worker at a time. */
export interface Lanes {
  /** Tells the lanes what has arrived for them. Several workers may do it at once. Returns how many arrivals it read. */
  admit(): Promise<number>;
  /**
   * Takes the lanes that have waited longest; nobody else serves them before the lease ends.
   * @param isSlow takes slow lanes, or prompt ones
   * @param newHolder names a turn; each lane's is its own
   */
  claim(isSlow: boolean, limit: number, newHolder: () => string): Promise<LaneRecord[]>;
  /** When something last arrived in the lanes of these turns, by holder; nothing for those where nothing did. */
  arrivals(turns: readonly { agentId: string; holder: string }[]): Promise<Map<string, number>>;
  /**
   * Ends a turn: the lane goes to the end of the line when something is due, else it waits until then. Without effect
   * when the turn's lease has passed to another worker.
   */
  release(agentId: string, holder: string, end: TurnEnd): Promise<void>;
  /** Ends turns in the middle: their lanes are due at once. */
  handBack(holders: readonly string[], agentIds: readonly string[]): Promise<void>;
}

/**
 * The lanes on their collections.
 * @param leaseMs how long a turn may take; above the time in which it begins attempts and that of its last attempt
 */
export function createLanes({ dispatches, lanes, arrivals }: OutboxModels, leaseMs: number): Lanes {
  const isHeld = { $and: [{ $gt: ["$holder", null] }, { $gt: ["$nextDueAt", "$$NOW"] }] };

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
                  // $min passes over null.
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
      // Last: a worker that dies before this leaves the arrivals to the next one.
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
              [{ $set: { holder: newHolder(), nextDueAt: fromNow(leaseMs), arrivedAt: null } }],
              { returnDocument: "after", updatePipeline: true },
            )
            .lean<LaneRecord | null>(),
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

    async handBack(holders, agentIds) {
      await lanes.updateMany(
        { _id: { $in: [...agentIds] }, holder: { $in: [...holders] } },
        [{ $set: { holder: null, arrivedAt: null, nextDueAt: "$$NOW" } }],
        { updatePipeline: true },
      );
    },
  };
}
