import { CALL_CLASSES, TIERS } from "../../config/constants.ts";
import type { CallClass, Tier } from "../../config/constants.ts";

/** The tier of a score. */
export function tierOf(score: number): { tier: Tier; multiplier: number } {
  const found = TIERS.find(({ minScore }) => score >= minScore);
  if (found === undefined) throw new RangeError(`The score ${score} isn't a number`);
  return found;
}

/** One value for each class of calls. */
export function byCallClass<T>(valueOf: (type: CallClass) => T): Record<CallClass, T> {
  return Object.fromEntries(CALL_CLASSES.map((type) => [type, valueOf(type)])) as Record<CallClass, T>;
}

/** Midnight UTC at the start of a day. */
export function dayOf(moment: Date): Date {
  return new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth(), moment.getUTCDate()));
}

const DAY_MS = 86_400_000;

/** Midnight UTC at the end of a day, when its budgets are reset. */
export function resetAfter(day: Date): Date {
  return new Date(day.getTime() + DAY_MS);
}
