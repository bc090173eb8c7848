import { NARROW_WIDTH } from "./lanes.ts";

/** Limits of concurrent attempts in a process. They are high, because a waiting attempt costs only a socket. */
export interface SlotLimits {
  /** Maximum number of concurrent attempts. */
  total: number;
  /** Maximum number of these that belong to slow lanes or have waited longer than `promptMs`. */
  slow: number;
  /** An answer within this time is prompt, in milliseconds. */
  promptMs: number;
}

/**
 * Half of the slots are for slow lanes: more than six times the forty hanging receivers that once blocked all lanes. A
 * hanging receiver uses the other half only until it is known to be slow.
 */
export const SLOT_LIMITS: SlotLimits = { total: 512, slow: 256, promptMs: 2_000 };

/** The part of a turn that counts towards slots. */
export interface SlotHolder {
  isSlow: boolean;
  width: number;
  /** Start times of the running attempts, in milliseconds of a monotonic clock. */
  startTimes: Iterable<number>;
}

/** A snapshot of a process's slots. */
export interface Slots {
  /** Number of lanes that may get a turn now. */
  free(isSlow: boolean): number;
  /** Number of further attempts that a turn may start. */
  roomOf(turn: SlotHolder): number;
}

function countAttempts(
  { startTimes }: SlotHolder,
  promptMs: number,
  now: number,
): { underWay: number; hanging: number } {
  let underWay = 0;
  let hanging = 0;
  for (const startedAt of startTimes) {
    underWay += 1;
    if (now - startedAt > promptMs) hanging += 1;
  }
  return { underWay, hanging };
}

/** Counts the slots held by turns. Each turn holds at least one, so that a new turn has a slot. */
export function countSlots(turns: Iterable<SlotHolder>, { total, slow, promptMs }: SlotLimits, now: number): Slots {
  let used = 0;
  let usedBySlow = 0;
  for (const turn of turns) {
    const { underWay, hanging } = countAttempts(turn, promptMs, now);
    const held = Math.max(1, underWay);
    used += held;
    usedBySlow += turn.isSlow ? held : hanging;
  }
  const free = (isSlow: boolean) => Math.max(0, isSlow ? Math.min(total - used, slow - usedBySlow) : total - used);
  return {
    free,
    roomOf(turn) {
      const { underWay, hanging } = countAttempts(turn, promptMs, now);
      const width = hanging > 0 ? Math.min(turn.width, NARROW_WIDTH) : turn.width;
      // Without a running attempt, the turn still holds one slot.
      const idle = underWay === 0 ? 1 : 0;
      return Math.max(0, Math.min(width - underWay, idle + free(turn.isSlow)));
    },
  };
}
