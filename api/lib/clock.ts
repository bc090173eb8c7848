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

/** A time in unix seconds as ISO 8601. */
export function isoTime(unixSeconds: number): string {
  return new Date(unixSeconds * 1_000).toISOString();
}

/** How far a clock is ahead of the machine's, in milliseconds: 0 except in tests. The database's clock is moved by it. */
export function offsetMsOf(clock: Clock): number {
  return clock === systemClock ? 0 : clock.now().getTime() - Date.now();
}
