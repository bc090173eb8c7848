import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createMemorySearch } from "../../../api/features/memory/entries/search.ts";
import { presentEntry } from "../../../api/features/memory/entries/presenter.ts";
import { EntryIndex } from "../../../api/features/memory/index/entry-index.ts";
import { entryFormat, MEMORY_INDEX, toIndexedEntry } from "../../../api/features/memory/index/entry-format.ts";
import { meaningOf } from "../../../api/features/memory/index/search-text.ts";
import type { EntryContent, MemoryModels } from "../../../api/features/memory/model.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import type { SentenceEncoder } from "../../../api/search/embedding/encoder.ts";
import { cosine } from "../../../api/search/embedding/vectors.ts";
import { openLanceTables } from "../../../api/search/engine/lance-tables.ts";
import type { SearchTable } from "../../../api/search/engine/search-table.ts";
import { openEngineTable } from "../../fixtures/engine-table.ts";
import type { BenchEntry } from "./corpus.ts";

/** The ways to search that the bench compares. `ours` is what POST /api/v1/memory/search does. */
export const RANKERS = ["words", "vectors", "ours"] as const;
export type RankerName = (typeof RANKERS)[number];
/** Finds entries for a question: keys, best first. */
export type Ranker = (question: string) => Promise<string[]>;

/** As many results as POST /api/v1/memory/search gives if no limit is named. */
const RESULTS = 20;
const AGENT = "agent";
const NOW = new Date("2026-10-01T00:00:00Z");
/** In the order of the list, as the encoder refuses more than a few hundred waiting texts. */
const ENCODED_AT_ONCE = 50;

/**
 * Every ranker over the same memory of one agent. Each text is encoded once. The caller closes them.
 * @param isEmbedded which entries have a vector; the others are found by their words alone
 */
export async function createRankers(
  entries: readonly BenchEntry[],
  encoder: SentenceEncoder,
  isEmbedded: (entry: BenchEntry) => boolean = () => true,
): Promise<Record<RankerName, Ranker> & { close(): Promise<void> }> {
  const records = entries.map(recordOf);
  const vectors = await encodeAll(entries.filter(isEmbedded), encoder);
  const dir = await mkdtemp(join(tmpdir(), "marketplace-memory-"));
  const table = await openLanceTables(dir).create(MEMORY_INDEX, entryFormat, encoder.dimensions);
  await table.add(
    entryFormat,
    records.map((record) => ({
      document: toIndexedEntry(record),
      revision: record.change,
      vector: vectors.get(record.key) ?? null,
    })),
  );
  await table.tidy();
  return {
    words: await wordsRanker(dir),
    vectors: async (question) => {
      const { vector } = await encoder.encode(question, { as: "query" });
      return [...vectors]
        .map(([key, other]) => ({ key, closeness: cosine(vector, other) }))
        .sort((left, right) => right.closeness - left.closeness)
        .slice(0, RESULTS)
        .map(({ key }) => key);
    },
    ours: searchRanker(records, table, encoder),
    close: () => rm(dir, { recursive: true, force: true }),
  };
}

async function encodeAll(entries: readonly BenchEntry[], encoder: SentenceEncoder) {
  const vectors = new Map<string, Float32Array>();
  for (let start = 0; start < entries.length; start += ENCODED_AT_ONCE) {
    const encoding = entries.slice(start, start + ENCODED_AT_ONCE).map(async ({ key, value }) => {
      vectors.set(key, (await encoder.encode(meaningOf(key, value))).vector);
    });
    await Promise.all(encoding);
  }
  return vectors;
}

/** The engine's BM25 over the words that memory searches. */
async function wordsRanker(dir: string): Promise<Ranker> {
  const table = await openEngineTable(dir, MEMORY_INDEX);
  return async (question) => {
    const stems = await table.tokenize(question, { column: "words" });
    if (stems.length === 0) return [];
    const found = await table.query().fullTextSearch(question, { columns: "words" }).limit(RESULTS).toArray();
    return found.map(({ id }: { id: string }) => keyOf(id));
  };
}

/** The service behind POST /api/v1/memory/search, whose index has every entry. */
function searchRanker(records: readonly EntryContent[], table: SearchTable, encoder: SentenceEncoder): Ranker {
  const log = createLogger({ level: "silent", name: "bench" });
  const byId = new Map(records.map((record) => [record._id, presentEntry(record)]));
  const one = (record: object) => ({ findById: () => ({ lean: () => Promise.resolve(record) }) });
  const models = {
    totals: one({ changes: 1, entries: records.length }),
    indexed: one({ change: 1, version: 0 }),
  } as unknown as MemoryModels;
  const reader = { open: () => Promise.resolve({ name: MEMORY_INDEX, table }) };
  const search = createMemorySearch({
    encoder,
    index: new EntryIndex({ models, reader, model: encoder.model, log }),
    reader: { byId: () => Promise.resolve(byId) },
    now: () => NOW,
    log,
  });
  return async (query) => (await search.search(AGENT, { query, tags: [], limit: RESULTS })).map(({ key }) => key);
}

const idOf = (key: string): string => `${AGENT}|default|${key}`;
const keyOf = (id: string): string => id.slice(idOf("").length);

/** An entry of the bench as the service stores it. */
function recordOf({ key, value }: BenchEntry): EntryContent {
  return {
    _id: idOf(key),
    agentId: AGENT,
    namespace: "default",
    key,
    version: 1,
    valueJson: JSON.stringify(value),
    tags: [],
    bytes: 0,
    writeId: "",
    updatedAt: NOW,
    createdAt: NOW,
    ttlSeconds: 1,
    expiresAt: new Date(NOW.getTime() + 1_000),
    earlierBytes: 0,
    change: 1,
  };
}
