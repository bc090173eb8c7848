// `npm run bench:indexing`: how fast a block becomes a state, an event and rows of the subgraph, on chains, graph-node,
// MongoDB, API and worker of its own.
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";

import { readArguments, refuseArguments, wholeNumber } from "../../scripts/command/arguments.ts";
import { measureCatchUp } from "./indexing/catch-up.ts";
import { measureLive } from "./indexing/live.ts";
import { measureMapping } from "./indexing/mapping.ts";
import type { IndexingBench, PartResult } from "./indexing/part.ts";
import { measureQueries } from "./indexing/queries.ts";

const MEASURES: Readonly<Record<string, (bench: IndexingBench) => Promise<PartResult>>> = {
  live: measureLive,
  mapping: measureMapping,
  queries: measureQueries,
  catchUp: measureCatchUp,
};
const PARTS = Object.keys(MEASURES);

const HELP = `usage: npm run bench:indexing -- [--only PART,…] [sizes] [--dir DIR] [--json]

Measures what happens between a block and those who wait for it, behind anvil and graph-node. Times are milliseconds.
  live          deals of three moves each: from the moment at which a move's block exists at the node to the API's answer
                with the new status, and to the event in MongoDB. Floors: a read from the node, a read from the API that
                waits for nothing, and the block in the subgraph
  mapping       events that graph-node indexes in a second with our mappings, from scratch, in blocks of 60 new deals each.
                Floor: the same events with handlers that do nothing; three times each, in turns
  queries       every query that the API sends and those of subgraph/queries.md, with 100,000 escrows in the subgraph, and
                which indexes Postgres uses for each. Floor: an escrow by its key. A statement that reads all of a table
                with a thousand rows is a fault, and ends the command with 1
  catchUp       graph-node is stopped while 10 minutes of deals, 30 a second, are mined: as many blocks with the same content
                and timestamps as in 10 minutes, mined in less. From its start: until it has indexed them, until the API's
                records show them, and what live deals see meanwhile. Floor: live deals afterwards
  --only PART   only these of ${PARTS.join(", ")}
  --deals N     live deals (default 1000)
  --rate N      live deals that begin in a second (default 2)
  --mapped N    deals of the mapping part (default 3000)
  --escrows N   escrows of the queries part (default 100000)
  --repeats N   how often each query is sent (default 100)
  --downtime N  seconds of downtime (default 600)
  --down-rate N deals a second during it (default 30)
  --dir DIR     data and logs (default .local/bench/indexing)
  --json        print one JSON object
  --help        this text`;

const { values } = readArguments(HELP, {
  only: { type: "string", default: PARTS.join(",") },
  deals: { type: "string", default: "1000" },
  rate: { type: "string", default: "2" },
  mapped: { type: "string", default: "3000" },
  escrows: { type: "string", default: "100000" },
  repeats: { type: "string", default: "100" },
  downtime: { type: "string", default: "600" },
  "down-rate": { type: "string", default: "30" },
  dir: { type: "string", default: join(".local", "bench", "indexing") },
  json: { type: "boolean", default: false },
});
const wanted = values.only.split(",");
const unknown = wanted.find((part) => !PARTS.includes(part));
if (unknown !== undefined) refuseArguments(`--only: "${unknown}" is none of ${PARTS.join(", ")}`);
const sizes = {
  deals: wholeNumber("--deals", values.deals, 1, 100_000),
  rate: wholeNumber("--rate", values.rate, 1, 50),
  mappedDeals: wholeNumber("--mapped", values.mapped, 60, 100_000),
  escrows: wholeNumber("--escrows", values.escrows, 1_000, 10_000_000),
  // A quote holds for 15 minutes by the wall's clock, and the chain's runs ahead of it by the downtime.
  downtimeSeconds: wholeNumber("--downtime", values.downtime, 2, 800),
  downtimeRate: wholeNumber("--down-rate", values["down-rate"], 1, 200),
  repeats: wholeNumber("--repeats", values.repeats, 1, 100_000),
};

const say = (text: string): void => {
  if (!values.json) console.log(text);
};

const results: Record<string, PartResult & { load: number; seconds: number }> = {};
for (const part of wanted) {
  const startedAt = performance.now();
  const result = await MEASURES[part]?.({ ...sizes, dir: join(values.dir, part), say });
  if (result === undefined) continue;
  const seconds = (performance.now() - startedAt) / 1_000;
  /** Processes that ran or waited to, averaged over the last minute; this command and what it starts are among them. */
  results[part] = { ...result, seconds, load: loadavg()[0] ?? 0 };
}

const rounded: unknown = JSON.parse(
  JSON.stringify({ cores: availableParallelism(), ...results }, (_, value: unknown) =>
    typeof value === "number" ? Number(value.toFixed(2)) : value,
  ),
);
if (values.json) console.log(JSON.stringify(rounded));
else console.dir(rounded, { depth: null });
const faults = Object.values(results).flatMap((result) => result.faults);
process.exit(faults.length === 0 ? 0 : 1);
