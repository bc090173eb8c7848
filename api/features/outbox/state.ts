import type { DispatchModel } from "./model.ts";

/** The backlog of the outbox. */
export interface OutboxState {
  /** Dispatches that are due and not being attempted; counted up to 10,000. */
  waiting: number;
  /** When the longest waiting dispatch became due; null if none waits. */
  oldestDueAt: Date | null;
}

/** Maximum count of waiting dispatches. */
const COUNTED_AT_MOST = 10_000;
const BACKLOG = { status: 1, dueAt: 1 } as const;

/** Selects overdue dispatches. An index covers both the count and the oldest. */
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
