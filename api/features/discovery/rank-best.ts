import type { Network } from "../../config/constants.ts";
import type { Candidate, Found } from "../../search/engine/match.ts";
import type { ListingFilter } from "./listing-format.ts";
import { MOST_MERIT } from "./merit.ts";
import { PRICE_GAIN, leastRelevance, meritToWin, rank, scoreToWin } from "./ranking.ts";
import type { RankedMatch, RatedMatch } from "./ranking.ts";

/** One search of the index for the most relevant listings. */
export interface Round {
  /** Maximum number of candidates by meaning, and by words. */
  most: number;
  /** Listings of less merit are left out; undefined for none. */
  minMerit: number | undefined;
  /** Sellers whose listings are left out, because enough is known of them. */
  leftOut: NonNullable<ListingFilter["leftOut"]>;
}

/** What a search of the index has found. */
export interface FoundListings extends Pick<Found<unknown>, "candidates" | "beyond"> {
  read: (candidates: readonly Candidate[]) => Promise<RatedMatch[]>;
}

/** Searches the index, and has what it finds read as far as that is needed. */
export type SearchRound = (round: Round, work: (found: FoundListings) => Promise<RoundResult>) => Promise<RoundResult>;

/** What a search has added. */
export interface RoundResult {
  /** The listings that were read. */
  read: RatedMatch[];
  /** All known and wanted ones, best first. */
  ranked: RankedMatch[];
  /** No unread candidate scores more, but for those that were too many to read. */
  unread: number;
  /** No listing beyond the candidates is more relevant. */
  beyond: number;
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
 * How many candidates are read first, for each answer and at least, and how many at a time after that. Reading has a cost of its own
 * each time, and each candidate that was read may show that the next ones can't win.
 */
const READ_PER_ANSWER = 2;
const LEAST_READ = 40;
const READ_AT_ONCE = 100;
/**
 * Maximum number of wanted candidates read in one search. Where hundreds could still win after that, they are nearly equal, and only words
 * that can't be known before reading may tell them apart.
 */
const MOST_READ = 400;

/**
 * Finds and ranks the best listings. The index orders by relevance alone, while the ranking also uses the qualities of listing and
 * seller. The index is therefore searched until no unknown listing can be among the answers. A less relevant listing needs
 * merit to outdo the known ones, so the next search leaves out listings with less. It also leaves out unwanted sellers, and
 * sellers with enough known candidates, so that one with thousands of copies hides no other.
 */
export async function rankBest(search: SearchRound, wanted: Wanted): Promise<RankedMatch[]> {
  const { limit, enough, hasBudget, isWanted, enoughOfSeller } = wanted;
  const known = new Map<string, RatedMatch>();
  const leftOut = new Map<Network, Set<string>>();
  /** No unknown listing of an earlier search scores more. */
  let mostUnknown = 0;
  let round: Round = { most: enough, minMerit: undefined, leftOut };

  for (let searches = 1; ; searches += 1) {
    const { read, ranked, unread, beyond } = await search(round, (found) => readBest(found, known, wanted));
    const score = scoreToWin(ranked, limit);
    const { most, minMerit = 0 } = round;
    const more = { ...round, most: most === enough ? Math.min(enough * GROWTH, MOST_CANDIDATES) : MOST_CANDIDATES };
    // Another offer of its seller may have lowered one that was known, and what was left out could outdo it now.
    if (score < mostUnknown) {
      if (searches === MOST_SEARCHES) return ranked;
      mostUnknown = 0;
      round = { ...more, minMerit: undefined };
      continue;
    }
    const needed = meritToWin(ranked, limit, { relevance: beyond, hasBudget });
    if (beyond === 0 || needed > MOST_MERIT || searches === MOST_SEARCHES) return ranked;
    const hasLeftOut = leaveOut(leftOut, read, isWanted, enoughOfSeller);
    const leavesOutMore = needed >= Math.max(minMerit, LOW_MERIT) * LEAST_RISE;
    if (most === MOST_CANDIDATES && !hasLeftOut && !leavesOutMore) return ranked;
    mostUnknown = Math.max(mostUnknown, unread);
    // The first search with a bound asks for no more: it is usually the last.
    if (!leavesOutMore || round.minMerit !== undefined) round = more;
    if (needed > minMerit) {
      mostUnknown = Math.max(mostUnknown, score);
      round = { ...round, minMerit: needed };
    }
  }
}

/**
 * Reads the candidates of a search, those first that could score most, until no other can be among the answers.
 * @param known gets what is wanted of them
 */
async function readBest(
  { candidates, beyond, read: readAll }: FoundListings,
  known: Map<string, RatedMatch>,
  { limit, hasBudget, isWanted }: Wanted,
): Promise<RoundResult> {
  const scoreOf = ({ relevance, factor }: Candidate) => relevance * factor * (hasBudget ? PRICE_GAIN : 1);
  let unread = candidates.toSorted((left, right) => scoreOf(right) - scoreOf(left));
  let next = unread.slice(0, Math.max(limit * READ_PER_ANSWER, LEAST_READ));
  const read: RatedMatch[] = [];
  for (;;) {
    const reading = new Set(next);
    unread = unread.filter((candidate) => !reading.has(candidate));
    const found = await readAll(next);
    read.push(...found);
    for (const match of found.filter(isWanted)) known.set(match.listing.id, match);
    const ranked = rank([...known.values()]);
    const [score, least] = [scoreToWin(ranked, limit), leastRelevance(ranked)];
    const lowest = Math.min(...ranked.slice(0, limit).map(({ relevance }) => relevance));
    /** Whether it could be among the answers, or be so relevant that one of them isn't any more. */
    const counts = (candidate: Candidate) =>
      (scoreOf(candidate) >= score && candidate.relevance >= least) || leastRelevance([candidate]) > lowest;
    const left = unread.filter(counts);
    if (left.length === 0 || (score > 0 && read.filter(isWanted).length >= MOST_READ)) {
      const others = unread.filter((candidate) => !counts(candidate)).map(scoreOf);
      return { read, ranked, unread: Math.max(0, ...others), beyond };
    }
    next = left.slice(0, READ_AT_ONCE);
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
