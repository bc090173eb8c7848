import type { Listing } from "../listings/listing.ts";
import { listingTextOf } from "./listing-text.ts";
import { cosine } from "../../search/embedding/vectors.ts";

/** Factor on a listing's score for each better listing of its seller that offers nearly the same. */
const REPEAT_FACTOR = 0.5;
/**
 * Two listings offer nearly the same if they share this share of their words (Jaccard), or if their vectors are that close.
 * Different offers of one seller reach 0.25 and 0.8.
 */
const LEAST_SHARED_WORDS = 0.4;
const LEAST_COSINE = 0.85;
/**
 * Different offers of a seller that its others are compared with. It bounds the work for a seller who floods the market with
 * thousands of them.
 */
const MOST_OFFERS = 20;

interface Candidate {
  listing: Listing;
  vector: Float32Array | null;
}

interface Offer<Match> {
  first: Match;
  listings: number;
}

/**
 * How much a seller's repeated offers count, so that a seller can't fill the first page with copies of one. The same offer on
 * another network doesn't count as a repeat, because a buyer can use only one of the two.
 * @param ranked best first
 * @returns the factor of each listing that repeats a better one; others count in full
 */
export function computeVariety<Match extends Candidate>(ranked: readonly Match[]): Map<Match, number> {
  const bySeller = Map.groupBy(ranked, ({ listing }) => `${listing.sellerAgentId} ${listing.network}`);
  const factors = new Map<Match, number>();
  for (const ofSeller of bySeller.values()) {
    const offers: Offer<Match>[] = [];
    for (const match of ofSeller) {
      const repeated = offers.find(({ first }) => isNearlySame(first, match));
      if (repeated !== undefined) {
        factors.set(match, REPEAT_FACTOR ** repeated.listings);
        repeated.listings += 1;
      } else if (offers.length < MOST_OFFERS) offers.push({ first: match, listings: 1 });
    }
  }
  return factors;
}

function isNearlySame(left: Candidate, right: Candidate): boolean {
  if (left.vector !== null && right.vector !== null && cosine(left.vector, right.vector) >= LEAST_COSINE) return true;
  const [ofLeft, ofRight] = [listingTextOf(left.listing).terms, listingTextOf(right.listing).terms];
  const shared = ofLeft.intersection(ofRight).size;
  return shared >= (ofLeft.size + ofRight.size - shared) * LEAST_SHARED_WORDS;
}
