import { randomInt } from "node:crypto";

/** A whole number from 0 to below the given one. */
export type Random = (below: number) => number;

/** Numbers that no party can foresee. */
export const secureRandom: Random = (below) => randomInt(below);

/** The items in random order. */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const copy = [...items];
  for (let last = copy.length - 1; last > 0; last -= 1) {
    const other = random(last + 1);
    [copy[last], copy[other]] = [copy[other] as T, copy[last] as T];
  }
  return copy;
}
