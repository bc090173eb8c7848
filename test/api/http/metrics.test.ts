import { randomBytes } from "node:crypto";

import { assert } from "chai";

import { listenForScrapes } from "../../../api/http/metrics-server.ts";
import type { MetricsServer } from "../../../api/http/metrics-server.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { until } from "../../fixtures/until.ts";

describe("metrics", () => {
  let api: TestApi;
  let server: MetricsServer;
  before(async () => {
    api = await startTestApi({ runsLoops: true, oneProcess: "reads this process's metrics" });
    const { log, metrics } = api.container;
    server = await listenForScrapes(metrics, { host: "127.0.0.1", port: 0, log });
  });
  after(async () => {
    await server.stop();
    await api.close();
  });

  const scrape = (path = "/metrics", init?: RequestInit) => fetch(`http://127.0.0.1:${server.port}${path}`, init);
  /** The values of a metric by its labels as the text has them. */
  async function read(name: string): Promise<Map<string, number>> {
    const lines = (await (await scrape()).text()).split("\n").filter((line) => /^\w+/.exec(line)?.[0] === name);
    return new Map(
      lines.map((line) => {
        const at = line.lastIndexOf(" ");
        return [line.slice(name.length, at), Number(line.slice(at + 1))];
      }),
    );
  }
  /** A request is counted when its connection is done with the answer, which may be after the client has read it. */
  const counted = (name: string, labels: string, value: number) =>
    until(`${name}${labels} is ${value}`, async () => (await read(name)).get(labels) === value);

  it("count requests by route and status, however the path was written", async () => {
    await api.request("GET", "/api/v1/categories");
    await api.request("GET", "/v1/categories");
    await counted("http_requests_total", '{method="GET",route="/api/v1/categories",status="200"}', 2);
    await counted("http_request_duration_seconds_count", '{method="GET",route="/api/v1/categories"}', 2);
    await api.request("GET", `/api/v1/agents/agt_${randomBytes(4).toString("hex")}/public-key`);
    await counted("http_requests_total", '{method="GET",route="/api/v1/agents/{id}/public-key",status="404"}', 1);
  });

  it("count errors by code, and all unknown paths and methods as one", async () => {
    await api.request("GET", "/api/v1/services");
    await counted("http_errors_total", '{code="invalid_api_key"}', 1);
    for (const method of ["PROPFIND", "REPORT", "SEARCH", "LOCK", "MKCOL"]) {
      await fetch(`${api.url}/${randomBytes(4).toString("hex")}`, { method });
    }
    await counted("http_requests_total", '{method="other",route="(none)",status="404"}', 5);
  });

  it("show how far followers, subgraphs and outbox are behind", async () => {
    await until("the followers are known", async () => (await read("follower_lag_blocks")).size === 2);
    const others = ["keeper_waiting", "keeper_held", "keeper_spent_today_wei"];
    for (const name of ["follower_lag_seconds", "subgraph_lag_blocks", "quarantined_escrows", ...others]) {
      assert.deepEqual([...(await read(name)).keys()].sort(), ['{network="base"}', '{network="base-sepolia"}'], name);
    }
    assert.deepEqual(await read("outbox_backlog"), new Map([["", 0]]));
    assert.deepEqual(await read("outbox_age_seconds"), new Map([["", 0]]));
  });

  it("show the connections to the database, the process and its event loop", async () => {
    const connections = await read("mongodb_connections");
    assert.isAbove(connections.get('{state="open"}') ?? 0, 0);
    assert.isAtLeast(connections.get('{state="waiting"}') ?? -1, 0);
    assert.isAbove((await read("process_resident_memory_bytes")).get("") ?? 0, 0);
    assert.strictEqual((await read("nodejs_eventloop_lag_p99_seconds")).size, 1);
  });

  it("are served on their own port and path only", async () => {
    const answer = await scrape();
    assert.match(answer.headers.get("content-type") ?? "", /^text\/plain/);
    assert.strictEqual((await scrape("/")).status, 404);
    assert.strictEqual((await scrape("/metrics", { method: "POST" })).status, 404);
    assert.strictEqual((await api.request("GET", "/metrics")).status, 404);
  });
});
