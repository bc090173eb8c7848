import type { Connection } from "mongoose";

import type { FollowerBench } from "../../fixtures/follower.ts";

/** Documents inserted at once, as many as the follower applies in one transaction. */
const AT_ONCE = 200;

/** Seconds that a piece of work takes. */
export async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1_000;
}

/** Inserts documents into an empty collection, a batch after the other, each acknowledged by the majority. */
async function insertPlainly(connection: Connection, documents: readonly object[]): Promise<void> {
  const scratch = connection.collection("bench_floor");
  for (let start = 0; start < documents.length; start += AT_ONCE) {
    await scratch.insertMany(documents.slice(start, start + AT_ONCE), { writeConcern: { w: "majority" } });
  }
}

/**
 * The floor that a measurement is held against: the seconds in which this machine, now, inserts the documents that the
 * follower wrote, without reading, deciding or indexing anything.
 */
export async function floorSeconds({ connection }: FollowerBench, collections: readonly string[]): Promise<number> {
  const found = await Promise.all(collections.map((name) => connection.collection(name).find().toArray()));
  const documents = found.flat().map((document, index) => ({ ...document, _id: index }));
  const seconds = await secondsOf(() => insertPlainly(connection, documents));
  await connection.collection("bench_floor").drop();
  return seconds;
}

/** The value below which `share` of the samples lie. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
