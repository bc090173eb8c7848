import { setTimeout as sleep } from "node:timers/promises";

/** What may be under way at once, before the pace falls behind. */
const AT_ONCE = 64;

/**
 * Starts pieces of work at a steady rate and waits for all of them.
 * @returns pieces a second: fewer than asked for if the machine can't keep up
 * @throws whatever a piece of work throws first
 */
export async function paced(
  count: number,
  perSecond: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  const startedAt = performance.now();
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for (let index = 0; index < count && failures.length === 0; index += 1) {
    await sleep(Math.max(0, startedAt + (index * 1_000) / perSecond - performance.now()));
    while (running.size >= AT_ONCE) await Promise.race(running);
    const piece = work(index)
      .catch((error: unknown) => failures.push(error))
      .then(() => {
        running.delete(piece);
      });
    running.add(piece);
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
  return (count / (performance.now() - startedAt)) * 1_000;
}
