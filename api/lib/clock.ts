/** Source of wall-clock time. Passed to services so that tests can set it. */
export interface Clock {
  /** The present moment. */
  now(): Date;
}

/** The machine's own clock. */
export const systemClock: Clock = { now: () => new Date() };

/** A moment as whole unix seconds, the unit of every time on chain. */
export function toUnixSeconds(moment: Date): number {
  return Math.floor(moment.getTime() / 1000);
}
