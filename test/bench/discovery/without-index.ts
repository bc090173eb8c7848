// What a market answers whose index has lost its files.
import { delaysOf } from "../events/summary.ts";
import { loadQueries } from "./corpus.ts";

/** Answers that are compared. */
const FIRST = 10;
const QUERIES = 50;

const queries = loadQueries()
  .filter((_, n) => n % 4 === 0)
  .slice(0, QUERIES)
  .map(({ query }) => query);

/** How a market is searched. */
export interface LosableIndex {
  /** Ids of the answers, best first; undefined if the search is refused. */
  search: (query: string) => Promise<string[] | undefined>;
  /** Removes the files of the index, which nobody writes any more. */
  lose: () => Promise<void>;
}

/** Asks with the index and without it. Of the refused ones, the time counts, too. */
export async function measureWithoutIndex({ search, lose }: LosableIndex) {
  const indexed = new Map<string, readonly string[]>();
  for (const query of queries) indexed.set(query, (await search(query))?.slice(0, FIRST) ?? []);
  await lose();
  const samples: number[] = [];
  let refused = 0;
  let [wanted, found, sameFirst] = [0, 0, 0];
  for (const [query, before] of indexed) {
    const sentAt = performance.now();
    const after = await search(query);
    samples.push(performance.now() - sentAt);
    if (after === undefined) refused += 1;
    const first = new Set(after?.slice(0, FIRST));
    wanted += before.length;
    found += before.filter((id) => first.has(id)).length;
    if (before[0] === after?.[0]) sameFirst += 1;
  }
  return {
    ...delaysOf(samples),
    queries: indexed.size,
    refused,
    /** Share of the first ten answers of the index that are among the first ten without it. */
    sharedAt10: Number((found / wanted).toFixed(2)),
    sameFirst,
  };
}
