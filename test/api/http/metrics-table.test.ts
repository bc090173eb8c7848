// docs/operating/metrics.md, compared with what a real API process and a real worker serve.
import { readFileSync } from "node:fs";
import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

import { assert } from "chai";

import { NETWORKS } from "../../../api/config/constants.ts";
import { PaymentCounters } from "../../../api/features/x402/counters.ts";
import { createMetrics } from "../../../api/lib/metrics.ts";
import { readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import type { ApiProcess } from "../../fixtures/api-process.ts";
import { startWorker } from "../../fixtures/processes.ts";
import { until } from "../../fixtures/until.ts";

/** A metric as the table or a scrape has it. */
interface Metric {
  type: string;
  /** Undefined in a scrape without a sample of it. */
  labels: string[] | undefined;
}

/** Metrics of prom-client, which names them itself. */
const OF_THE_LIBRARY = /^(process|nodejs)_/;
/** Without an embedding server they have no value. */
const OF_THE_EMBEDDING_SERVER = ["embedding_server_answers", "embedding_tokens_today"];
/** Counted with a payment, which payment-metrics.test.ts makes. Their labels are asserted alone. */
const OF_PAYMENTS = ["x402_payments_total", "x402_paid_usdc_units_total", "x402_settlements_total"];
/** Counted for requests, which no worker gets. */
const OF_REQUESTS = [
  ...["http_requests_total", "http_request_duration_seconds", "http_errors_total"],
  ...["prepaid_calls_total", ...OF_PAYMENTS],
];

/** The rows of the table. */
function documented(): Map<string, Metric> {
  const rows = readFileSync("docs/operating/metrics.md", "utf8").matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]+) \|/gm);
  return new Map(
    [...rows].map(([, name = "", type = "", labels = ""]) => [
      name,
      { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label).sort() },
    ]),
  );
}

/** The metrics of a scrape, without those of the library. */
function scraped(text: string): Map<string, Metric> {
  const found = new Map<string, Metric>();
  for (const [, name = "", type = ""] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    if (!OF_THE_LIBRARY.test(name)) found.set(name, { type, labels: undefined });
  }
  for (const [, sample = "", labels = ""] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const metric = found.get(sample) ?? found.get(sample.replace(/_(bucket|sum|count)$/, ""));
    if (metric === undefined) continue;
    const names = [...labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)].map(([, name = ""]) => name);
    metric.labels = names.filter((name) => metric.type !== "histogram" || name !== "le").sort();
  }
  return found;
}

describe("the table of docs/operating/metrics.md", () => {
  let api: TestApi;
  let server: ApiProcess;
  let worker: ChildProcess;
  let ports: { api: number; worker: number };

  before(async () => {
    api = await startTestApi({ oneProcess: "prepares the database of the two processes that are scraped" });
    const { name } = api.container.connection;
    const mongo = new URL((await readStack()).mongodbUri);
    mongo.pathname = name;
    worker = await startWorker(mongo.href, { METRICS_PORT: "0" });
    const workerPort = portOf(worker);
    server = await startApiProcess(name, { METRICS_PORT: "0", BUDGET_API: "1" });
    const logged = server.log.map((line) => JSON.parse(line) as LogEntry).find(isMetricsEntry);
    ports = { api: logged?.port ?? 0, worker: await workerPort };
    // As after a first comparison, which waits for the follower.
    const at = new Date();
    const finished = { escrows: 0, scores: 0, skipped: 0, startedAt: at, finishedAt: at };
    const { passes } = api.container.features.reconciliation.models;
    for (const network of NETWORKS) {
      await passes[network].write({ running: null, finished }, 0);
    }
    await sendTraffic();
  });
  after(async () => {
    worker.kill("SIGKILL");
    server.kill();
    await api.close();
  });

  interface LogEntry {
    msg?: string;
    port?: number;
  }
  function isMetricsEntry({ msg }: LogEntry): boolean {
    return msg === "metrics are served";
  }

  function portOf({ stdout }: ChildProcess): Promise<number> {
    assert.ok(stdout);
    return new Promise((resolve) => {
      createInterface({ input: stdout }).on("line", (line) => {
        const entry = JSON.parse(line) as LogEntry;
        if (isMetricsEntry(entry)) resolve(entry.port ?? 0);
      });
    });
  }

  /** An answer, an error and a prepaid call. */
  async function sendTraffic(): Promise<void> {
    const { agentId, apiKey } = await api.registerAgent();
    const { access } = api.container.features.limits.models;
    await access.collection.updateOne({ _id: agentId as never }, { $set: { "prepaid.api": 2 } });
    for (let n = 0; n < 3; n += 1) {
      await fetch(`${server.url}/api/v1/services`, { headers: { "x-api-key": apiKey } });
    }
    await fetch(`${server.url}/nothing`);
  }

  const scrape = async (port: number) => scraped(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());

  for (const [role, without] of [
    ["api", OF_PAYMENTS],
    ["worker", OF_REQUESTS],
  ] as const) {
    it(`is what the ${role} process serves, with the same types and labels`, async () => {
      const table = documented();
      const unsampled = [...without, ...OF_THE_EMBEDDING_SERVER].sort();
      const found = await until("every other metric has a sample", async () => {
        const served = await scrape(ports[role]);
        const empty = [...served].filter(([, { labels }]) => labels === undefined).map(([name]) => name);
        return unsampled.every((name) => empty.includes(name)) && empty.length === unsampled.length && served;
      });
      for (const name of unsampled) {
        const metric = found.get(name);
        if (metric !== undefined) metric.labels = table.get(name)?.labels;
      }
      assert.deepEqual(Object.fromEntries(found), Object.fromEntries(table));
    });
  }

  it("has the labels of payments and of an embedding server", async () => {
    const metrics = createMetrics();
    const count = new PaymentCounters(metrics);
    count.settlement({ kind: "failed", reason: "expired" } as never);
    count.paid({ payment: { version: 2 }, network: "base-sepolia", amount: "100" } as never);
    const found = scraped((await metrics.text()).body);
    const table = documented();
    for (const name of OF_PAYMENTS) assert.deepEqual(found.get(name), table.get(name), name);
    for (const name of OF_THE_EMBEDDING_SERVER) assert.deepEqual(table.get(name)?.labels, [], name);
  });
});
