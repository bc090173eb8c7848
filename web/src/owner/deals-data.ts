import type { Transaction } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { filterQuery } from "../data/owner-place.ts";
import type { DealFilters } from "../data/owner-place.ts";
import { readOwn, readPage } from "./api.ts";
import type { Reading } from "./api.ts";
import { readDecimals } from "./home-data.ts";
import type { DealPage } from "./home-data.ts";

/** What the list of deals shows. */
export interface DealsData {
  /** Newest first. */
  deals: readonly Transaction[];
  /** Where the next page begins; null after the last. */
  nextCursor: string | null;
  /** Decimals of each token that deals settle in, by symbol. */
  decimals: ReadonlyMap<string, number>;
  /** When it was read, in milliseconds. */
  readAt: number;
}

const PAGE = 100;

/**
 * Reads the first pages of an agent's deals: a call each.
 * @param pages how many are shown. It is asked again after each page, since more may be wanted meanwhile
 */
export function readDeals(
  session: KeptSession,
  filters: DealFilters,
  known: DealsData | undefined,
  pages: () => number,
): Promise<Reading<DealsData>> {
  const ask = (cursor: string | null) => {
    const query = filterQuery(filters);
    query.set("limit", String(PAGE));
    if (cursor !== null) query.set("cursor", cursor);
    return readOwn<DealPage>(session, `/api/v1/transactions?${query.toString()}`);
  };
  return readPage(async () => {
    const [first, decimals] = await Promise.all([ask(null), known?.decimals ?? readDecimals(session)]);
    const deals = new Map(first.data.map((deal) => [deal.transactionId, deal]));
    let { nextCursor } = first;
    for (let read = 1; nextCursor !== null && read < pages(); read += 1) {
      const page = await ask(nextCursor);
      for (const deal of page.data) deals.set(deal.transactionId, deal);
      nextCursor = page.nextCursor;
    }
    return { deals: [...deals.values()], nextCursor, decimals, readAt: Date.now() };
  });
}
