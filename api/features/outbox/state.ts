import type { DispatchModel } from "./model.ts";

/** How much the outbox is behind. */
export interface OutboxState {
  /** Dispatches that are due and not under way; counted up to 10,000. */
  waiting: number;
  /** Since when the one that has waited longest is due; null when none waits. */
  oldestDueAt: Date | null;
}

/** More are not counted: the number has said enough. */
const COUNTED_AT_MOST = 10_000;
const BACKLOG = { status: 1, dueAt: 1 } as const;

/** Which dispatches are behind; an index holds all that the count and the oldest need. */
export function dueBy(now: Date) {
  return { status: "pending" as const, dueAt: { $gte: new Date(0), $lte: now } };
}

/** Reads the backlog and its age from the keys of one index. */
export async function outboxState(dispatches: DispatchModel, now: Date): Promise<OutboxState> {
  const [waiting, oldest] = await Promise.all([
    dispatches.countDocuments(dueBy(now), { limit: COUNTED_AT_MOST, hint: BACKLOG }),
    dispatches.findOne(dueBy(now), { _id: 0, dueAt: 1 }).sort({ dueAt: 1 }).hint(BACKLOG).lean(),
  ]);
  return { waiting, oldestDueAt: oldest?.dueAt ?? null };
}
