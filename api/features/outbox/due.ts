/** A lower bound that excludes lanes and dispatches without a date, which aren't scheduled. */
const EARLIEST = new Date(0);

/** Selects records whose date has passed, by the database's clock. Reads one range of an index on the field. */
export function isDue(field: "dueAt" | "nextDueAt") {
  return { [field]: { $gte: EARLIEST }, $expr: { $lte: [`$${field}`, "$$NOW"] } };
}

/** Selects records that have a date, past or future. */
export function isScheduled(field: "dueAt") {
  return { [field]: { $gte: EARLIEST } };
}

/** The date `ms` milliseconds from now, by the database's clock. */
export function fromNow(ms: number) {
  return { $add: ["$$NOW", ms] };
}

/** The attempts, with running ones marked as interrupted. */
export const INTERRUPTED = {
  $map: {
    input: "$attempts",
    in: {
      $cond: [
        { $eq: ["$$this.outcome", "running"] },
        { $mergeObjects: ["$$this", { outcome: "interrupted", finishedAt: "$$NOW" }] },
        "$$this",
      ],
    },
  },
};
