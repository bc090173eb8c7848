import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import pg from "pg";

import { openChain } from "../../fixtures/stack.ts";
import { delaysOf } from "../events/summary.ts";
import type { Delays } from "../events/summary.ts";
import { IndexingStack, NETWORK } from "./indexing-stack.ts";
import { countEvents, MinedDeals } from "./mined-deals.ts";
import type { Ending } from "./mined-deals.ts";
import type { IndexingBench, PartResult } from "./part.ts";
import { readPlans } from "./plans.ts";
import { apiQueries, readmeQueries } from "./query-cases.ts";
import type { IndexedHistory, QueryCase } from "./query-cases.ts";

const PAIRS = 100;
const DEALS_PER_BLOCK = 500;
/** The series get some hours: a hundred thousand escrows take two days. */
const SECONDS_PER_BLOCK = 900;
/** A table with so many rows must not be read from one end to the other. */
const BIG_TABLE_ROWS = 1_000;
const HEAD_POLL_MS = 200;
/** Postgres' processes take a changed setting over one after the other, each before its next statement. */
const RELOAD_MS = 1_000;
/** How each ten deals end. */
const ENDINGS: readonly Ending[] = [
  ...(["funded", "funded", "funded", "funded", "delivered"] as const),
  ...(["delivered", "released", "released", "released", "disputed"] as const),
];

/** Answers of a subgraph. */
async function ask(url: string, text: string, variables: Record<string, unknown>): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: text, variables }),
  });
  const { data, errors } = (await response.json()) as { data?: unknown; errors?: { message: string }[] };
  if (errors?.[0] !== undefined) throw new Error(errors[0].message);
  return data;
}

/** Mines escrows, has graph-node index them, and returns what is in the subgraph then. */
async function fill(bench: IndexingBench, stack: IndexingStack) {
  const { escrows, say } = bench;
  stack.writeFacts();
  const chain = await openChain(NETWORK);
  const { client } = chain;
  const mined = await MinedDeals.open(chain, PAIRS);
  const before = await client.getBlock();
  say(`queries: mining ${escrows} escrows`);
  const deals = await mined.plan(escrows);
  const ending = (index: number) => ENDINGS[index % ENDINGS.length] ?? "funded";
  await mined.mine(deals, { perBlock: DEALS_PER_BLOCK, secondsPerBlock: SECONDS_PER_BLOCK, ending });
  const head = await client.getBlock();
  const events = await countEvents(chain, before.number, head.number);
  say(`queries: indexing ${events} events`);
  const startedAt = performance.now();
  // Answers that graph-node remembers would be measured instead of queries. With this it remembers those of no subgraph.
  process.env["GRAPH_CACHED_SUBGRAPH_IDS"] = "none";
  await stack.startGraph([NETWORK]);
  const META = "{ _meta { block { number } } }";
  const indexed = async () =>
    ((await ask(stack.subgraphUrl, META, {})) as { _meta: { block: { number: number } } })._meta.block.number;
  while ((await indexed()) < Number(head.number)) await sleep(HEAD_POLL_MS);
  const history: IndexedHistory = {
    network: NETWORK,
    deals,
    from: { block: Number(before.number), time: Number(before.timestamp) },
    to: { block: Number(head.number), time: Number(head.timestamp), hash: head.hash },
  };
  return { history, indexing: { events, seconds: (performance.now() - startedAt) / 1_000 } };
}

/** What Postgres has logged since a position. */
function logSince(path: string, position: number): string {
  const fd = openSync(path, "r");
  try {
    const text = Buffer.alloc(fstatSync(fd).size - position);
    readSync(fd, text, 0, text.length, position);
    return text.toString("utf8");
  } finally {
    closeSync(fd);
  }
}

/** Our queries against a subgraph with many escrows: how long each takes, and which indexes its statements use. */
export async function measureQueries(bench: IndexingBench): Promise<PartResult> {
  const { say, repeats } = bench;
  say("queries: starting a chain and Postgres");
  const stack = await IndexingStack.start(bench.dir);
  const log = join(bench.dir, "data", "logs", "postgres.log");
  const { postgres } = stack;
  /** Settings for all connections, those that are open included. */
  const set = async (name: string, value: string) => {
    await postgres.query(`ALTER SYSTEM SET ${name} = ${value}`);
    await postgres.query("SELECT pg_reload_conf()");
  };
  try {
    await set("session_preload_libraries", "'auto_explain'");
    await set("auto_explain.log_format", "'json'");
    await set("auto_explain.log_min_duration", "-1");
    const { history, indexing } = await fill(bench, stack);
    // graph-node leaves that to autovacuum, which may not have come yet.
    await postgres.query("VACUUM ANALYZE");
    const schema = await schemaOf(stack);
    const bigTables = await tablesOver(stack, schema, BIG_TABLE_ROWS);
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    const readByKey = async (turn: number) => {
      const { escrowId } = history.deals[(turn * 7_919) % history.deals.length] ?? {};
      const key = Buffer.from((escrowId ?? "0x").slice(2), "hex");
      await client.query(`SELECT * FROM ${schema}.escrow WHERE id = $1 AND block_range @> 2147483647`, [key]);
    };
    const timed = async (work: (turn: number) => Promise<unknown>) => {
      const samples: number[] = [];
      for (let turn = 0; turn <= repeats; turn += 1) {
        const startedAt = performance.now();
        await work(turn);
        // The first one warms the caches up.
        if (turn > 0) samples.push(performance.now() - startedAt);
      }
      return delaysOf(samples);
    };
    const floor = await timed(readByKey);
    await client.end();
    const cases = [...apiQueries(history), ...readmeQueries(history)];
    say(`queries: ${cases.length} queries, ${repeats} times each`);
    const delays = new Map<QueryCase, Delays>();
    for (const each of cases) {
      delays.set(each, await timed((turn) => ask(stack.subgraphUrl, each.text, each.variables(turn))));
    }

    await set("auto_explain.log_min_duration", "0");
    await sleep(RELOAD_MS);
    const byQuery: Record<string, object> = {};
    const faults: string[] = [];
    for (const [{ name, text, variables }, taken] of delays) {
      const position = statSync(log).size;
      await ask(stack.subgraphUrl, text, variables(0));
      const plans = readPlans(logSince(log, position)).filter(({ statement }) => statement.includes(schema));
      const scanned = [...new Set(plans.flatMap((plan) => plan.scanned))].filter((table) => bigTables.has(table));
      for (const table of scanned) faults.push(`${name} reads all of ${table}`);
      const indexes = [...new Set(plans.flatMap((plan) => plan.indexes))].sort();
      byQuery[name] = { ...taken, perFloor: taken.p95Ms / floor.p95Ms, statements: plans.length, indexes, scanned };
    }

    return {
      escrows: history.deals.length,
      indexing,
      bigTables: Object.fromEntries(bigTables),
      /** An escrow by its key, straight from Postgres. */
      floor,
      byQuery,
      faults,
    };
  } finally {
    await stack.stop();
  }
}

/** The schema in which graph-node keeps the marketplace's entities. */
async function schemaOf(stack: IndexingStack): Promise<string> {
  const sql = "SELECT name FROM public.deployment_schemas WHERE subgraph = $1";
  const { rows } = await stack.postgres.query(sql, [stack.manifestOf(NETWORK)]);
  const [found] = rows as { name: string }[];
  if (found === undefined) throw new Error("graph-node has not deployed the subgraph");
  return found.name;
}

/** The tables of a schema with at least so many rows, and how many each has, as Postgres estimates. */
async function tablesOver(stack: IndexingStack, schema: string, rows: number): Promise<Map<string, number>> {
  const sql = `SELECT relname, reltuples FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = $1 AND relkind = 'r' AND reltuples >= $2 ORDER BY reltuples DESC`;
  const found = (await stack.postgres.query(sql, [schema, rows])).rows as { relname: string; reltuples: number }[];
  return new Map(found.map(({ relname, reltuples }) => [relname, reltuples]));
}
