import { IndexerBehindError } from "./errors.ts";

/** A read that waits for its turn. */
interface Entry<Answer> {
  ids: readonly string[];
  minBlock: number;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
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

/**
 * A lane of reads by id. A read starts immediately while few are running. Reads that have to wait share queries, so a
 * burst costs a handful of queries and a fixed share of the connections.
 */
export function joinReads<Answer>({ maxRunning, maxIds, read }: JoinedReadsOptions<Answer>): JoinedReads<Answer> {
  let queue: Entry<Answer>[] = [];
  let running = 0;

  function takeBatch(): Entry<Answer>[] {
    let ids = 0;
    const end = queue.findIndex((entry, index) => {
      ids += entry.ids.length;
      return index > 0 && ids > maxIds;
    });
    const batch = end === -1 ? queue : queue.slice(0, end);
    queue = queue.slice(batch.length);
    return batch;
  }

  /** If the indexer is too far behind for one read, the other reads of the query may still succeed. They run again. */
  function refuse(batch: readonly Entry<Answer>[], error: unknown): void {
    const indexedBlock = batch.length > 1 && error instanceof IndexerBehindError ? error.indexedBlock : null;
    for (const entry of batch) {
      if (indexedBlock !== null && entry.minBlock <= indexedBlock) queue.push(entry);
      else entry.reject(error);
    }
  }

  async function run(batch: readonly Entry<Answer>[]): Promise<void> {
    running += 1;
    try {
      const answer = await read(
        batch.flatMap(({ ids }) => ids),
        Math.max(...batch.map(({ minBlock }) => minBlock)),
      );
      for (const entry of batch) entry.resolve(answer);
    } catch (error) {
      refuse(batch, error);
    } finally {
      running -= 1;
      start();
    }
  }

  function start(): void {
    while (running < maxRunning && queue.length > 0) void run(takeBatch());
  }

  return (ids, minBlock) =>
    new Promise((resolve, reject) => {
      queue.push({ ids, minBlock, resolve, reject });
      start();
    });
}
