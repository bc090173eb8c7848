import type { Network } from "../../config/constants.ts";
import type { ListingFilter } from "./listing-format.ts";
import { MOST_MERIT } from "./merit.ts";
import { meritToWin, rank } from "./ranking.ts";
import type { RankedMatch, RatedMatch } from "./ranking.ts";

/** One search of the index for the most relevant listings. */
export interface Round {
  /** Maximum number of candidates. */
  most: number;
  /** Listings of less merit are left out; undefined for none. */
  minMerit: number | undefined;
  /** Sellers whose listings are left out, because enough is known of them. */
  leftOut: NonNullable<ListingFilter["leftOut"]>;
}

/** Bounds and conditions of a ranking. */
export interface Wanted {
  /** Number of listings wanted. */
  limit: number;
  /** How many candidates the first search asks for, at most MOST_CANDIDATES. */
  enough: number;
  /** Whether the buyer has named a maximum price. */
  hasBudget: boolean;
  /** Whether a candidate may be among the answers. */
  isWanted: (match: RatedMatch) => boolean;
  /** Number of known candidates of a seller after which searches leave out its others. */
  enoughOfSeller: number;
}

/** Growth of the candidates after the first search, where a bound of merit isn't enough. Later searches ask for the maximum. */
const GROWTH = 4;
/** Maximum number of candidates of one search, whose sellers are read. */
export const MOST_CANDIDATES = 5_000;
/** Maximum number of searches per request. Each leaves out the sellers that would fill the next one, so few requests need more. */
const MOST_SEARCHES = 6;
/** A bound up to this leaves out few listings: vague ones and keyword lists of unknown sellers. */
const LOW_MERIT = 0.5;
/** Minimum ratio of a bound to the last one for it to leave out more. */
const LEAST_RISE = 1.01;

/**
 * Finds and ranks the best listings. The index orders by relevance alone, while the ranking also uses the qualities of listing and
 * seller. The index is therefore searched until no unknown listing can be among the answers. A less relevant listing needs
 * merit to outdo the known ones, so the next search leaves out listings with less. It also leaves out unwanted sellers, and
 * sellers with enough known candidates, so that one with thousands of copies hides no other.
 */
export async function rankBest(
  search: (round: Round) => Promise<RatedMatch[]>,
  { limit, enough, hasBudget, isWanted, enoughOfSeller }: Wanted,
): Promise<RankedMatch[]> {
  const known = new Map<string, RatedMatch>();
  const leftOut = new Map<Network, Set<string>>();
  /** Each unknown listing is below one of these bounds: no more relevance, and less merit than the next search asked for. */
  let bounds: { relevance: number; merit: number }[] = [];
  let round: Round = { most: enough, minMerit: undefined, leftOut };

  for (let searches = 1; ; searches += 1) {
    const found = await search(round);
    for (const match of found.filter(isWanted)) known.set(match.listing.id, match);
    const ranked = rank([...known.values()]);
    const meritBelow = (relevance: number) => meritToWin(ranked, limit, { relevance, hasBudget });
    const { most, minMerit = 0 } = round;
    const more = { ...round, most: most === enough ? Math.min(enough * GROWTH, MOST_CANDIDATES) : MOST_CANDIDATES };
    // Another offer of its seller may have lowered one that was known, and what was left out could outdo it now.
    if (bounds.some(({ relevance, merit }) => meritBelow(relevance) < merit)) {
      if (searches === MOST_SEARCHES) return ranked;
      bounds = [];
      round = { ...more, minMerit: undefined };
      continue;
    }
    const least = found.at(-1)?.relevance ?? 0;
    const needed = meritBelow(least);
    if (found.length < most || needed > MOST_MERIT || searches === MOST_SEARCHES) return ranked;
    const hasLeftOut = leaveOut(leftOut, found, isWanted, enoughOfSeller);
    const leavesOutMore = needed >= Math.max(minMerit, LOW_MERIT) * LEAST_RISE;
    if (most === MOST_CANDIDATES && !hasLeftOut && !leavesOutMore) return ranked;
    // The first search with a bound asks for no more: it is usually the last.
    if (!leavesOutMore || bounds.length > 0) round = more;
    if (needed > minMerit) {
      bounds.push({ relevance: least, merit: needed });
      round = { ...round, minMerit: needed };
    }
  }
}

/**
 * Leaves out unwanted sellers, and sellers with enough known listings.
 * @returns whether there were any
 */
function leaveOut(
  leftOut: Map<Network, Set<string>>,
  found: readonly RatedMatch[],
  isWanted: (match: RatedMatch) => boolean,
  enough: number,
): boolean {
  let hasAny = false;
  const bySeller = Map.groupBy(found, ({ listing }) => `${listing.sellerAgentId} ${listing.network}`);
  for (const ofSeller of bySeller.values()) {
    const [first] = ofSeller;
    if (first === undefined || (isWanted(first) && ofSeller.length < enough)) continue;
    const { network, sellerAgentId } = first.listing;
    const ofNetwork = leftOut.get(network) ?? new Set<string>();
    leftOut.set(network, ofNetwork.add(sellerAgentId));
    hasAny = true;
  }
  return hasAny;
}
