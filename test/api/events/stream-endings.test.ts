import { randomBytes } from "node:crypto";

import { assert } from "chai";

import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { announce, TestStream } from "../../fixtures/event-stream.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { keyRequestBody } from "../../fixtures/sign-in.ts";

const KEYS = "/api/v1/auth/keys";
const LONG_MS = 3_600_000;
/** Renewals, heartbeats and stalls never happen here, so nothing but the change stream ends a stream early. */
const timings = { streamHeartbeatMs: LONG_MS, streamStallMs: LONG_MS, streamLeaseMs: LONG_MS };

describe("an event stream ends", () => {
  const databaseName = `test_api_${randomBytes(6).toString("hex")}`;
  const limits = limitsWith({ search: 2 });
  let apis: TestApi[];
  let agent: TestAgent;
  let streams: TestStream[] = [];

  before(async () => {
    apis = [
      await startTestApi({ search: true, databaseName, timings, env: { limits } }),
      await startTestApi({ search: true, databaseName, timings, env: { limits } }),
    ];
  });
  after(async () => {
    await apis[1]?.stop();
    await apis[0]?.close();
  });
  beforeEach(async () => {
    agent = await first().registerAgent();
  });
  afterEach(() => {
    for (const stream of streams) stream.close();
    streams = [];
  });

  const first = (): TestApi => apis[0] as TestApi;
  async function open(api: TestApi, key: string): Promise<TestStream> {
    const stream = await TestStream.open({ url: api.url, key });
    assert.strictEqual(stream.status, 200, stream.text);
    streams.push(stream);
    return stream;
  }
  /** A stream at each of the two APIs. */
  const openBoth = (key: string) => Promise.all(apis.map((api) => open(api, key)));
  const ends = (ended: readonly TestStream[]) => Promise.all(ended.map((stream) => stream.ended));
  async function issueKey(revokeOthersAfterSeconds: number): Promise<string> {
    const body = { ...(await keyRequestBody(agent.account)), revokeOthersAfterSeconds };
    return (await first().request("POST", KEYS, { body })).body.apiKey as string;
  }
  /** Asserts that streams are alive: they get the next event. */
  async function assertAlive(alive: readonly TestStream[], agentId = agent.agentId): Promise<void> {
    await announce(first().container, "still here", [agentId]);
    await Promise.all(alive.map((stream) => stream.holds(1)));
  }

  it("[D21] at once at every API when its key is revoked, while those of other keys and agents stay", async () => {
    const other = await issueKey(LONG_MS / 1_000);
    const stranger = await first().registerAgent();
    const [revoked, kept, foreign] = [
      await openBoth(agent.apiKey),
      await openBoth(other),
      await openBoth(stranger.apiKey),
    ];
    assert.strictEqual((await first().request("DELETE", KEYS, { key: agent.apiKey })).status, 200);
    assert.deepEqual(await ends(revoked), [true, true], "whole answers");
    await assertAlive(kept);
    await assertAlive(foreign, stranger.agentId);
    assert.strictEqual((await TestStream.open({ url: first().url, key: agent.apiKey })).status, 401);
  });

  it("[D21] at once at every API when a new key revokes the others", async () => {
    const old = await openBoth(agent.apiKey);
    const fresh = await openBoth(await issueKey(0));
    assert.deepEqual(await ends(old), [true, true]);
    await assertAlive(fresh);
  });

  it("[D21] when the grace period of its key is over, and not before", async () => {
    const old = await openBoth(agent.apiKey);
    await issueKey(2);
    await assertAlive(old);
    assert.deepEqual(await ends(old), [true, true]);
    const later = await first().request("GET", "/api/v1/events", { key: agent.apiKey });
    assertError(later, 401, "invalid_api_key");
  });

  it("[D34] when its key is suspended", async () => {
    const open = await openBoth(agent.apiKey);
    // All but one of the refusals that suspend a key.
    const refusals = Array.from({ length: 999 }, () => new Date());
    const { access } = first().container.features.limits.models;
    await access.collection.updateOne({ _id: agent.agentId as never }, { $set: { "keys.0.refusals": refusals } });
    const search = () => first().request("GET", "/api/v1/services?q=anything", { key: agent.apiKey });
    const answers = [await search(), await search(), await search()];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 429],
    );
    assert.deepEqual(await ends(open), [true, true]);
  });

  it("[D25] when the API stops, whole and soon, and continues at another API where it was", async () => {
    const stopping = await startTestApi({ search: true, databaseName, timings, env: { limits } });
    const stream = await open(stopping, agent.apiKey);
    await announce(first().container, "1", [agent.agentId]);
    await stream.holds(1);
    const stopped = stopping.stop();
    assert.isTrue(await stream.ended);
    await stopped;
    await announce(first().container, "2", [agent.agentId]);
    const resumed = await TestStream.open({ url: first().url, key: agent.apiKey, lastEventId: stream.lastEventId });
    streams.push(resumed);
    await resumed.holds(1);
    assert.deepEqual(resumed.names, ["2"]);
    await assertSlots(1);
  });

  /** Asserts how many streams of the agent hold a slot. */
  async function assertSlots(count: number): Promise<void> {
    const slots = first().container.connection.collection("event_stream_slots");
    const record = await slots.findOne({ _id: agent.agentId as never });
    assert.strictEqual((record?.["streams"] as unknown[]).length, count);
  }
});
