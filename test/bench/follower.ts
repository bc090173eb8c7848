// `npm run bench:follower`: how fast the follower and the outbox are, on a MongoDB of their own and a simulated subgraph, or
// (--real) behind a real chain and graph-node.
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";

import { readArguments, refuseArguments, wholeNumber } from "../../scripts/command/arguments.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { startStack } from "../../scripts/local/stack.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import { FollowerBench } from "../fixtures/follower.ts";
import { measureFairness } from "./follower/fairness.ts";
import { RealChainBench } from "./follower/real-chain.ts";
import { measureApplying, measureClaims, measureLag, measureReorganisation } from "./follower/measurements.ts";

const PARTS = ["applying", "lag", "reorganisation", "claims", "fairness"] as const;

const REAL_RATES = [30, 50, 100, 200] as const;

const HELP = `usage: npm run bench:follower -- [--only PART,… | --real] [--deals N] [--seconds N] [--json]

Measures the follower on a MongoDB of its own against a simulated subgraph: events applied per second; the lag at 10, 50
and 200 deals a second (three moves each, blocks of 2 s); reorganisations of 1, 60 and 1,000 blocks; and claims per second
from the outbox with 0 and with 100,000 dispatches waiting for one slow agent. "per floor" is how many times longer that
takes than plain writes of the same documents in the same run (of one update a claim for the outbox). Fairness: how long a
healthy seller's webhooks take alone, and beside 10 and 40 sellers whose endpoints hang with five deals each; "per alone" is
the ratio, whose goal is at most 2.
  --real        instead of all this, the lag behind anvil and graph-node, at ${REAL_RATES.join(", ")} deals a second: from a
                block to the subgraph that shows it, and to the follower's records
  --only PART   only these of ${PARTS.join(", ")}
  --deals N     deals of the first measurement (default 2000)
  --seconds N   how long each rate is kept up (default 20)
  --json        print one JSON object
  --help        this text`;

const { values } = readArguments(HELP, {
  only: { type: "string", default: PARTS.join(",") },
  deals: { type: "string", default: "2000" },
  seconds: { type: "string", default: "20" },
  real: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
});
const deals = wholeNumber("--deals", values.deals, 100, 1_000_000);
const seconds = wholeNumber("--seconds", values.seconds, 2, 3_600);
const wanted = values.only.split(",");
const unknown = wanted.find((part) => !PARTS.some((name) => name === part));
if (unknown !== undefined) refuseArguments(`--only: "${unknown}" is none of ${PARTS.join(", ")}`);
const RATES = [10, 50, 200] as const;
const DEPTHS = [1, 60, 1_000] as const;
const BACKLOGS = [0, 100_000] as const;
const HANGING_SELLERS = [10, 40] as const;

/** Runs one measurement after the other: they share two cores. */
async function measureEach<const T extends number>(of: readonly T[], measure: (value: T) => Promise<object>) {
  const results: Record<string, object> = {};
  for (const value of of) results[value] = await measure(value);
  return results;
}

/** Takes a measurement when its part is wanted. */
async function onlyIf(part: (typeof PARTS)[number], measurement: Record<string, () => Promise<object>>) {
  const results: Record<string, object> = {};
  if (!wanted.includes(part)) return results;
  for (const [name, measure] of Object.entries(measurement)) results[name] = await measure();
  return results;
}

async function simulated(bench: FollowerBench): Promise<object> {
  return {
    ...(await onlyIf("applying", { applying: () => measureApplying(bench, deals) })),
    ...(await onlyIf("lag", {
      lagByDealsPerSecond: () => measureEach(RATES, (rate) => measureLag(bench, rate, seconds)),
    })),
    ...(await onlyIf("reorganisation", {
      reorganisationByBlocks: () => measureEach(DEPTHS, (depth) => measureReorganisation(bench, depth)),
    })),
    ...(await onlyIf("claims", {
      claimsByWaiting: () => measureEach(BACKLOGS, (waiting) => measureClaims(bench, waiting)),
    })),
    ...(await onlyIf("fairness", {
      webhookByHangingSellers: () => measureEach(HANGING_SELLERS, (count) => measureFairness(bench, count, seconds)),
    })),
  };
}

async function real(bench: FollowerBench): Promise<object> {
  const chain = await RealChainBench.open(bench);
  return { realByDealsPerSecond: await measureEach(REAL_RATES, (rate) => chain.measure(rate, seconds)) };
}

const stack = await startStack({
  dir: join(".local", "bench", "follower"),
  portBase: await findFreePorts(PORTS_PER_STACK),
  only: values.real ? ["graph", "mongo"] : ["mongo"],
  fresh: true,
});
process.env["TEST_STACK"] = stack.factsPath;
try {
  const bench = await FollowerBench.open();
  const result = {
    cores: availableParallelism(),
    /** Processes that ran or waited to, averaged over the minute before; with more than there are cores, all is slower. */
    load: loadavg()[0],
    ...(await (values.real ? real(bench) : simulated(bench))),
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
