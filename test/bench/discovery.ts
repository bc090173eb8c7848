// `npm run bench:discovery`: how well discovery finds the right listings for queries in the buyers' own words.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

import { createThreadEncoder } from "../../api/search/embedding/encoder.ts";
import { createLogger } from "../../api/lib/logger.ts";
import { readArguments, refuseArguments, wholeNumber } from "../../scripts/command/arguments.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import { startStack } from "../../scripts/local/stack.ts";
import { HALVES, LISTING_KINDS, loadListings, loadQueries, QUERY_KINDS } from "./discovery/corpus.ts";
import { createRankers, RANKERS } from "./discovery/rankers.ts";
import type { RankerName } from "./discovery/rankers.ts";
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

const HELP = `usage: npm run bench:discovery -- [--half HALF] [--sizes N,N… [--service [--trusted N]]] [--json]

Asks the queries of test/bench/discovery in four ways: words alone (BM25), vectors alone, the engine's hybrid of the
two (reciprocal rank fusion), and ours, the search behind POST /api/v1/discover. Prints nDCG@10, MRR and recall@20, nDCG@10 by kind of
query, and how many queries have a listing among their first three that doesn't serve them, by kind of listing. Needs neither
chain nor database.

With --sizes, measures the search engine over so many generated listings instead: build, disk, memory, searches without and with
filters that pass 2% and 50%, searches per second by one and two processes, and how soon a change shows. With --service too, a worker
builds the index from a MongoDB of its own and two API processes search it, all over HTTP; and then one searches without the index. How well
that answers the queries of the bench comes first.
  --half HALF   ${HALVES.join(" or ")} (default held-out; weights are tuned with the other only)
  --sizes N,N…  numbers of listings, such as 1000,10000,100000,1000000
  --service     measure through real processes
  --trusted N   with --service, one seller in N has a score (default 100)
  --json        print one JSON object
  --help        this text`;

const { values } = readArguments(HELP, {
  half: { type: "string", default: "held-out" },
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
const queries = loadQueries().filter((query) => query.half === half);
// The encoder's thread doesn't keep a process running.
const keepRunning = setInterval(() => undefined, 60_000);
const encoder = createThreadEncoder(createLogger({ level: "silent", name: "bench" }));
const say = (text: string): void => {
  console.error(text);
};
const reports: [RankerName | typeof WITHOUT_INDEX, Report][] = [];
const measured: (SizeResult | ServiceSizeResult)[] = [];

/** No deal is made here, so nothing listens at the address of the subgraphs. */
async function measureServices(seeds: readonly Seed[]): Promise<void> {
  mkdirSync(DIR, { recursive: true });
  const portBase = await findFreePorts(PORTS_PER_STACK);
  const stack = await startStack({ dir: DIR, portBase, only: ["chains", "mongo"], fresh: true });
  try {
    const networks = Object.entries(stack.facts.networks).map(([name, network]) => [
      name,
      { ...network, subgraphUrl: "http://127.0.0.1:9/" },
    ]);
    process.env["TEST_STACK"] = join(DIR, "bench.json");
    const facts = { ...stack.facts, networks: Object.fromEntries(networks) as unknown };
    writeFileSync(process.env["TEST_STACK"], JSON.stringify(facts));
    const { mongodbUri = "" } = stack.facts;
    say("the queries of the bench without an index");
    reports.push([WITHOUT_INDEX, await relevanceWithoutIndex(seeds, queries)]);
    for (const size of sizes)
      measured.push(await measureServiceSize(size, seeds, { dir: DIR, mongodbUri, trustedOneIn, say }));
  } finally {
    await stack.stop();
  }
}

if (sizes.length > 0) {
  const seeds = await seedsOf(listings, encoder);
  if (values.service) await measureServices(seeds);
  else for (const size of sizes) measured.push(await measureSize(size, seeds, say));
} else {
  const compared = await createRankers(listings, encoder);
  for (const name of RANKERS) reports.push([name, await reportOf(compared[name], queries, listings)]);
  await compared.close();
}
await encoder.close();
clearInterval(keepRunning);

function printSizes(): void {
  for (const { listings: size, ...figures } of measured) {
    console.log(`${size} listings`);
    for (const [name, figure] of Object.entries(figures)) console.log(`  ${name}: ${JSON.stringify(figure)}`);
  }
}

function print(): void {
  const row = (title: string, cells: readonly string[]) =>
    `${title.padEnd(32)}${cells.map((cell) => cell.padStart(10)).join("")}`;
  const compared = (title: string, valueOf: (report: Report) => number | undefined, digits: number) =>
    row(
      title,
      reports.map(([, report]) => valueOf(report)?.toFixed(digits) ?? "-"),
    );
  console.log(`${listings.length} listings, ${queries.length} queries (${half})`);
  console.log(
    row(
      "",
      reports.map(([name]) => name),
    ),
  );
  console.log(compared("nDCG@10", (report) => report.ndcg10, 3));
  console.log(compared("MRR", (report) => report.mrr, 3));
  console.log(compared("recall@20", (report) => report.recall20, 3));
  for (const kind of QUERY_KINDS) {
    const count = queries.filter((query) => query.kind === kind).length;
    console.log(compared(`nDCG@10, ${count} ${kind}`, (report) => report.byKind[kind], 3));
  }
  for (const kind of LISTING_KINDS.filter((name) => name !== "genuine")) {
    console.log(compared(`${kind} in the first three`, (report) => report.intruders[kind], 0));
  }
  console.log(compared("repeats in the first three", (report) => report.repeats, 0));
}

const rankers = Object.fromEntries(reports);
if (sizes.length > 0 && values.json) {
  console.log(JSON.stringify({ sizes: measured, rankers }));
} else if (values.json) {
  console.log(JSON.stringify({ half, listings: listings.length, queries: queries.length, rankers }));
} else {
  if (reports.length > 0) print();
  printSizes();
}
