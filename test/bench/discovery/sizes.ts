import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { searchTextOf } from "../../../api/features/listings/listing.ts";
import type { Listing } from "../../../api/features/listings/listing.ts";
import type { SentenceEncoder } from "../../../api/search/embedding/encoder.ts";
import { openLanceTables } from "../../../api/search/engine/lance-tables.ts";
import type { StoredDocument } from "../../../api/search/engine/search-table.ts";
import { listingFormat } from "../../../api/features/discovery/listing-format.ts";
import { seededRandom } from "../../fixtures/random.ts";
import { memoryOf } from "../events/summary.ts";
import type { BenchListing } from "./corpus.ts";
import { storedListing } from "./rankers.ts";
import type { ReaderResult, ReaderTask } from "./size-reader.ts";

/** Prices from 1 to 100, evenly: a bound of n lets n% of the listings pass. */
const PRICES = 100;
const AT_ONCE = 5_000;
/** How far a generated vector is from the one that it is made of, before it is normalised. */
const NOISE = 0.6;
const BYTES_PER_MB = 1_048_576;
const QUERIES = 300;
const THROUGHPUT_MS = 10_000;
const TABLE = "listings";
const VISIBLE_TRIES = 20;

/** A listing with its vector: what generated ones are made of. */
export interface Seed {
  listing: BenchListing;
  vector: Float32Array;
}

/** Encodes the listings of the bench. */
export async function seedsOf(listings: readonly BenchListing[], encoder: SentenceEncoder): Promise<Seed[]> {
  const seeds: Seed[] = [];
  for (const listing of listings) {
    seeds.push({ listing, vector: (await encoder.encode(searchTextOf(listing))).vector });
  }
  return seeds;
}

/** A listing like the seeds: title of one, text of another in the same category, and a vector near the first one's. */
export function generate(seeds: readonly Seed[], n: number, random: () => number): StoredDocument<Listing> {
  const seed = seeds[Math.floor(random() * seeds.length)] as Seed;
  const others = seeds.filter(({ listing }) => listing.category === seed.listing.category);
  const other = others[Math.floor(random() * others.length)] as Seed;
  const vector = new Float32Array(seed.vector.length);
  const spread = NOISE / Math.sqrt(vector.length / 3);
  for (let index = 0; index < vector.length; index += 1) {
    vector[index] = (seed.vector[index] as number) + (random() * 2 - 1) * spread;
  }
  const length = Math.hypot(...vector);
  return {
    document: {
      ...storedListing(seed.listing),
      id: `lst_${String(n).padStart(8, "0")}`,
      description: other.listing.description,
      price: String(1 + Math.floor(random() * PRICES)),
      currency: "USDC" as const,
      sellerAgentId: `agt_${Math.floor(random() * 1_000_000)}`,
    },
    revision: 1,
    vector: vector.map((value) => value / length),
  };
}

/** Size of what a folder holds. */
export function megabytesOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0) / BYTES_PER_MB;
}

/** Searches in a process of its own, as an API process does. */
async function read(task: ReaderTask): Promise<ReaderResult> {
  const child = fork(join(import.meta.dirname, "size-reader.ts"), [JSON.stringify(task)], {
    execArgv: process.execArgv,
  });
  const [[result]] = (await Promise.all([once(child, "message"), once(child, "exit")])) as [[ReaderResult], unknown];
  return result;
}

const round = (value: number) => Number(value.toFixed(1));

/** Builds an index of generated listings and measures building, memory, searches and how soon a change shows. */
export async function measureSize(size: number, seeds: readonly Seed[], say: (text: string) => void) {
  const dir = mkdtempSync(join(tmpdir(), "marketplace-sizes-"));
  try {
    const random = seededRandom();
    const table = await openLanceTables(dir).create(TABLE, listingFormat, seeds[0]?.vector.length ?? 0);
    say(`${size}: adding`);
    let generatingMs = 0;
    const startedAt = performance.now();
    for (let done = 0; done < size; done += AT_ONCE) {
      const generatedAt = performance.now();
      const batch = Array.from({ length: Math.min(AT_ONCE, size - done) }, (_, n) => generate(seeds, done + n, random));
      generatingMs += performance.now() - generatedAt;
      await table.add(listingFormat, batch);
    }
    const addedAt = performance.now();
    say(`${size}: indexing words and columns`);
    await table.tidy();
    const tidiedAt = performance.now();
    if ((await table.vectorsToIndex(0)) > 0) {
      say(`${size}: indexing vectors`);
      await table.indexVectors();
    }
    const indexedAt = performance.now();
    say(`${size}: searching`);
    const task = { dir, table: TABLE };
    const alone = await read({ ...task, queries: QUERIES, compares: true });
    const narrow = await read({ ...task, queries: QUERIES, maxPrice: 2 });
    const broad = await read({ ...task, queries: QUERIES, maxPrice: 50 });
    const busy = { ...task, forMs: THROUGHPUT_MS };
    const one = await read(busy);
    const two = await Promise.all([read(busy), read(busy)]);

    say(`${size}: changing`);
    const reader = await openLanceTables(dir).open(TABLE);
    const visibleMs: number[] = [];
    for (let turn = 0; turn < VISIBLE_TRIES; turn += 1) {
      const sellerId = `agt_changed_${turn}`;
      const changed = generate(seeds, size + turn, random);
      changed.document.sellerAgentId = sellerId;
      const byWords = { text: changed.document.title, encoding: null };
      const writtenAt = performance.now();
      await table.apply(listingFormat, [changed], []);
      while ((await reader.search(listingFormat, byWords, { sellerId }, 1)).length === 0);
      visibleMs.push(performance.now() - writtenAt);
    }
    return {
      listings: size,
      build: {
        addSeconds: round((addedAt - startedAt - generatingMs) / 1_000),
        wordsSeconds: round((tidiedAt - addedAt) / 1_000),
        vectorsSeconds: round((indexedAt - tidiedAt) / 1_000),
      },
      diskMb: round(megabytesOf(dir)),
      writer: memoryOf(process.pid),
      reader: alone.memory,
      /** Encoder included. */
      search: { all: alone.search, twoPercent: narrow.search, half: broad.search },
      recallAt10: Number(alone.recallAt10.toFixed(3)),
      cosineLostAt10: Number(alone.cosineLostAt10.toFixed(4)),
      /** The encoder alone, and one listing by its id. */
      floor: { encoder: alone.encoder, byId: alone.byId },
      searchesPerSecond: { one: round(one.perSecond), two: round(two.reduce((sum, each) => sum + each.perSecond, 0)) },
      visibleMs: {
        p50: round(visibleMs.sort((a, b) => a - b)[VISIBLE_TRIES / 2] ?? 0),
        max: round(visibleMs.at(-1) ?? 0),
      },
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

export type SizeResult = Awaited<ReturnType<typeof measureSize>>;
