/** Source of wall-clock time. Passed to services so that tests can set it. */
export interface Clock {
  /** The current time. */
  now(): Date;
}

/** The machine's clock. */
export const systemClock: Clock = { now: () => new Date() };

/** A time in whole unix seconds, the unit used on chain. */
export function toUnixSeconds(moment: Date): number {
  return Math.floor(moment.getTime() / 1000);
}
