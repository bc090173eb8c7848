// `npm run bench:discovery`: how well discovery finds the right listings for queries in the buyers' own words.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

import { z } from "zod";

import { embeddingProblems, embeddingProvider, embeddingVariables } from "../../api/config/embeddings.ts";
import { createThreadEncoder } from "../../api/search/embedding/encoder.ts";
import { createLogger } from "../../api/lib/logger.ts";
import { readArguments, refuseArguments, wholeNumber } from "../../scripts/command/arguments.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import { startStack } from "../../scripts/local/stack.ts";
import { startBenchStack } from "./api/stack.ts";
import { asFirstJudged, firstBench, HALVES, loadListings, loadQueries } from "./discovery/corpus.ts";
import type { BenchListing, BenchQuery } from "./discovery/corpus.ts";
import { createServerEncoder, openTextSearch } from "./discovery/peers.ts";
import { modelsAlone, poolOf } from "./discovery/pool.ts";
import { printAll, printBoth } from "./discovery/print.ts";
import type { Reports } from "./discovery/print.ts";
import { createRankers, RANKERS } from "./discovery/rankers.ts";
import type { Ranker } from "./discovery/rankers.ts";
import { rememberEncodings } from "./discovery/remembered.ts";
import { reportOf } from "./discovery/report.ts";
import type { Report } from "./discovery/report.ts";
import { measureSize, seedsOf } from "./discovery/sizes.ts";
import type { Seed, SizeResult } from "./discovery/sizes.ts";
import { measureServiceSize } from "./discovery/service-sizes.ts";
import type { ServiceSizeResult } from "./discovery/service-sizes.ts";
import { relevanceWithoutIndex } from "./discovery/without-index.ts";

/** Discovery while its index can't be read. */
const WITHOUT_INDEX = "no index";
/** Data and logs of the processes that are measured. */
const DIR = join(".local", "bench", "discovery");

const HELP = `usage: npm run bench:discovery -- [--half HALF] [--peers] [--pool FILE] [--sizes N,N… [--service [--trusted N]]] [--json]

Asks the queries of test/bench/discovery in four ways: words alone (BM25), vectors alone, the engine's hybrid of the
two (reciprocal rank fusion), and ours, the search behind POST /api/v1/discover. Prints nDCG@10, MRR and recall@20, nDCG@10 by kind of
query, and how many queries have a listing among their first three that doesn't serve them, by kind of listing. The first bench's queries
come first, over its listings, with the grades that they first had and with those of today. Needs neither chain nor database.

With --sizes, measures the search engine over so many generated listings instead: build, disk, memory, searches without and with
filters that pass 2% and 50%, searches per second by one and two processes, and how soon a change shows. With --service too, a worker
builds the index from a MongoDB of its own and two API processes search it, all over HTTP; and then one searches without the index. How well
that answers the queries of the bench comes first.
  --half HALF   ${HALVES.join(" or ")} (default held-out; weights are tuned with the other only)
  --peers       compare with MongoDB's $text, too, in a MongoDB of its own, and with the embedding server that EMBEDDING_MODEL names:
                vectors of it alone, and ours with them
  --pool FILE   write what is still to be judged instead: the first ten listings of every way, of the encoder's two models alone and
                of the peers, for the queries of both halves
  --sizes N,N…  numbers of listings, such as 1000,10000,100000,1000000
  --service     measure through real processes
  --trusted N   with --service, one seller in N has a score (default 100)
  --json        print one JSON object
  --help        this text`;

const { values } = readArguments(HELP, {
  half: { type: "string", default: "held-out" },
  peers: { type: "boolean", default: false },
  pool: { type: "string" },
  sizes: { type: "string" },
  service: { type: "boolean", default: false },
  trusted: { type: "string", default: "100" },
  json: { type: "boolean", default: false },
});
const half =
  HALVES.find((name) => name === values.half) ??
  refuseArguments(`--half: "${values.half}" is none of ${HALVES.join(", ")}`);

const sizes = (values.sizes ?? "").split(",").filter(Boolean).map(Number);
const isSize = (size: number) => Number.isSafeInteger(size) && size >= 1_000 && size <= 10_000_000;
if (!sizes.every(isSize))
  refuseArguments(`--sizes: "${values.sizes ?? ""}" must be whole numbers from 1000 to 10000000`);
const trustedOneIn = wholeNumber("--trusted", values.trusted, 1, 1_000_000);
if (values.service && sizes.length === 0) refuseArguments("--service needs --sizes");

const listings = loadListings();
const allQueries = loadQueries();
const queries = allQueries.filter((query) => query.half === half);
const first = firstBench(listings, queries);
// The encoder's thread doesn't keep a process running.
const keepRunning = setInterval(() => undefined, 60_000);
const encoder = rememberEncodings(createThreadEncoder(createLogger({ level: "silent", name: "bench" })));
const say = (text: string): void => {
  console.error(text);
};
const closing: (() => Promise<void>)[] = [];

/** Every way to search these listings, by its name. */
async function openRankers(
  some: readonly BenchListing[],
  mongodbUri: string | undefined,
): Promise<Map<string, Ranker>> {
  const own = await createRankers(some, encoder);
  closing.push(() => own.close());
  const rankers = new Map<string, Ranker>(RANKERS.map((name) => [name, own[name]]));
  if (mongodbUri !== undefined) {
    const text = await openTextSearch(mongodbUri, some);
    closing.push(() => text.close());
    rankers.set("$text", (query) => text.search(query));
  }
  if (server !== undefined) {
    const served = await createRankers(some, server);
    closing.push(() => served.close());
    rankers.set("server", served.vectors).set("ours, server", served.ours);
  }
  return rankers;
}

async function reportAll(
  rankers: ReadonlyMap<string, Ranker>,
  asked: readonly BenchQuery[],
  some: readonly BenchListing[],
) {
  const reports = new Map<string, Report>();
  for (const [name, ranker] of rankers) reports.set(name, await reportOf(ranker, asked, some));
  return reports;
}

/** A MongoDB for `$text`. Undefined without `--peers`. */
async function startMongo(): Promise<string | undefined> {
  if (!values.peers) return undefined;
  mkdirSync(DIR, { recursive: true });
  const stack = await startStack({
    dir: DIR,
    portBase: await findFreePorts(PORTS_PER_STACK),
    only: ["mongo"],
    fresh: true,
  });
  closing.push(() => stack.stop());
  return stack.facts.mongodbUri;
}

/** Writes what is still to be judged. */
async function writePool(file: string, mongodbUri: string | undefined): Promise<void> {
  const rankers = [...(await openRankers(listings, mongodbUri)).values(), ...(await modelsAlone(listings, encoder))];
  writeFileSync(file, await poolOf(rankers, allQueries, listings));
}

async function compare(mongodbUri: string | undefined): Promise<void> {
  const overFirst = await openRankers(first.listings, mongodbUri);
  const asFirst = await reportAll(overFirst, asFirstJudged(first.queries), first.listings);
  const asToday = await reportAll(overFirst, first.queries, first.listings);
  const ofAll = await reportAll(await openRankers(listings, mongodbUri), queries, listings);
  if (values.json) {
    const counts = { listings: listings.length, queries: queries.length };
    const ofFirst = { listings: first.listings.length, queries: first.queries.length };
    const [firstGrades, grades, rankers] = [asFirst, asToday, ofAll].map((reports) => Object.fromEntries(reports));
    console.log(JSON.stringify({ half, ...counts, rankers, first: { ...ofFirst, firstGrades, grades } }));
    return;
  }
  console.log(`the first ${first.listings.length} listings, ${first.queries.length} queries (${half})`);
  printBoth(asFirst, asToday, first.queries);
  console.log(`\n${listings.length} listings, ${queries.length} queries (${half})`);
  printAll(ofAll, queries, listings);
}

async function measureServices(seeds: readonly Seed[]): Promise<{ measured: ServiceSizeResult[]; reports: Reports }> {
  const stack = await startBenchStack(DIR);
  try {
    const { mongodbUri } = stack;
    say("the queries of the bench without an index");
    const reports = new Map([[WITHOUT_INDEX, await relevanceWithoutIndex(seeds, first.queries)]]);
    const measured: ServiceSizeResult[] = [];
    for (const size of sizes)
      measured.push(await measureServiceSize(size, seeds, { dir: DIR, mongodbUri, trustedOneIn, say }));
    return { measured, reports };
  } finally {
    await stack.stop();
  }
}

async function measureSizes(): Promise<void> {
  const seeds = await seedsOf(first.listings, encoder);
  const measured: (SizeResult | ServiceSizeResult)[] = [];
  let reports: Reports = new Map();
  if (values.service) {
    const services = await measureServices(seeds);
    measured.push(...services.measured);
    reports = services.reports;
  } else {
    for (const size of sizes) measured.push(await measureSize(size, seeds, say));
  }
  if (values.json) {
    console.log(JSON.stringify({ sizes: measured, rankers: Object.fromEntries(reports) }));
    return;
  }
  if (reports.size > 0) printAll(reports, first.queries, first.listings);
  for (const { listings: size, ...figures } of measured) {
    console.log(`${size} listings`);
    for (const [name, figure] of Object.entries(figures)) console.log(`  ${name}: ${JSON.stringify(figure)}`);
  }
}

const variables = z.object(embeddingVariables).parse(values.peers ? process.env : {});
for (const problem of embeddingProblems(variables)) refuseArguments(problem);
const provider = embeddingProvider(variables);
const server = provider && rememberEncodings(createServerEncoder(provider));
try {
  if (sizes.length > 0) await measureSizes();
  else if (values.pool !== undefined) await writePool(values.pool, await startMongo());
  else await compare(await startMongo());
} finally {
  for (const close of closing.reverse()) await close();
  await encoder.close();
  clearInterval(keepRunning);
}
