/** Later than every lane or dispatch that waits for nothing: those have no date at all. */
const EARLIEST = new Date(0);

/** Selects records whose date has come, by the clock of the database. Reads one range of an index on the field. */
export function isDue(field: "dueAt" | "nextDueAt") {
  return { [field]: { $gte: EARLIEST }, $expr: { $lte: [`$${field}`, "$$NOW"] } };
}

/** Selects records that have a date, past or to come. */
export function isScheduled(field: "dueAt") {
  return { [field]: { $gte: EARLIEST } };
}

/** A date so many milliseconds from now, by the clock of the database. */
export function fromNow(ms: number) {
  return { $add: ["$$NOW", ms] };
}
