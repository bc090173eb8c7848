import { randomBytes } from "node:crypto";

import { assert } from "chai";

import { startApiProcess } from "../../fixtures/api-process.ts";
import type { ApiProcess } from "../../fixtures/api-process.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { announce, TestStream } from "../../fixtures/event-stream.ts";
import { until } from "../../fixtures/until.ts";

const LEASE_MS = 1_500;

describe("event streams of several API processes", () => {
  const databaseName = `test_api_${randomBytes(6).toString("hex")}`;
  const processes: ApiProcess[] = [];
  const streams: TestStream[] = [];
  let api: TestApi;
  let agent: TestAgent;

  before(async () => {
    api = await startTestApi({ databaseName, timings: { streamLeaseMs: LEASE_MS } });
  });
  beforeEach(async () => {
    agent = await api.registerAgent();
  });
  after(async () => {
    for (const stream of streams) stream.close();
    for (const process of processes) process.kill();
    await api.close();
  });

  async function start(): Promise<ApiProcess> {
    const started = await startApiProcess(databaseName, { LOG_LEVEL: "info" });
    processes.push(started);
    return started;
  }
  async function open(url: string, lastEventId?: string): Promise<TestStream> {
    const stream = await TestStream.open({ url, key: agent.apiKey, lastEventId });
    streams.push(stream);
    return stream;
  }

  it("[D25] continue where they were after kill -9, without loss or repetition", async () => {
    const killed = await start();
    const stream = await open(killed.url, "start");
    const writing = (async () => {
      for (let n = 1; n <= 100; n += 1) await announce(api.container, String(n), [agent.agentId]);
    })();
    await stream.holds(20);
    killed.kill();
    assert.isFalse(await stream.ended);
    const next = await start();
    const resumed = await open(next.url, stream.lastEventId);
    await writing;
    await resumed.holds(100 - stream.events.length);
    assert.deepEqual(
      [...stream.names, ...resumed.names],
      Array.from({ length: 100 }, (_, index) => String(index + 1)),
    );
    resumed.close();
    await next.stop();
  });

  it("[D25] are five together; those of a killed process make way once their leases end", async () => {
    const other = await start();
    const atOther = [await open(other.url), await open(other.url), await open(other.url)];
    const here = [await open(api.url), await open(api.url)];
    assert.deepEqual(
      [...atOther, ...here].map(({ status }) => status),
      [200, 200, 200, 200, 200],
    );
    for (const url of [other.url, api.url]) assert.strictEqual((await open(url)).status, 409);
    other.kill();
    // The lease of a real process is 30 seconds, so the test ends it.
    const slots = api.container.connection.collection("event_stream_slots");
    const held = await slots.findOne({ _id: agent.agentId as never });
    assert.strictEqual((held?.["streams"] as unknown[]).length, 5);
    await slots.updateOne(
      { _id: agent.agentId as never },
      { $set: { "streams.$[stream].until": new Date(0) } },
      { arrayFilters: [{ "stream.until": { $gt: new Date(Date.now() + 2 * LEASE_MS) } }] },
    );
    const more = await until("a slot is free", async () => {
      const stream = await open(api.url);
      return stream.status === 200 && stream;
    });
    assert.strictEqual((await open(api.url)).status, 200);
    assert.strictEqual((await open(api.url)).status, 200);
    assert.strictEqual((await open(api.url)).status, 409, "the living keep theirs");
    await announce(api.container, "last", [agent.agentId]);
    for (const stream of [...here, more]) await stream.holds(1);
  });

  it("[D25] end when their slot was given to another while their process paused", async () => {
    const stream = await open(api.url);
    await api.container.connection
      .collection("event_stream_slots")
      .updateOne({ _id: agent.agentId as never }, { $set: { streams: [] } });
    assert.isTrue(await stream.ended);
  });
});
