// `npm run bench:api`: what a call of the API costs, compared with a bare Koa route that reads one document.
import { randomBytes } from "node:crypto";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";

import { readArguments, refuseArguments, wholeNumber } from "../../scripts/command/arguments.ts";
import { load, median } from "./api/load.ts";
import type { Measured } from "./api/load.ts";
import { openMarket, startCountedApi } from "./api/market.ts";
import type { Market, Subject } from "./api/market.ts";
import { roundTripsOf } from "./api/round-trips.ts";
import { startApiServer, startFloor } from "./api/servers.ts";
import type { BenchServer } from "./api/servers.ts";
import { addressOf, startBenchStack } from "./api/stack.ts";

const SUBJECTS = ["read", "search", "discover", "checkout"] as const satisfies readonly Subject[];
/** Calls under way: fewer for those that wait for a chain or compute an embedding. */
const CONNECTIONS: Record<Subject | "floor", number> = { floor: 16, read: 16, search: 8, discover: 8, checkout: 8 };

const HELP = `usage: npm run bench:api -- [--only SUBJECT,…] [--rounds N] [--seconds N] [--profile] [--json]

Measures an authenticated read of one service, a search of services, a discover and a checkout on chains and a MongoDB of
their own, with 1,000 listings and the specification's limits and budgets in force. In each round every subject runs beside
the floor: a bare Koa route that answers one indexed findOne on the same database. "per floor" is the median over the rounds of
the subject's calls per second divided by the floor's. Agents take turns, so that none reaches its limit. Also counts the
commands that a call sends to the database.
  --only SUBJECT  only these of ${SUBJECTS.join(", ")}
  --rounds N      how often each subject is measured (default 5)
  --seconds N     how long each measurement takes (default 2)
  --profile       write a CPU profile of the API to .local/bench/api
  --json          print one JSON object
  --help          this text`;

const { values } = readArguments(HELP, {
  only: { type: "string", default: SUBJECTS.join(",") },
  rounds: { type: "string", default: "5" },
  seconds: { type: "string", default: "2" },
  profile: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
});
const rounds = wholeNumber("--rounds", values.rounds, 1, 1_000);
const seconds = wholeNumber("--seconds", values.seconds, 1, 3_600);
const wanted = values.only.split(",");
const unknown = wanted.find((subject) => !SUBJECTS.some((name) => name === subject));
if (unknown !== undefined) refuseArguments(`--only: "${unknown}" is none of ${SUBJECTS.join(", ")}`);
const subjects = SUBJECTS.filter((subject) => wanted.includes(subject));

const DIR = join(".local", "bench", "api");
const say = (text: string): void => {
  if (!values.json) console.log(text);
};

/** One measurement of a subject and of the floor right before and after it. */
interface Round {
  measured: Measured;
  floor: Measured;
  perFloor: number;
  cpuPerFloor: number;
}

class ApiBench {
  readonly #market: Market;
  readonly #api: BenchServer;
  readonly #floor: BenchServer;

  constructor(market: Market, api: BenchServer, floor: BenchServer) {
    this.#market = market;
    this.#api = api;
    this.#floor = floor;
  }

  #loadFloor(): Promise<Measured> {
    const next = () => ({ method: "GET", path: `/services/${this.#market.listingId()}`, headers: {}, status: 200 });
    return load(this.#floor, { seconds: seconds / 2, connections: CONNECTIONS.floor, next: next as never });
  }

  #loadApi(subject: Subject): Promise<Measured> {
    const next = (connection: number) => this.#market.call(subject, connection);
    return load(this.#api, { seconds, connections: CONNECTIONS[subject], next });
  }

  /** Runs everything once, so that code is compiled and connections are open. */
  async warmUp(): Promise<void> {
    await this.#loadFloor();
    for (const subject of subjects) await this.#loadApi(subject);
  }

  async measure(subject: Subject): Promise<Round> {
    const before = await this.#loadFloor();
    const measured = await this.#loadApi(subject);
    const after = await this.#loadFloor();
    const mean = (key: keyof Measured) => (before[key] + after[key]) / 2;
    const floor = { callsPerSecond: mean("callsPerSecond"), p99Ms: mean("p99Ms"), cpuMsPerCall: mean("cpuMsPerCall") };
    return {
      measured,
      floor,
      perFloor: measured.callsPerSecond / floor.callsPerSecond,
      cpuPerFloor: measured.cpuMsPerCall / floor.cpuMsPerCall,
    };
  }
}

function summaryOf(measured: readonly Measured[]) {
  return {
    callsPerSecond: Math.round(median(measured.map((one) => one.callsPerSecond))),
    p99Ms: Number(median(measured.map((one) => one.p99Ms)).toFixed(1)),
    cpuMsPerCall: Number(median(measured.map((one) => one.cpuMsPerCall)).toFixed(2)),
  };
}

const two = (value: number) => Number(value.toFixed(2));

const stack = await startBenchStack(DIR);
try {
  const { mongodbUri } = stack;
  const databaseName = `bench_api_${randomBytes(4).toString("hex")}`;
  say("filling the database …");
  const counted = await startCountedApi(databaseName, mongodbUri);
  const market = await openMarket(counted);
  const roundTrips: Partial<Record<Subject, number>> = {};
  for (const subject of subjects) roundTrips[subject] = await roundTripsOf(counted, market, subject);
  await counted.stop();

  const [api, floor] = await Promise.all([
    startApiServer({ databaseUri: addressOf(databaseName, mongodbUri), dir: DIR, profile: values.profile }),
    startFloor(mongodbUri, databaseName),
  ]);
  const bench = new ApiBench(market, api, floor);
  await bench.warmUp();
  const taken: Record<Subject, Round[]> = { read: [], search: [], discover: [], checkout: [] };
  for (let round = 1; round <= rounds; round += 1) {
    for (const subject of subjects) {
      const result = await bench.measure(subject);
      taken[subject].push(result);
      const calls = Math.round(result.measured.callsPerSecond);
      say(`round ${round} of ${rounds}, ${subject}: ${calls} calls a second, ${two(result.perFloor)} per floor`);
    }
  }
  await Promise.all([api.stop(), floor.stop()]);

  const result = {
    cores: availableParallelism(),
    /** Processes that ran or waited to, averaged over the last minute; this command and what it starts are among them. */
    load: two(loadavg()[0] ?? 0),
    rounds,
    seconds,
    floor: summaryOf(subjects.flatMap((subject) => taken[subject].map((round) => round.floor))),
    ...Object.fromEntries(
      subjects.map((subject) => [
        subject,
        {
          ...summaryOf(taken[subject].map((round) => round.measured)),
          perFloor: two(median(taken[subject].map((round) => round.perFloor))),
          /** The processor time of the server alone; unlike the rate, other programs barely change it. */
          cpuPerFloor: two(median(taken[subject].map((round) => round.cpuPerFloor))),
          roundTrips: roundTrips[subject],
        },
      ]),
    ),
  };
  if (values.json) console.log(JSON.stringify(result));
  else console.dir(result);
} finally {
  await stack.stop();
}
process.exit(0);
