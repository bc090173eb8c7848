// `npm run bench:sockets`: how long an honest client waits beside hostile connections.
import { randomBytes } from "node:crypto";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Pool } from "undici";

import { readArguments, wholeNumber } from "../../scripts/command/arguments.ts";
import { readStack } from "../fixtures/api.ts";
import { startApiServer } from "./api/servers.ts";
import { addressOf, startBenchStack } from "./api/stack.ts";

const KINDS = [
  ...["sends ahead, reads nothing", "sends ahead, reads all", "reads slowly", "sends slowly", "says nothing"],
  "closes its half",
];

const HELP = `usage: npm run bench:sockets -- [--connections N] [--seconds N] [--stack FILE] [--json]

Asks for the categories over one connection, call after call, alone and beside hostile connections of each kind, which another
process opens from another address and opens again when they are closed. Prints the honest client's p95 and its ratio to p95 alone,
measured right before and after. Limits of calls are off, so that every hostile request is handled.
  --connections N  hostile connections (default 100)
  --seconds N      how long each measurement takes (default 20)
  --stack FILE     facts of a running stack, instead of starting chains and a MongoDB
  --json           print one JSON object
  --help           this text`;

const { values } = readArguments(HELP, {
  connections: { type: "string", default: "100" },
  seconds: { type: "string", default: "20" },
  stack: { type: "string" },
  json: { type: "boolean", default: false },
});
const connections = wholeNumber("--connections", values.connections, 1, 10_000);
const seconds = wholeNumber("--seconds", values.seconds, 1, 3_600);

const DIR = join(".local", "bench", "sockets");
/** So that hostile connections are open, and full, when the measurement begins. */
const WARM_UP_MS = 2_000;
const UNLIMITED = "1000000";

/** Latencies of an honest client, in milliseconds. */
interface Latencies {
  calls: number;
  p50: number;
  p95: number;
  max: number;
}

async function measure(url: string, duration: number): Promise<Latencies> {
  const pool = new Pool(url, { connections: 1, pipelining: 1, localAddress: "127.0.0.2" });
  const taken: number[] = [];
  const endsAt = performance.now() + duration * 1_000;
  while (performance.now() < endsAt) {
    const sentAt = performance.now();
    const { statusCode, body } = await pool.request({ method: "GET", path: "/api/v1/categories" });
    await body.text();
    if (statusCode !== 200) throw new Error(`The honest client was answered ${statusCode}`);
    taken.push(performance.now() - sentAt);
  }
  await pool.close();
  const sorted = taken.toSorted((one, other) => one - other);
  const share = (part: number) => Number((sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN).toFixed(1));
  return { calls: sorted.length, p50: share(0.5), p95: share(0.95), max: share(1) };
}

/** Measures beside hostile connections of a kind, between two measurements alone. */
async function measureKind(url: string, kind: string) {
  const before = await measure(url, seconds / 2);
  const hostile = spawn(
    process.execPath,
    [join("test", "bench", "sockets", "hostile.ts"), url, kind, String(connections)],
    {
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  const ended = once(hostile, "exit");
  let beside: Latencies;
  try {
    await sleep(WARM_UP_MS);
    beside = await measure(url, seconds);
  } finally {
    hostile.kill("SIGKILL");
    await ended;
  }
  const after = await measure(url, seconds / 2);
  const alone = Number(((before.p95 + after.p95) / 2).toFixed(1));
  return { alone, beside, ratio: Number((beside.p95 / alone).toFixed(2)) };
}

mkdirSync(DIR, { recursive: true });
const stack = values.stack === undefined ? await startBenchStack(DIR) : undefined;
if (values.stack !== undefined) process.env["TEST_STACK"] = values.stack;
const { mongodbUri } = await readStack();
const databaseUri = addressOf(`bench_sockets_${randomBytes(4).toString("hex")}`, mongodbUri);
const variables = { TRUST_PROXY: "0", CONNECTIONS_PER_ADDRESS: "200", RATE_LIMIT_KEYLESS: UNLIMITED };
const api = await startApiServer({ databaseUri, dir: DIR, profile: false, variables });
try {
  await measure(api.url, 1);
  const kinds: Record<string, Awaited<ReturnType<typeof measureKind>>> = {};
  for (const kind of KINDS) {
    kinds[kind] = await measureKind(api.url, kind);
    const { alone, beside, ratio } = kinds[kind];
    if (!values.json)
      console.log(`${kind}: p95 ${beside.p95} ms, alone ${alone} ms, ratio ${ratio} (${beside.calls} calls)`);
  }
  const result = {
    cores: availableParallelism(),
    load: Number((loadavg()[0] ?? 0).toFixed(1)),
    connections,
    seconds,
    kinds,
  };
  if (values.json) console.log(JSON.stringify(result));
} finally {
  await api.stop();
  await stack?.stop();
}
process.exit(0);
