// What a market answers whose index has lost its files, or has none: MongoDB is searched.
import type { ListingRecord } from "../../../api/features/listings/model.ts";
import { startTestApi } from "../../fixtures/api.ts";
import { delaysOf } from "../events/summary.ts";
import type { BenchQuery } from "./corpus.ts";
import { RESULTS, storedListing } from "./rankers.ts";
import { recordOf } from "./records.ts";
import { reportOf } from "./report.ts";
import type { Report } from "./report.ts";
import type { Seed } from "./sizes.ts";

/** How well the listings of the bench answer its queries without an index. Needs the stack. */
export async function relevanceWithoutIndex(seeds: readonly Seed[], queries: readonly BenchQuery[]): Promise<Report> {
  const api = await startTestApi();
  try {
    const { connection, features } = api.container;
    const { discovery, encoders } = features.discovery;
    const records = seeds.map(({ listing, vector }) =>
      recordOf(storedListing(listing), vector, encoders.current.model),
    );
    await connection.collection<ListingRecord>("listings").insertMany(records);
    const ranker = async (query: string) =>
      (await discovery.discover(query, {}, RESULTS)).map(({ listing }) => listing.id);
    return await reportOf(
      ranker,
      queries,
      seeds.map(({ listing }) => listing),
    );
  } finally {
    await api.close();
  }
}

/**
 * Times searches of a market without its index. Of the refused ones, the time counts, too.
 * @param search returns undefined if the search is refused
 */
export async function timeWithoutIndex(
  queries: readonly string[],
  search: (query: string) => Promise<string[] | undefined>,
) {
  const samples: number[] = [];
  let refused = 0;
  for (const query of queries) {
    const sentAt = performance.now();
    if ((await search(query)) === undefined) refused += 1;
    samples.push(performance.now() - sentAt);
  }
  return { ...delaysOf(samples), refused };
}
