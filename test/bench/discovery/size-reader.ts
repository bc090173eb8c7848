// A process that searches a table of generated listings, started by sizes.ts.
import process from "node:process";

import { createThreadEncoder } from "../../../api/search/embedding/encoder.ts";
import { openLanceTables } from "../../../api/search/engine/lance-tables.ts";
import type { Listing } from "../../../api/features/listings/listing.ts";
import { listingFormat } from "../../../api/features/discovery/listing-format.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { openEngineTable } from "../../fixtures/engine-table.ts";
import { delaysOf, memoryOf } from "../events/summary.ts";
import type { Delays } from "../events/summary.ts";
import { loadQueries } from "./corpus.ts";
import { discoverWith } from "./rankers.ts";

/** What a process is to do: so many queries one after the other, or as many as it can in a time, four at once. */
export interface ReaderTask {
  dir: string;
  table: string;
  /** Only listings up to this price. */
  maxPrice?: number;
  queries?: number;
  forMs?: number;
  /** Whether it also compares what it finds with what is exactly nearest. */
  compares?: boolean;
}

/** What it has measured. */
export interface ReaderResult {
  search: Delays;
  encoder: Delays;
  byId: Delays;
  perSecond: number;
  /** Share of the exactly nearest ten that a search by meaning alone has among its first ten. */
  recallAt10: number;
  /** How much less near, in cosine, its first ten are on average than the nearest ten. */
  cosineLostAt10: number;
  memory: { rssMb: number; peakMb: number };
}

const RESULTS = 10;
/** Of a search by meaning alone. */
const CANDIDATES = 200;
const WARM_UP = 20;
const COMPARED = 50;
const AT_ONCE = 4;
/** Coprime to the numbers of queries and listings. */
const STRIDE = 7_919;

const task = JSON.parse(process.argv[2] ?? "{}") as ReaderTask;
const texts = loadQueries().map(({ query }) => query);
const encoder = createThreadEncoder(createLogger({ level: "silent", name: "bench" }));
const keepRunning = setInterval(() => undefined, 60_000);
const table = await openLanceTables(task.dir).open(task.table);
const engine = await openEngineTable(task.dir, task.table);
const rows = await table.count();
const filter =
  task.maxPrice === undefined
    ? {}
    : { prices: [{ currencies: ["USDC" as const], min: "0", max: String(task.maxPrice) }] };
const [search, encode, byId]: [number[], number[], number[]] = [[], [], []];

async function timed(samples: number[], work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await work();
  samples.push(performance.now() - startedAt);
}

const queryOf = (turn: number) => texts[(turn * STRIDE) % texts.length] ?? "";
/** The listings that were read, in place of the database. */
const known = new Map<string, Listing>();
const discovery = discoverWith(
  encoder,
  (query, bounds, limit, work, options) =>
    table.find(
      { ...options, format: listingFormat, query, filter: { ...bounds, ...filter }, limit },
      ({ read, ...found }) =>
        work({
          ...found,
          async read(candidates) {
            const matches = await read(candidates);
            for (const { document } of matches) known.set(document.id, document);
            return matches;
          },
        }),
    ),
  { active: () => Promise.resolve(known) },
);
const ask = async (turn: number) => {
  await discovery.discover(queryOf(turn), {}, RESULTS);
};

/** What a search by meaning finds of the ten listings nearest to a query. It compares only a part of all vectors. */
async function compareWithNearest(turn: number): Promise<{ recall: number; cosineLost: number }> {
  const encoding = await encoder.encode(queryOf(turn), { as: "query" });
  const exact = (await engine
    .vectorSearch(encoding.vector)
    .distanceType("cosine")
    .bypassVectorIndex()
    .select(["id", "_distance"])
    .limit(10)
    .toArray()) as { id: string; _distance: number }[];
  const found = await table.search(listingFormat, { text: "", encoding }, {}, CANDIDATES);
  // What is too far away to be an answer isn't missing.
  const wanted = exact.slice(0, found.length);
  const first = found.slice(0, wanted.length);
  if (wanted.length === 0) return { recall: 1, cosineLost: 0 };
  const nearest = new Set(wanted.map(({ id }) => id));
  const sumOfNearest = wanted.reduce((sum, { _distance }) => sum + 1 - _distance, 0);
  const sumOfFound = first.reduce((sum, { parts }) => sum + parts.meaning, 0);
  return {
    recall: first.filter(({ document }) => nearest.has(document.id)).length / wanted.length,
    cosineLost: (sumOfNearest - sumOfFound) / wanted.length,
  };
}

for (let turn = 0; turn < WARM_UP; turn += 1) await ask(turn);
const startedAt = performance.now();
if (task.forMs === undefined) {
  for (let turn = 0; turn < (task.queries ?? 0); turn += 1) {
    await timed(search, () => ask(turn));
    await timed(encode, () => encoder.encode(queryOf(turn), { as: "query" }));
    const id = `lst_${String((turn * STRIDE) % rows).padStart(8, "0")}`;
    await timed(byId, () => engine.query().where(`id = '${id}'`).select(["document"]).limit(1).toArray());
  }
} else {
  const endAt = startedAt + task.forMs;
  let turn = 0;
  const work = async () => {
    while (performance.now() < endAt) {
      const next = turn;
      turn += 1;
      await timed(search, () => ask(next));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
const seconds = (performance.now() - startedAt) / 1_000;
let [recall, cosineLost] = [0, 0];
if (task.compares === true) {
  for (let turn = 0; turn < COMPARED; turn += 1) {
    const compared = await compareWithNearest(turn);
    recall += compared.recall / COMPARED;
    cosineLost += compared.cosineLost / COMPARED;
  }
}
const result: ReaderResult = {
  search: delaysOf(search),
  encoder: delaysOf(encode),
  byId: delaysOf(byId),
  perSecond: search.length / seconds,
  recallAt10: recall,
  cosineLostAt10: cosineLost,
  memory: memoryOf(process.pid),
};
await encoder.close();
clearInterval(keepRunning);
process.send?.(result);
process.disconnect();
