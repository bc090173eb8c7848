import type { Standings } from "../agents/standings.ts";
import type { Listing } from "../listings/listing.ts";
import { priceShareOf } from "../listings/price-filter.ts";
import type { PriceRange } from "../listings/price-filter.ts";
import type { Match } from "../../search/engine/match.ts";
import type { CategoryFit } from "./category-fit.ts";
import type { RatedMatch } from "./ranking.ts";
import { readSellerHistories } from "./seller-histories.ts";

/** Inputs of the ranking besides matches and standings. */
export interface RankingFacts {
  categoryFit: CategoryFit;
  /** The buyer's maximum prices; empty without a maximum. */
  budgets: readonly PriceRange[];
}

/** Adds each seller's history on the listing's own network, and how category and price fit. */
export async function rate(
  matches: readonly Match<Listing>[],
  standings: Pick<Standings, "of">,
  { categoryFit, budgets }: RankingFacts,
): Promise<RatedMatch[]> {
  const historyOf = await readSellerHistories(
    standings,
    matches.map(({ document }) => document),
  );
  return matches.map(({ document: listing, ...match }) => {
    const history = historyOf(listing);
    const fit = categoryFit(listing.category, match.vector);
    return { ...match, listing, history, categoryFit: fit, priceShare: priceShareOf(listing, budgets) };
  });
}
