import { NARROW_WIDTH } from "./lanes.ts";

/** How many attempts a process makes at once. An attempt that waits costs a socket and no work, so they may be many. */
export interface SlotLimits {
  /** Attempts under way at once. */
  total: number;
  /** Of these, attempts of slow lanes and attempts that have waited longer than `promptMs`. */
  slow: number;
  /** An answer within this time is prompt, in milliseconds. */
  promptMs: number;
}

/**
 * Twenty times the forty receivers that once held up everybody, twice over. A receiver that hangs gets here once as a
 * stranger; from then on it shares the slow half with its like.
 */
export const SLOT_LIMITS: SlotLimits = { total: 512, slow: 256, promptMs: 2_000 };

/** The part of a turn that slots are counted by. */
export interface SlotHolder {
  isSlow: boolean;
  width: number;
  /** When its attempts under way began, in milliseconds of any one clock. */
  startTimes: Iterable<number>;
}

/** A snapshot of the slots of a process. */
export interface Slots {
  /** Lanes that may be given a turn now. */
  free(isSlow: boolean): number;
  /** How many more attempts a turn may begin. */
  roomOf(turn: SlotHolder): number;
}

function countOf({ startTimes }: SlotHolder, promptMs: number, now: number): { underWay: number; hanging: number } {
  let underWay = 0;
  let hanging = 0;
  for (const startedAt of startTimes) {
    underWay += 1;
    if (now - startedAt > promptMs) hanging += 1;
  }
  return { underWay, hanging };
}

/** Counts the slots that turns hold: each at least one, so that a turn that was just given finds its slot. */
export function countSlots(turns: Iterable<SlotHolder>, { total, slow, promptMs }: SlotLimits, now: number): Slots {
  let used = 0;
  let usedBySlow = 0;
  for (const turn of turns) {
    const { underWay, hanging } = countOf(turn, promptMs, now);
    const held = Math.max(1, underWay);
    used += held;
    usedBySlow += turn.isSlow ? held : hanging;
  }
  const free = (isSlow: boolean) => Math.max(0, isSlow ? Math.min(total - used, slow - usedBySlow) : total - used);
  return {
    free,
    roomOf(turn) {
      const { underWay, hanging } = countOf(turn, promptMs, now);
      const width = hanging > 0 ? Math.min(turn.width, NARROW_WIDTH) : turn.width;
      // Without an attempt under way it still holds one slot.
      const idle = underWay === 0 ? 1 : 0;
      return Math.max(0, Math.min(width - underWay, idle + free(turn.isSlow)));
    },
  };
}
