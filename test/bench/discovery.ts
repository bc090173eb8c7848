// `npm run bench:discovery`: how well discovery finds the right listings for queries in the buyers' own words.
import { createThreadEncoder } from "../../api/features/search/embedding/encoder.ts";
import { createLogger } from "../../api/lib/logger.ts";
import { readArguments, refuseArguments } from "../../scripts/command/arguments.ts";
import { HALVES, LISTING_KINDS, loadListings, loadQueries, QUERY_KINDS } from "./discovery/corpus.ts";
import { createRankers, RANKERS } from "./discovery/rankers.ts";
import type { RankerName } from "./discovery/rankers.ts";
import { reportOf } from "./discovery/report.ts";
import type { Report } from "./discovery/report.ts";

const HELP = `usage: npm run bench:discovery -- [--half HALF] [--json]

Asks the queries of test/bench/discovery in four ways: words alone (BM25), vectors alone, a plain hybrid of the two
(reciprocal rank fusion), and ours, the search behind POST /api/v1/discover. Prints nDCG@10, MRR and recall@20, nDCG@10 by kind of
query, and how many queries have a listing among their first three that doesn't serve them, by kind of listing. Needs neither
chain nor database.
  --half HALF   ${HALVES.join(" or ")} (default held-out; weights are tuned with the other only)
  --json        print one JSON object
  --help        this text`;

const { values } = readArguments(HELP, {
  half: { type: "string", default: "held-out" },
  json: { type: "boolean", default: false },
});
const half =
  HALVES.find((name) => name === values.half) ??
  refuseArguments(`--half: "${values.half}" is none of ${HALVES.join(", ")}`);

const listings = loadListings();
const queries = loadQueries().filter((query) => query.half === half);
// The encoder's thread doesn't keep a process running.
const keepRunning = setInterval(() => undefined, 60_000);
const encoder = createThreadEncoder(createLogger({ level: "silent", name: "bench" }));
const rankers = await createRankers(listings, encoder);
const reports: [RankerName, Report][] = [];
for (const name of RANKERS) reports.push([name, await reportOf(rankers[name], queries, listings)]);
await encoder.close();
clearInterval(keepRunning);

function print(): void {
  const row = (title: string, cells: readonly string[]) =>
    `${title.padEnd(32)}${cells.map((cell) => cell.padStart(10)).join("")}`;
  const measured = (title: string, valueOf: (report: Report) => number | undefined, digits: number) =>
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
  console.log(measured("nDCG@10", (report) => report.ndcg10, 3));
  console.log(measured("MRR", (report) => report.mrr, 3));
  console.log(measured("recall@20", (report) => report.recall20, 3));
  for (const kind of QUERY_KINDS) {
    const count = queries.filter((query) => query.kind === kind).length;
    console.log(measured(`nDCG@10, ${count} ${kind}`, (report) => report.byKind[kind], 3));
  }
  for (const kind of LISTING_KINDS.filter((name) => name !== "genuine")) {
    console.log(measured(`${kind} in the first three`, (report) => report.intruders[kind], 0));
  }
  console.log(measured("repeats in the first three", (report) => report.repeats, 0));
}

if (values.json) {
  const rankersByName = Object.fromEntries(reports);
  console.log(JSON.stringify({ half, listings: listings.length, queries: queries.length, rankers: rankersByName }));
} else {
  print();
}
