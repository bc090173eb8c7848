import type { Standings } from "../agents/standings.ts";
import type { ExplanationParts } from "../listings/explanation.ts";
import { PLACE_ADVICE, partAdviceOf } from "../listings/reasons.ts";
import { createComparer } from "../../search/engine/unindexed.ts";
import { listingFormat } from "./listing-format.ts";
import { rank, withScore } from "./ranking.ts";
import type { RankedMatch, RatedMatch } from "./ranking.ts";
import { rate } from "./rate.ts";
import type { DiscoverService, Survey } from "./service.ts";
import type { ListingWithVector, StoredListings } from "./stored-listings.ts";

/** How a search finds a seller's listing. */
export interface Visibility {
  /** Whether discover returns it. */
  found: boolean;
  /** Its place among the results, 1 for the first; null if it isn't there. */
  rank: number | null;
  /** Number of results. */
  of: number;
  /** The parts of its score, also of one that isn't found. */
  parts: ExplanationParts;
  /** What would help, a sentence each; most important first. */
  advice: string[];
}

/** Dependencies of `readVisibility`. */
export interface VisibilityDeps {
  discovery: Pick<DiscoverService, "survey">;
  stored: Pick<StoredListings, "own">;
  standings: Pick<Standings, "of">;
  now: () => Date;
}

/** A search for the listing, from its seller's side. */
export interface VisibilityQuery {
  sellerAgentId: string;
  id: string;
  query: string;
  /** Maximum number of results. */
  limit: number;
}

/** How long search may take to read a listing's change. */
const READ_WITHIN_MS = 60_000;

/**
 * Searches as a buyer would, and says what became of one listing. It says nothing about others: their number is that of the
 * results, which everyone may see.
 * @throws ApiError `not_found`, `wrong_role`, `service_not_active`, `search_unavailable`
 */
export async function readVisibility(
  { sellerAgentId, id, query, limit }: VisibilityQuery,
  { discovery, stored, standings, now }: VisibilityDeps,
): Promise<Visibility> {
  const own = await stored.own(sellerAgentId, id);
  const survey = await discovery.survey(query, {}, limit);
  const isOwn = ({ listing }: { listing: { id: string } }) => listing.id === id;
  const place = survey.results.findIndex(isOwn) + 1;
  const known = survey.results[place - 1] ?? survey.ranked.find(isOwn) ?? (await rankAmongOwn());
  const { parts, isAnswer } =
    known === undefined ? await compare(own, survey, standings) : { parts: known.explanation, isAnswer: true };

  /** A search reads only what could be among its results, so the seller's own listings are searched. */
  async function rankAmongOwn(): Promise<RankedMatch | undefined> {
    return (await discovery.survey(query, { sellerId: sellerAgentId }, limit)).ranked.find(isOwn);
  }

  function placeAdvice(): string[] {
    if (place === 1) return [];
    const unread = own.vector === null ? [PLACE_ADVICE.withoutVector] : [];
    if (!isAnswer) return [...unread, PLACE_ADVICE.otherSubject];
    const isRecent = now().getTime() - own.listing.updatedAt.getTime() < READ_WITHIN_MS;
    return [...unread, ...(known === undefined && isRecent ? [PLACE_ADVICE.unread] : []), PLACE_ADVICE.behind];
  }

  return {
    found: place > 0,
    rank: place > 0 ? place : null,
    of: survey.results.length,
    parts,
    advice: [...placeAdvice(), ...partAdviceOf(parts)],
  };
}

/** Compares a listing that the search hasn't ranked, with its query and with its seller's others. */
async function compare(
  { listing, vector }: ListingWithVector,
  { query, facts, ranked }: Survey,
  standings: Pick<Standings, "of">,
): Promise<{ parts: ExplanationParts; isAnswer: boolean }> {
  const { match, isAnswer } = createComparer(listingFormat, query.text, await query.encoding)(listing, vector);
  const [rated] = (await rate([match], standings, facts)) as [RatedMatch];
  const ofSeller = ranked.filter(({ listing: other }) => other.sellerAgentId === listing.sellerAgentId);
  const placed = isAnswer ? rank([...ofSeller, rated]).find(({ listing: { id } }) => id === listing.id) : undefined;
  return { parts: (placed ?? withScore(rated, 1)).explanation, isAnswer };
}
