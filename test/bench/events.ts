// `npm run bench:events`: webhooks, streams, messages and memory under load, in real processes.
import { mkdirSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";

import { readArguments, refuseArguments } from "../../scripts/command/arguments.ts";
import { startBenchStack } from "./api/stack.ts";
import { measureBlockToWebhook } from "./events/block-to-webhook.ts";
import { measureDeliveries } from "./events/deliveries.ts";
import { measureMemorySearch } from "./events/memory-search.ts";
import { measureMessages } from "./events/messages.ts";
import type { EventsBench, PartResult } from "./events/service.ts";
import { measureStreams } from "./events/streams.ts";

const MEASURES = {
  deliveries: measureDeliveries,
  streams: measureStreams,
  messages: measureMessages,
  memorySearch: measureMemorySearch,
};
const BLOCK_TO_WEBHOOK = "blockToWebhook";
const PARTS = [BLOCK_TO_WEBHOOK, ...Object.keys(MEASURES)];

const HELP = `usage: npm run bench:events -- [--only PART,…] [--scale FACTOR] [--dir DIR] [--profile] [--json]

Measures what agents get, with API, worker, clients and receivers as processes of their own, on chains and a MongoDB of its
own. Times are milliseconds. Everything that arrives is counted: an event that is lost, sent again after its acknowledgement
or in different orders in two streams of an agent is a fault, and ends the command with 1.
  blockToWebhook  100 deals, one after the other: from the block of an escrow to its seller's webhook, behind anvil and
                  graph-node. Floor: from the block to the subgraph that shows it
  deliveries      10,000 events, 50 a second, to 50 registered webhooks, 17 of which refuse, hang or take three seconds:
                  how long those of healthy receivers take, beside the others and alone, and how long until the last
                  one is given up. Floor: plain POSTs. Takes 40 minutes, because a webhook that hangs is tried twice for
                  ten seconds
  streams         1,000 open streams of 200 agents on one API, 100 events a second for a minute, each for two agents: from the
                  transaction that records an event to its arrival, and the API's memory. Floor: a bare server that writes
                  to as many answers
  messages        3,000 messages to agents and 1,500 to topics with five subscribers each, until they have arrived. Floor:
                  a bare Koa route that inserts one document
  memorySearch    300 searches by meaning of 1,000, 10,000 and 100,000 entries. Floor: the encoder alone and a read of one entry
  --only PART     only these of ${PARTS.join(", ")}
  --scale FACTOR  multiplies the sizes, 0.01 to 10 (default 1)
  --dir DIR       data and logs (default .local/bench/events)
  --profile       write CPU profiles of API and worker to that folder
  --json          print one JSON object
  --help          this text`;

const { values } = readArguments(HELP, {
  only: { type: "string", default: PARTS.join(",") },
  scale: { type: "string", default: "1" },
  dir: { type: "string", default: join(".local", "bench", "events") },
  profile: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
});
const wanted = values.only.split(",");
const unknown = wanted.find((part) => !PARTS.includes(part));
if (unknown !== undefined) refuseArguments(`--only: "${unknown}" is none of ${PARTS.join(", ")}`);
const scale = Number(values.scale);
if (!(scale >= 0.01 && scale <= 10)) refuseArguments(`--scale must be from 0.01 to 10, not "${values.scale}".`);

const { dir } = values;
mkdirSync(dir, { recursive: true });
const say = (text: string): void => {
  if (!values.json) console.log(text);
};

const results: Record<string, PartResult & { load: number }> = {};

async function take(name: string, bench: EventsBench, measure: (bench: EventsBench) => Promise<PartResult>) {
  const result = await measure(bench);
  /** Processes that ran or waited to, averaged over the last minute; this command and what it starts are among them. */
  results[name] = { ...result, load: loadavg()[0] ?? 0 };
}

const bench = { scale, dir, say, profile: values.profile, mongodbUri: "" };
if (wanted.includes(BLOCK_TO_WEBHOOK)) await take(BLOCK_TO_WEBHOOK, bench, measureBlockToWebhook);
const others = Object.entries(MEASURES).filter(([name]) => wanted.includes(name));
if (others.length > 0) {
  // None of these parts follows the chains.
  const stack = await startBenchStack(dir);
  try {
    const { mongodbUri } = stack;
    for (const [name, measure] of others) await take(name, { ...bench, mongodbUri }, measure);
  } finally {
    await stack.stop();
  }
}

const rounded: unknown = JSON.parse(
  JSON.stringify({ cores: availableParallelism(), scale, ...results }, (_, value: unknown) =>
    typeof value === "number" ? Number(value.toFixed(2)) : value,
  ),
);
if (values.json) console.log(JSON.stringify(rounded));
else console.dir(rounded, { depth: null });
const faults = Object.values(results).flatMap((result) => result.faults);
process.exit(faults.length === 0 ? 0 : 1);
