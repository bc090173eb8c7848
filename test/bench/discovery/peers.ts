// What the bench compares discovery with, on the same listings and queries: MongoDB's own search of texts, and vectors of a server.
import { randomBytes } from "node:crypto";

import { MongoClient } from "mongodb";

import type { EmbeddingProvider } from "../../../api/config/embeddings.ts";
import { categoryWords } from "../../../api/features/listings/listing.ts";
import { cleanText } from "../../../api/search/embedding/clean-text.ts";
import { createEmbeddingServer } from "../../../api/search/embedding/embedding-server.ts";
import type { SentenceEncoder } from "../../../api/search/embedding/encoder.ts";
import { splitWords } from "../../../api/search/embedding/words.ts";
import type { BenchListing } from "./corpus.ts";
import { RESULTS } from "./rankers.ts";
import type { Ranker } from "./rankers.ts";

const COLLECTION = "listings";
const SERVER_TIMEOUT_MS = 60_000;

interface StoredText {
  _id: string;
  title: string;
  description: string;
  category: string;
}

/** MongoDB's `$text` over the texts that discovery searches, with words of the title counting twice, as there. */
export async function openTextSearch(
  mongodbUri: string,
  listings: readonly BenchListing[],
): Promise<{ search: Ranker; close(): Promise<void> }> {
  const client = await new MongoClient(mongodbUri).connect();
  const database = client.db(`bench_discovery_${randomBytes(4).toString("hex")}`);
  const stored = database.collection<StoredText>(COLLECTION);
  await stored.insertMany(
    listings.map(({ slug, title, description, category }) => ({
      _id: slug,
      title,
      description,
      category: categoryWords(category),
    })),
  );
  await stored.createIndex(
    { title: "text", description: "text", category: "text" },
    { weights: { title: 2, description: 1, category: 1 }, default_language: "english" },
    {},
  );
  return {
    async search(query) {
      // Quotes and a minus would have a meaning, and queries have them by chance.
      const words = splitWords(query).join(" ");
      const found = stored.find({ $text: { $search: words } }, { projection: { _id: 1 } });
      return (
        await found
          .sort({ score: { $meta: "textScore" } })
          .limit(RESULTS)
          .toArray()
      ).map(({ _id }) => _id);
    },
    async close() {
      await database.dropDatabase();
      await client.close();
    },
  };
}

/** An OpenAI-compatible server as the product asks it, but without what the product stores: vectors and tokens of the day. */
export function createServerEncoder(provider: EmbeddingProvider): SentenceEncoder {
  const server = createEmbeddingServer(provider);
  const { model, dimensions, maxTextBytes } = provider;
  return {
    model,
    dimensions,
    atOnce: 1,
    async encode(text) {
      const texts = [cleanText(text, maxTextBytes)];
      const { vectors } = await server.embed(texts, SERVER_TIMEOUT_MS, new AbortController().signal);
      return { vector: vectors[0] as Float32Array, knownWordShare: 1 };
    },
    close: () => Promise.resolve(),
  };
}
