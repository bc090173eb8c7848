// `npm run bench:pages`: the rate of a cached page beside a bare node:http, and how soon a search box takes a key.
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";

import { request } from "undici";

import { readArguments, wholeNumber } from "../../scripts/command/arguments.ts";
import { openBrowser } from "../fixtures/browser.ts";
import { buildPages } from "../fixtures/page-bundle.ts";
import { load, median } from "./api/load.ts";
import type { Measured } from "./api/load.ts";
import { createListings, startCountedApi } from "./api/market.ts";
import { startApiServer, startFloorProgram } from "./api/servers.ts";
import type { BenchServer } from "./api/servers.ts";
import { addressOf, startBenchStack } from "./api/stack.ts";
import { firstKey, SLOWED } from "./pages/first-key.ts";
import type { FirstKey } from "./pages/first-key.ts";

const HELP = `usage: npm run bench:pages -- [--rounds N] [--seconds N] [--json] [--help]

Measures the market's page from the API's cache beside a bare node:http that sends the same bytes, in turns, on chains and a
MongoDB of their own with 1,000 listings; "per floor" is the median over the rounds. Then opens the market and the search in a
browser whose processor is slowed ${SLOWED} times and types a letter into the search box; the figures are medians too.
  --rounds N    how often each is measured (default 5)
  --seconds N   how long a rate is measured (default 2)
  --json        print one JSON object
  --help        this text`;

const { values } = readArguments(HELP, {
  rounds: { type: "string", default: "5" },
  seconds: { type: "string", default: "2" },
  json: { type: "boolean", default: false },
});
const rounds = wholeNumber("--rounds", values.rounds, 1, 1_000);
const seconds = wholeNumber("--seconds", values.seconds, 1, 3_600);

const DIR = join(".local", "bench", "pages");
const CONNECTIONS = 16;
/** As browsers ask for it. */
const HEADERS = { accept: "text/html", "accept-encoding": "gzip, deflate, br", "x-forwarded-for": "203.0.113.1" };
const PAGES_WITH_BOX = { market: "/", search: "/search" } as const;

const say = (text: string): void => {
  if (!values.json) console.log(text);
};
const two = (value: number) => Number(value.toFixed(2));

/** Starts the floor with what the API sends for its page. */
async function startFloor(api: BenchServer): Promise<BenchServer> {
  const { statusCode, headers, body } = await request(api.url, { headers: HEADERS });
  const bytes = Buffer.from(await body.arrayBuffer());
  if (statusCode !== 200) throw new Error(`/: ${statusCode} ${bytes.toString()}`);
  const file = join(DIR, "page");
  writeFileSync(file, bytes);
  const same = Object.entries(headers).filter(([name]) => !["connection", "transfer-encoding"].includes(name));
  const program = join("test", "bench", "pages", "floor.ts");
  return startFloorProgram(program, file, JSON.stringify(Object.fromEntries(same)));
}

const loadPage = (server: BenchServer, share = 1): Promise<Measured> =>
  load(server, {
    seconds: seconds * share,
    connections: CONNECTIONS,
    next: () => ({ method: "GET", path: "/", headers: HEADERS, status: 200 }),
  });

/** A round of the page's rate, beside the floor right before and after it. */
interface Rate {
  page: Measured;
  perFloor: number;
  cpuPerFloor: number;
}

async function measureRates(api: BenchServer): Promise<Rate[]> {
  const floor = await startFloor(api);
  try {
    for (const server of [floor, api]) await loadPage(server);
    const rates: Rate[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const [before, page, after] = [await loadPage(floor, 0.5), await loadPage(api), await loadPage(floor, 0.5)];
      const per = (key: "callsPerSecond" | "cpuMsPerCall") => page[key] / ((before[key] + after[key]) / 2);
      const perFloor = per("callsPerSecond");
      rates.push({ page, perFloor, cpuPerFloor: per("cpuMsPerCall") });
      say(`round ${round} of ${rounds}: ${Math.round(page.callsPerSecond)} pages a second, ${two(perFloor)} per floor`);
    }
    return rates;
  } finally {
    await floor.stop();
  }
}

/** How soon the search box of each page that has one takes a key. */
async function measureKeys(api: BenchServer): Promise<Record<string, FirstKey[]>> {
  const browser = await openBrowser();
  try {
    const keys: Record<string, FirstKey[]> = {};
    for (const [name, path] of Object.entries(PAGES_WITH_BOX)) {
      const times: FirstKey[] = [];
      for (let round = 1; round <= rounds; round += 1) times.push(await firstKey(browser, api.url + path));
      keys[name] = times;
      say(`${name}: ${times.map(totalMs).map(Math.round).join(", ")} ms to the first key`);
    }
    return keys;
  } finally {
    await browser.close();
  }
}

const totalMs = ({ aliveMs, keyMs }: FirstKey): number => aliveMs + keyMs;

const stack = await startBenchStack(DIR);
try {
  const { mongodbUri } = stack;
  const databaseName = `bench_pages_${randomBytes(4).toString("hex")}`;
  say("filling the database …");
  const counted = await startCountedApi(databaseName, mongodbUri);
  await createListings(counted);
  await counted.stop();
  const webDir = await buildPages();
  const options = {
    databaseUri: addressOf(databaseName, mongodbUri),
    dir: DIR,
    profile: false,
    variables: { WEB_DIR: webDir },
  };
  const api = await startApiServer(options);
  let rates: Rate[];
  let keys: Record<string, FirstKey[]>;
  try {
    rates = await measureRates(api);
    keys = await measureKeys(api);
  } finally {
    await api.stop();
  }

  const medianOf = (samples: FirstKey[], key: keyof FirstKey) => Math.round(median(samples.map((one) => one[key])));
  const result = {
    cores: availableParallelism(),
    load: two(loadavg()[0] ?? 0),
    rounds,
    seconds,
    page: {
      pagesPerSecond: Math.round(median(rates.map(({ page }) => page.callsPerSecond))),
      p99Ms: two(median(rates.map(({ page }) => page.p99Ms))),
      perFloor: two(median(rates.map((rate) => rate.perFloor))),
      cpuPerFloor: two(median(rates.map((rate) => rate.cpuPerFloor))),
    },
    firstKey: Object.fromEntries(
      Object.entries(keys).map(([name, samples]) => [
        name,
        {
          aliveMs: medianOf(samples, "aliveMs"),
          keyMs: medianOf(samples, "keyMs"),
          totalMs: Math.round(median(samples.map(totalMs))),
        },
      ]),
    ),
  };
  if (values.json) console.log(JSON.stringify(result));
  else console.dir(result, { depth: 4 });
} finally {
  await stack.stop();
}
process.exit(0);
