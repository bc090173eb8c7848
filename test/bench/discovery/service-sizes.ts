// A size of the market measured through real processes: a worker that builds the index from MongoDB, and two APIs that search it.
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";

import type { ListingRecord } from "../../../api/features/listings/model.ts";
import { listingBody, startTestApi } from "../../fixtures/api.ts";
import { seededRandom } from "../../fixtures/random.ts";
import { until } from "../../fixtures/until.ts";
import { agentIdOf, grantAccess, madeUpWallets } from "../api/callers.ts";
import { cpuMsOf, load } from "../api/load.ts";
import type { Call } from "../api/load.ts";
import { startApiServer, startWorkerProcess } from "../api/servers.ts";
import type { BenchServer } from "../api/servers.ts";
import { addressOf } from "../api/stack.ts";
import { delaysOf, memoryOf } from "../events/summary.ts";
import { loadQueries } from "./corpus.ts";
import { recordOf } from "./records.ts";
import { generate, megabytesOf } from "./sizes.ts";
import type { Seed } from "./sizes.ts";
import { isTrusted, trustSellers, walletOf } from "./trusted-sellers.ts";
import { timeWithoutIndex } from "./without-index.ts";

/** Where a service runs that the bench measures. */
interface ServiceBench {
  dir: string;
  mongodbUri: string;
  /** One seller in so many has a score. */
  trustedOneIn: number;
  say: (text: string) => void;
}

const PATH = "/api/v1/discover";
const INSERTED_AT_ONCE = 1_000;
const WARM_UP = 20;
const QUERIES = 300;
const QUERIES_WITHOUT_INDEX = 50;
const LOAD_SECONDS = 10;
const CONNECTIONS = 4;
const CHANGES = 20;
const BUILT_WITHIN_MS = 7_200_000;
/** Coprime to the number of queries. */
const STRIDE = 7_919;
/** The bench searches more often than the specification allows one address. */
const MANY = "1000000";
const RAISED = { RATE_LIMIT_DISCOVER: MANY, RATE_LIMIT_KEYLESS: MANY, RATE_LIMIT_GENERAL: MANY };

const texts = loadQueries().map(({ query }) => query);
const queryOf = (turn: number) => texts[(turn * STRIDE) % texts.length] ?? "";

const round = (value: number) => Number(value.toFixed(1));

/** Fills a database of its own with generated listings and measures build, searches and how soon a change shows. */
export async function measureServiceSize(size: number, seeds: readonly Seed[], bench: ServiceBench) {
  const { dir, mongodbUri, trustedOneIn, say } = bench;
  const databaseName = `bench_discovery_${randomBytes(4).toString("hex")}`;
  const local = await startTestApi({ databaseName });
  const { connection, env, features } = local.container;
  const folderOf = (name: string): string => {
    const folder = join(dir, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  };
  const options = (name: string) => ({
    databaseUri: addressOf(databaseName, mongodbUri),
    dir: folderOf(name),
    profile: false,
    variables: RAISED,
  });
  const stopping: (() => Promise<void>)[] = [];

  /** @returns the number of sellers that are trusted */
  async function fill(): Promise<number> {
    const random = seededRandom();
    const { model } = features.discovery.encoders.current;
    const listings = connection.collection<ListingRecord>("listings");
    const trusted = new Map<string, ListingRecord>();
    for (let done = 0; done < size; done += INSERTED_AT_ONCE) {
      const count = Math.min(INSERTED_AT_ONCE, size - done);
      const records = Array.from({ length: count }, (_, n): ListingRecord => {
        const { document, vector } = generate(seeds, done + n, random);
        const sellerAddress = walletOf(document.sellerAgentId);
        return recordOf({ ...document, sellerAddress }, vector, model);
      });
      await listings.insertMany(records);
      for (const record of records)
        if (isTrusted(record.sellerAgentId, trustedOneIn)) trusted.set(record.sellerAgentId, record);
    }
    await trustSellers(connection, [...trusted.values()]);
    return trusted.size;
  }

  async function call(server: BenchServer, method: string, path: string, body: object, key?: string): Promise<unknown> {
    const headers = { "content-type": "application/json", ...(key === undefined ? {} : { "x-api-key": key }) };
    const answer = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as unknown;
  }
  /** Ids of the answers; undefined if the search is refused. */
  async function answersOf(server: BenchServer, query: string): Promise<string[] | undefined> {
    try {
      return await idsOf(server, query);
    } catch (error) {
      if (String(error).includes("search_unavailable")) return undefined;
      throw error;
    }
  }
  const discover = (server: BenchServer, query: string, filters = {}) => call(server, "POST", PATH, { query, filters });
  const idsOf = async (server: BenchServer, query: string) =>
    ((await discover(server, query)) as { serviceId: string }[]).map(({ serviceId }) => serviceId);

  async function search(server: BenchServer, filters: object) {
    for (let turn = 0; turn < WARM_UP; turn += 1) await discover(server, queryOf(turn), filters);
    const samples: number[] = [];
    const cpuBefore = cpuMsOf(server.pid);
    for (let turn = 0; turn < QUERIES; turn += 1) {
      const sentAt = performance.now();
      await discover(server, queryOf(turn), filters);
      samples.push(performance.now() - sentAt);
    }
    return { ...delaysOf(samples), cpuMs: round((cpuMsOf(server.pid) - cpuBefore) / QUERIES) };
  }

  async function searchesPerSecond(...servers: BenchServer[]): Promise<number> {
    let turn = 0;
    const next = (): Call => ({
      method: "POST",
      path: PATH,
      status: 200,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query: queryOf(turn++) }),
    });
    const measured = await Promise.all(
      servers.map((server) => load(server, { seconds: LOAD_SECONDS, connections: CONNECTIONS, next })),
    );
    return round(measured.reduce((sum, { callsPerSecond }) => sum + callsPerSecond, 0));
  }

  /** From the request that changes something at one API until searches of the other show it. */
  async function changes(one: BenchServer, other: BenchServer) {
    const [key = ""] = await grantAccess(connection, madeUpWallets(1));
    const delays = { created: [], changed: [], paused: [] } as Record<"created" | "changed" | "paused", number[]>;
    const timed = async <T>(samples: number[], change: () => Promise<T>, isShown: (changed: T) => Promise<boolean>) => {
      const startedAt = performance.now();
      const changed = await change();
      while (!(await isShown(changed)));
      samples.push(performance.now() - startedAt);
      return changed;
    };
    for (let turn = 0; turn < CHANGES; turn += 1) {
      const [before, after] = [`Quorblex${turn} tuning`, `Blorptang${turn} tuning`];
      const create = () => call(one, "POST", "/api/v1/services", listingBody({ title: before }), key);
      const idOf = (answer: unknown) => (answer as { data: { id: string } }).data.id;
      const id = idOf(
        await timed(delays.created, create, async (answer) => (await idsOf(other, before)).includes(idOf(answer))),
      );
      const edit = (body: object) => call(one, "PATCH", `/api/v1/services/${id}`, body, key);
      const isFoundBy = async (query: string) => (await idsOf(other, query)).includes(id);
      await timed(
        delays.changed,
        () => edit({ title: after }),
        () => isFoundBy(after),
      );
      await timed(
        delays.paused,
        () => edit({ status: "paused" }),
        async () => !(await isFoundBy(after)),
      );
    }
    await connection.collection("listings").deleteMany({ sellerAgentId: agentIdOf(key) });
    return { created: delaysOf(delays.created), changed: delaysOf(delays.changed), paused: delaysOf(delays.paused) };
  }

  try {
    say(`${size}: storing`);
    const trustedSellers = await fill();
    say(`${size}: building`);
    const builtFrom = performance.now();
    const worker = await startWorkerProcess(options("worker"));
    stopping.push(() => worker.stop());
    const isBuilt = async () => (await features.discovery.state.listings().catch(() => -1)) === size;
    await until("the index is built", isBuilt, BUILT_WITHIN_MS);
    const buildSeconds = round((performance.now() - builtFrom) / 1_000);
    const folder = join(env.searchIndexUrl, databaseName);
    const one = await startApiServer(options("one"));
    stopping.push(() => one.stop());
    const other = await startApiServer(options("other"));
    stopping.push(() => other.stop());
    say(`${size}: searching`);
    // maxPrice is in dollars, like the prices.
    const searches = {
      all: await search(one, {}),
      twoPercent: await search(one, { maxPrice: 2 }),
      half: await search(one, { maxPrice: 50 }),
    };
    const perSecond = { one: await searchesPerSecond(one), two: await searchesPerSecond(one, other) };
    const diskMb = round(megabytesOf(folder));
    say(`${size}: changing`);
    const shown = await changes(one, other);
    const memory = { worker: memoryOf(worker.pid), api: memoryOf(one.pid) };
    say(`${size}: searching without the index`);
    await worker.stop();
    await rm(folder, { recursive: true });
    const withoutIndex = await timeWithoutIndex(
      Array.from({ length: QUERIES_WITHOUT_INDEX }, (_, turn) => queryOf(turn)),
      (query) => answersOf(one, query),
    );
    return {
      listings: size,
      trustedSellers,
      buildSeconds,
      diskMb,
      search: searches,
      searchesPerSecond: perSecond,
      shown,
      withoutIndex,
      ...memory,
    };
  } finally {
    for (const stop of stopping.toReversed()) await stop();
    await local.close();
  }
}

export type ServiceSizeResult = Awaited<ReturnType<typeof measureServiceSize>>;
