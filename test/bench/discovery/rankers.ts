import MiniSearch from "minisearch";

import type { Standings } from "../../../api/features/agents/standings.ts";
import { categoryWords, searchTextOf } from "../../../api/features/listings/listing.ts";
import type { Listing } from "../../../api/features/listings/listing.ts";
import type { Encoding, SentenceEncoder } from "../../../api/features/search/embedding/encoder.ts";
import { createDiscoverService } from "../../../api/features/search/service.ts";
import { cosine } from "../../../api/features/search/embedding/vectors.ts";
import { searchTerm, wordsOf } from "../../../api/features/search/embedding/words.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { openListingTable } from "../../fixtures/listing-table.ts";
import type { BenchListing } from "./corpus.ts";

/** The ways to search that the bench compares. `ours` is what POST /api/v1/discover does. */
export const RANKERS = ["words", "vectors", "hybrid", "ours"] as const;
export type RankerName = (typeof RANKERS)[number];
/** Finds listings for a query: slugs, best first. */
export type Ranker = (query: string) => Promise<string[]>;

/** As many results as POST /api/v1/discover gives. */
const RESULTS = 50;
/** Places of words and of vectors that the plain hybrid joins, and the constant of reciprocal rank fusion. */
const FUSED_PLACES = 100;
const FUSION_CONSTANT = 60;
/** The engine's own. */
const TITLE_WEIGHT = 2;

/**
 * Every ranker over the same listings. All sellers are new, so nothing but listings and query decides. Each text is
 * encoded once.
 */
export async function createRankers(
  listings: readonly BenchListing[],
  encoder: SentenceEncoder,
): Promise<Record<RankerName, Ranker>> {
  const cached = cachedEncoder(encoder);
  const vectors = new Map<string, Float32Array>();
  for (const listing of listings) vectors.set(listing.slug, (await cached.encode(searchTextOf(listing))).vector);
  const words = wordsRanker(listings);
  const byMeaning = vectorsRanker(vectors, cached);
  return {
    words: async (query) => (await words(query)).slice(0, RESULTS),
    vectors: async (query) => (await byMeaning(query)).slice(0, RESULTS),
    hybrid: async (query) => fuse([await words(query), await byMeaning(query)]).slice(0, RESULTS),
    ours: await discoverRanker(listings, vectors, cached),
  };
}

/** BM25 with the engine's stemmer, stop words and weights of fields. */
function wordsRanker(listings: readonly BenchListing[]): Ranker {
  const index = new MiniSearch<Record<string, string>>({
    fields: ["title", "description", "category"],
    tokenize: wordsOf,
    processTerm: searchTerm,
    searchOptions: { boost: { title: TITLE_WEIGHT } },
  });
  index.addAll(
    listings.map(({ slug, title, description, category }) => ({
      ...{ id: slug, title, description },
      category: categoryWords(category),
    })),
  );
  return (query) => Promise.resolve(index.search(query).map(({ id }) => String(id)));
}

function vectorsRanker(vectors: ReadonlyMap<string, Float32Array>, encoder: SentenceEncoder): Ranker {
  return async (query) => {
    const { vector } = await encoder.encode(query);
    return [...vectors]
      .map(([slug, other]) => ({ slug, closeness: cosine(vector, other) }))
      .sort((left, right) => right.closeness - left.closeness)
      .map(({ slug }) => slug);
  };
}

/** Reciprocal rank fusion. */
function fuse(rankings: readonly (readonly string[])[]): string[] {
  const scores = new Map<string, number>();
  for (const ranking of rankings) {
    for (const [index, slug] of ranking.slice(0, FUSED_PLACES).entries()) {
      scores.set(slug, (scores.get(slug) ?? 0) + 1 / (FUSION_CONSTANT + index + 1));
    }
  }
  return [...scores].sort(([, left], [, right]) => right - left).map(([slug]) => slug);
}

/** The service behind POST /api/v1/discover, with its index. */
async function discoverRanker(
  listings: readonly BenchListing[],
  vectors: ReadonlyMap<string, Float32Array>,
  encoder: SentenceEncoder,
): Promise<Ranker> {
  const index = await openListingTable(
    listings.map((listing) => ({
      ...{ document: storedListing(listing), revision: 1, vector: vectors.get(listing.slug) ?? null },
    })),
    encoder.dimensions,
  );
  const standings: Standings = { of: () => Promise.resolve(new Map()), sync: () => Promise.resolve() };
  // Without a price filter nothing is converted.
  const etherPrice = () => Promise.reject(new Error("The bench has no price feed"));
  const log = createLogger({ level: "silent", name: "bench" });
  const discovery = createDiscoverService({
    ...{ encoders: { of: () => encoder }, stored: index.stored, standings, etherPrice, log },
    index: { search: index.search, model: () => Promise.resolve(encoder.model) },
  });
  return async (query) => (await discovery.discover(query, {}, RESULTS)).map(({ listing }) => listing.id);
}

/** A listing of the bench as the service stores it. */
export function storedListing({ slug, seller, price, currency = "USDC", ...rest }: BenchListing): Listing {
  const { title, description, category, priceUnit } = rest;
  return {
    ...{ id: slug, title, description, category, price: String(price), priceUnit, currency },
    ...{
      sellerAgentId: seller,
      sellerAddress: `0x${Buffer.from(seller).toString("hex").padStart(40, "0").slice(-40)}`,
    },
    ...{
      deliveryType: "webhook",
      callbackRequired: true,
      endpointUrl: null,
      network: "base-sepolia",
      status: "active",
    },
    ...{ createdAt: new Date(0), updatedAt: new Date(0) },
  };
}

function cachedEncoder(encoder: SentenceEncoder): SentenceEncoder {
  const known = new Map<string, Promise<Encoding>>();
  return {
    ...encoder,
    encode(text) {
      const encoding = known.get(text) ?? encoder.encode(text);
      known.set(text, encoding);
      return encoding;
    },
  };
}
