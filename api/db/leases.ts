// Leases: until a date that a record stores, only the holder of its lease works on it. The database's clock decides, so all
// processes agree. These are parts of filters and of update pipelines; `end` is the path of the date.

/** A lower bound that excludes records without a date. */
const EARLIEST = new Date(0);

/** The date `ms` milliseconds from now. */
export function fromNow(ms: number) {
  return { $add: ["$$NOW", ms] };
}

/** Whether a lease has ended. A missing date sorts before every date, so a new record is free. */
export function isFree(end: string, now: unknown = "$$NOW") {
  return { $lte: [`$${end}`, now] };
}

/** Whether a lease is held. */
export function isTaken(end: string, now: unknown = "$$NOW") {
  return { $gt: [`$${end}`, now] };
}

/** Begins a lease, and sets further fields such as its holder. */
export function taken(end: string, ms: number, fields: Readonly<Record<string, unknown>>) {
  return [{ $set: { [end]: fromNow(ms), ...fields } }];
}

/** Extends a lease. The filter names its holder. */
export function renewed(end: string, ms: number) {
  return taken(end, ms, {});
}

/** Ends a lease now, and sets further fields. */
export function released(end: string, fields: Readonly<Record<string, unknown>> = {}) {
  return [{ $set: { [end]: "$$NOW", ...fields } }];
}

/** Selects records that are due: scheduled, and free. Reads one range of an index on the date. */
export function isDue(end: string) {
  return { ...isScheduled(end), $expr: isFree(end) };
}

/** Selects records that have a date, past or future. */
export function isScheduled(end: string) {
  return { [end]: { $gte: EARLIEST } };
}
