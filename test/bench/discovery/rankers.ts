import { rerankers } from "@lancedb/lancedb";
import type { Table } from "@lancedb/lancedb";

import { searchTextOf } from "../../../api/features/listings/listing.ts";
import type { Listing } from "../../../api/features/listings/listing.ts";
import type { SentenceEncoder } from "../../../api/search/embedding/encoder.ts";
import { createCategoryFit } from "../../../api/features/discovery/category-fit.ts";
import { createDiscoverService } from "../../../api/features/discovery/service.ts";
import type { DiscoverService, DiscoverServiceDeps } from "../../../api/features/discovery/service.ts";
import { cosine } from "../../../api/search/embedding/vectors.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { openEngineTable } from "../../fixtures/engine-table.ts";
import { LISTING_TABLE, openListingTable, UNASKED_DATABASE } from "../../fixtures/listing-table.ts";
import type { BenchListing } from "./corpus.ts";

/** The ways to search that the bench compares. `ours` is what POST /api/v1/discover does. */
export const RANKERS = ["words", "vectors", "hybrid", "ours"] as const;
export type RankerName = (typeof RANKERS)[number];
/** Finds listings for a query: slugs, best first. */
export type Ranker = (query: string) => Promise<string[]>;

/** As many results as POST /api/v1/discover gives. */
export const RESULTS = 50;
/** Places of words and of vectors that the engine's hybrid joins. */
const FUSED_PLACES = 100;

/**
 * Every ranker over the same listings. All sellers are new, so nothing but listings and query decides. The caller closes
 * them.
 * @param encoder asked for the same texts again and again (remembered.ts)
 */
export async function createRankers(
  listings: readonly BenchListing[],
  encoder: SentenceEncoder,
): Promise<Record<RankerName, Ranker> & { close(): Promise<void> }> {
  const vectors = new Map<string, Float32Array>();
  for (const listing of listings) vectors.set(listing.slug, (await encoder.encode(searchTextOf(listing))).vector);
  const documents = listings.map((listing) => ({
    document: storedListing(listing),
    revision: 1,
    vector: vectors.get(listing.slug) ?? null,
  }));
  const index = await openListingTable(documents, encoder.dimensions);
  const table = await openEngineTable(index.dir, LISTING_TABLE);
  const words = wordsRanker(table);
  return {
    words,
    vectors: await vectorsRanker(listings, async (text, as) => (await encoder.encode(text, { as })).vector),
    hybrid: await hybridRanker(table, words, encoder),
    ours: discoverRanker(index, encoder),
    close: () => index.close(),
  };
}

type ListingTable = Awaited<ReturnType<typeof openListingTable>>;
const slugsOf = (rows: unknown[]): string[] => (rows as { id: string }[]).map(({ id }) => id);

/** The engine's BM25 over the words that discovery searches. */
function wordsRanker(table: Table): Ranker {
  return async (query) => {
    const stems = await table.tokenize(query, { column: "words" });
    if (stems.length === 0) return [];
    return slugsOf(await table.query().fullTextSearch(query, { columns: "words" }).limit(RESULTS).toArray());
  };
}

/** The engine's own: reciprocal rank fusion of words and vectors. */
async function hybridRanker(table: Table, words: Ranker, encoder: SentenceEncoder): Promise<Ranker> {
  const fusion = await rerankers.RRFReranker.create();
  return async (query) => {
    const { vector } = await encoder.encode(query, { as: "query" });
    const nearest = table.query().nearestTo(vector).distanceType("cosine").limit(FUSED_PLACES);
    if ((await words(query)).length === 0) return slugsOf(await nearest.toArray()).slice(0, RESULTS);
    const fused = nearest.fullTextSearch(query, { columns: "words" }).rerank(fusion);
    return slugsOf(await fused.toArray()).slice(0, RESULTS);
  };
}

/** The cosine alone. */
export async function vectorsRanker(
  listings: readonly BenchListing[],
  vectorOf: (text: string, as: "document" | "query") => Promise<Float32Array>,
): Promise<Ranker> {
  const vectors = new Map<string, Float32Array>();
  for (const listing of listings) vectors.set(listing.slug, await vectorOf(searchTextOf(listing), "document"));
  return async (query) => {
    const vector = await vectorOf(query, "query");
    return [...vectors]
      .map(([slug, other]) => ({ slug, closeness: cosine(vector, other) }))
      .sort((left, right) => right.closeness - left.closeness)
      .slice(0, RESULTS)
      .map(({ slug }) => slug);
  };
}

/** The service behind POST /api/v1/discover, with its index. */
function discoverRanker(index: ListingTable, encoder: SentenceEncoder): Ranker {
  const discovery = discoverWith(encoder, index.find, index.stored);
  return async (query) => (await discovery.discover(query, {}, RESULTS)).map(({ listing }) => listing.id);
}

/** Discovery in an index, without standings, prices and a database. */
export function discoverWith(
  encoder: SentenceEncoder,
  find: DiscoverServiceDeps["index"]["find"],
  stored: DiscoverServiceDeps["stored"],
): DiscoverService {
  const log = createLogger({ level: "silent", name: "bench" });
  return createDiscoverService({
    encoder,
    loadCategoryFit: createCategoryFit(encoder, log),
    stored,
    standings: { of: () => Promise.resolve(new Map()) },
    // Without a price in ether nothing is converted.
    etherPrice: () => Promise.reject(new Error("The bench has no price feed")),
    log,
    database: UNASKED_DATABASE,
    index: { find },
  });
}

/** A listing of the bench as the service stores it. */
export function storedListing({ slug, seller, price, currency = "USDC", ...rest }: BenchListing): Listing {
  const { title, description, category, priceUnit } = rest;
  return {
    id: slug,
    title,
    description,
    category,
    price: String(price),
    priceUnit,
    currency,

    sellerAgentId: seller,
    sellerAddress: `0x${Buffer.from(seller).toString("hex").padStart(40, "0").slice(-40)}`,

    deliveryType: "webhook",
    callbackRequired: true,
    endpointUrl: null,
    network: "base-sepolia",
    status: "active",
    createdAt: new Date(0),
    updatedAt: new Date(0),
  };
}
