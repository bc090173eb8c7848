// `npm run bench:follower`: how fast the follower and the outbox are, on a MongoDB of their own and a simulated subgraph.
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";

import { readArguments, wholeNumber } from "../../scripts/command/arguments.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { startStack } from "../../scripts/local/stack.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import { FollowerBench } from "../fixtures/follower.ts";
import { measureApplying, measureClaims, measureLag, measureReorganisation } from "./follower/measurements.ts";

const HELP = `usage: npm run bench:follower -- [--deals N] [--seconds N] [--json]

Measures the follower on a MongoDB of its own against a simulated subgraph: events applied per second; the lag at 10, 50
and 200 deals a second (three moves each, blocks of 2 s); reorganisations of 1, 60 and 1,000 blocks; and claims per second
from the outbox with 0 and with 100,000 dispatches waiting for one slow agent. "per floor" is how many times longer that
takes than plain writes of the same documents in the same run (of one update a claim for the outbox).
  --deals N     deals of the first measurement (default 2000)
  --seconds N   how long each rate is kept up (default 20)
  --json        print one JSON object
  --help        this text`;

const { values } = readArguments(HELP, {
  deals: { type: "string", default: "2000" },
  seconds: { type: "string", default: "20" },
  json: { type: "boolean", default: false },
});
const deals = wholeNumber("--deals", values.deals, 100, 1_000_000);
const seconds = wholeNumber("--seconds", values.seconds, 2, 3_600);
const RATES = [10, 50, 200] as const;
const DEPTHS = [1, 60, 1_000] as const;
const BACKLOGS = [0, 100_000] as const;

/** Runs one measurement after the other: they share two cores. */
async function measureEach<const T extends number>(of: readonly T[], measure: (value: T) => Promise<object>) {
  const results: Record<string, object> = {};
  for (const value of of) results[value] = await measure(value);
  return results;
}

const stack = await startStack({
  dir: join(".local", "bench", "follower"),
  portBase: await findFreePorts(PORTS_PER_STACK),
  only: ["mongo"],
  fresh: true,
});
process.env["TEST_STACK"] = stack.factsPath;
try {
  const bench = await FollowerBench.open();
  const result = {
    cores: availableParallelism(),
    /** Processes that ran or waited to, averaged over the minute before; with more than there are cores, all is slower. */
    load: loadavg()[0],
    applying: await measureApplying(bench, deals),
    lagByDealsPerSecond: await measureEach(RATES, (rate) => measureLag(bench, rate, seconds)),
    reorganisationByBlocks: await measureEach(DEPTHS, (depth) => measureReorganisation(bench, depth)),
    claimsByWaiting: await measureEach(BACKLOGS, (waiting) => measureClaims(bench, waiting)),
  };
  await bench.close();
  const rounded: unknown = JSON.parse(
    JSON.stringify(result, (_, value: unknown) => (typeof value === "number" ? Number(value.toFixed(2)) : value)),
  );
  if (values.json) console.log(JSON.stringify(rounded));
  else console.dir(rounded, { depth: null });
} finally {
  await stack.stop();
}
process.exit(0);
