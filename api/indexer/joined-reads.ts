import PQueue from "p-queue";

import { Batches } from "../lib/batches.ts";
import { IndexerBehindError } from "./errors.ts";

/** A read of entities at or after a block. */
interface Read {
  ids: readonly string[];
  minBlock: number;
}

/** Settings of a lane. */
export interface JoinedReadsOptions<Answer> {
  /** Maximum number of concurrent queries. */
  maxRunning: number;
  /** Maximum number of ids in a shared query. A single read may have more. */
  maxIds: number;
  read: (ids: readonly string[], minBlock: number) => Promise<Answer>;
}

/** Reads entities by id at or after a block. The answer may include others that were requested at the same time. */
export type JoinedReads<Answer> = (ids: readonly string[], minBlock: number) => Promise<Answer>;

/** A lane of reads by id. Reads that have to wait share queries, so a burst costs a handful of queries and a fixed share of the connections. */
export function joinReads<Answer>({ maxRunning, maxIds, read }: JoinedReadsOptions<Answer>): JoinedReads<Answer> {
  const batches = new Batches<Read, Answer>({
    queue: new PQueue({ concurrency: maxRunning }),
    fits: (reads) => reads.reduce((sum, { ids }) => sum + ids.length, 0) <= maxIds,
    async run(batch) {
      try {
        const answer = await read(
          batch.flatMap(({ item: { ids } }) => ids),
          Math.max(...batch.map(({ item: { minBlock } }) => minBlock)),
        );
        for (const { resolve } of batch) resolve(answer);
      } catch (error) {
        // If the indexer is too far behind for one read, the others of the query may still succeed. They run again.
        const indexedBlock = batch.length > 1 && error instanceof IndexerBehindError ? error.indexedBlock : null;
        for (const { item, resolve, reject } of batch) {
          if (indexedBlock !== null && item.minBlock <= indexedBlock) batches.add(item).then(resolve, reject);
          else reject(error);
        }
      }
    },
  });
  return (ids, minBlock) => batches.add({ ids, minBlock });
}
