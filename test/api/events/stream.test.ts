import { once } from "node:events";
import { request } from "node:http";

import { assert } from "chai";

import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { announce, TestStream } from "../../fixtures/event-stream.ts";
import type { AnnouncedFields, StreamOptions } from "../../fixtures/event-stream.ts";
import { signIn } from "../../fixtures/page-session.ts";
import type { SignedInPage } from "../../fixtures/page-session.ts";
import { until } from "../../fixtures/until.ts";

const STREAM = "/api/v1/events/stream";
const HEARTBEAT_MS = 50;
const STALL_MS = 600;
const BIG = "x".repeat(200_000);

describe("the event stream", () => {
  let api: TestApi;
  let agent: TestAgent;
  let streams: TestStream[] = [];

  before(async () => {
    api = await startTestApi({ timings: { streamHeartbeatMs: HEARTBEAT_MS, streamStallMs: STALL_MS } });
  });
  after(() => api.close());
  beforeEach(async () => {
    agent = await api.registerAgent();
  });
  afterEach(() => {
    for (const stream of streams) stream.close();
    streams = [];
  });

  async function open(options: Partial<StreamOptions> = {}): Promise<TestStream> {
    const stream = await TestStream.open({ url: api.url, key: agent.apiKey, ...options });
    streams.push(stream);
    return stream;
  }
  const say = (name: string, fields?: AnnouncedFields) => announce(api.container, name, [agent.agentId], fields);
  const sayAll = async (names: readonly string[], fields?: AnnouncedFields) => {
    for (const name of names) await say(name, fields);
  };
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => String(index + 1));
  const listed = async () => (await api.request("GET", "/api/v1/events", { key: agent.apiKey })).body.data as unknown[];

  describe("sends", () => {
    it("[D25] events as they are recorded, in order, as the objects of the event log", async () => {
      const stream = await open();
      assert.strictEqual(stream.status, 200);
      await sayAll(upTo(5));
      await stream.holds(5);
      assert.deepEqual(stream.names, upTo(5));
      assert.deepEqual(stream.events, await listed());
    });

    it("[D25] [S8.2.17] its headers: no cache, no proxy's buffer, limits as on every answer", async () => {
      const { headers } = await open();
      assert.match(headers["content-type"] ?? "", /^text\/event-stream/);
      assert.strictEqual(headers["cache-control"], "no-store");
      assert.strictEqual(headers["x-accel-buffering"], "no");
      const { general } = api.container.env.limits.rateLimits;
      assert.strictEqual(headers["x-ratelimit-limit"], String(general));
      assert.strictEqual(headers["x-ratelimit-remaining"], String(general - 1));
      assert.strictEqual(headers["x-event-stream-position"], "start");
    });

    it("heartbeats while nothing happens, and how long to wait before the next connection", async () => {
      const stream = await open();
      await until("two heartbeats", () => Promise.resolve(stream.comments.length >= 2));
      assert.deepEqual([...new Set(stream.comments)], ["alive"]);
      assert.deepEqual(stream.retries, [1_000]);
    });

    it("[D25] nothing of other agents, and to each agent its own", async () => {
      const other = await api.registerAgent();
      const [mine, its] = [await open(), await open({ key: other.apiKey })];
      await announce(api.container, "other", [other.agentId]);
      await announce(api.container, "both", [agent.agentId, other.agentId]);
      await Promise.all([mine.holds(1), its.holds(2)]);
      assert.deepEqual([mine.names, its.names], [["both"], ["other", "both"]]);
    });

    it("[D25] all of it to each of an agent's streams, even if many write at once", async () => {
      const all = await Promise.all(upTo(5).map(() => open()));
      await Promise.all(upTo(40).map((name) => say(name)));
      await Promise.all(all.map((stream) => stream.holds(40)));
      const ids = (await api.request("GET", "/api/v1/events?limit=100", { key: agent.apiKey })).body.data.map(
        ({ id }: { id: string }) => id,
      );
      for (const stream of all) {
        assert.deepEqual(
          stream.events.map(({ id }) => id),
          ids,
        );
      }
    });

    it("only what the filters want", async () => {
      const transactionId = `txn_${"a".repeat(32)}`;
      const ofType = await open({ query: "?type=escrow.released&after=start" });
      const ofDeal = await open({ query: `?transactionId=${transactionId}` });
      await say("1");
      await say("2", { type: "escrow.released" });
      await say("3", { transactionId });
      await say("4", { type: "escrow.released", transactionId });
      await Promise.all([ofType.holds(2), ofDeal.holds(2)]);
      assert.deepEqual(
        [ofType.names, ofDeal.names],
        [
          ["2", "4"],
          ["3", "4"],
        ],
      );
    });
  });

  describe("begins", () => {
    it("[D25] now without a position, and after the first event with start", async () => {
      await say("1");
      const [fromNow, fromStart] = [await open(), await open({ query: "?after=start" })];
      await say("2");
      await Promise.all([fromNow.holds(1), fromStart.holds(2)]);
      assert.deepEqual([fromNow.names, fromStart.names], [["2"], ["1", "2"]]);
    });

    it("[D25] after the event of Last-Event-ID, which counts more than the address, without loss or repetition", async () => {
      await sayAll(upTo(30));
      const all = await open({ query: "?after=start" });
      await all.holds(30);
      const resumed = await open({ query: "?after=start", lastEventId: all.events[9]?.id ?? "" });
      const sameByQuery = await open({ query: `?after=${all.events[9]?.id}` });
      await say("31");
      await Promise.all([resumed.holds(21), sameByQuery.holds(21)]);
      assert.deepEqual(resumed.names, upTo(31).slice(10));
      assert.deepEqual(sameByQuery.names, upTo(31).slice(10));
    });

    it("[D25] where a client was that has got no event yet", async () => {
      const first = await open();
      first.close();
      await say("1");
      const again = await open({ lastEventId: first.lastEventId });
      await again.holds(1);
      assert.deepEqual(again.names, ["1"]);

      const later = await open();
      assert.strictEqual(later.lastEventId, again.lastEventId);
    });

    it("while events are being recorded, and misses none of them", async () => {
      const writing = sayAll(upTo(60));
      const opened: TestStream[] = [];
      for (let n = 0; n < 4; n += 1) {
        await until("some more are recorded", async () => (await listed()).length > n * 4);
        opened.push(await open({ query: "?after=start" }));
      }
      await writing;
      for (const stream of opened) {
        await stream.holds(60);
        assert.deepEqual(stream.names, upTo(60));
      }
    });
  });

  describe("answers", () => {
    const get = (path: string, headers: Record<string, string> = {}, key: string | undefined = agent.apiKey) =>
      api.request("GET", path, { key, headers });

    it("[D25] 400 for a key in the address, and 401 without one in a header", async () => {
      assertInvalid(await get(`${STREAM}?apiKey=${agent.apiKey}`), "query.apiKey");
      assertError(await api.request("GET", `${STREAM}?after=start`), 401, "invalid_api_key");
    });

    it("[D25] 400 for a position that isn't one of the caller's, with the field that has it", async () => {
      const other = await api.registerAgent();
      await announce(api.container, "other", [other.agentId]);
      const foreign = (await api.request("GET", "/api/v1/events", { key: other.apiKey })).body.data[0].id as string;
      for (const id of [foreign, "evt_0", "nonsense", "evt_", "START"]) {
        assertInvalid(await get(STREAM, { "Last-Event-ID": id }), "headers.last-event-id");
        assertInvalid(await get(`${STREAM}?after=${id}`), "query.after");
      }
    });

    it("405 for other methods, and the head alone for HEAD", async () => {
      const post = await api.request("POST", STREAM, { key: agent.apiKey, body: {} });
      assertError(post, 405, "method_not_allowed");
      for (let n = 0; n < 8; n += 1) {
        const head = await api.request("HEAD", STREAM, { key: agent.apiKey });
        assert.strictEqual(head.status, 200);
        assert.strictEqual(head.text, "");
      }
    });

    it("[D25] 409 for a sixth stream of an agent, and takes another when one has ended", async () => {
      const five = await Promise.all(upTo(5).map(() => open()));
      assert.deepEqual(
        five.map(({ status }) => status),
        [200, 200, 200, 200, 200],
      );
      const sixth = await open();
      assert.strictEqual(sixth.status, 409);
      assert.strictEqual(JSON.parse(sixth.text).code, "too_many_streams");
      assert.deepEqual(JSON.parse(sixth.text).details, { window: "eventStreams", countedBy: "agent", limit: 5 });
      assert.match(sixth.headers["retry-after"] ?? "", /^([1-9]|[12]\d|30)$/);
      const other = await api.registerAgent();
      assert.strictEqual((await open({ key: other.apiKey })).status, 200, "another agent's");

      five[2]?.close();
      const next = await until("a slot is free", async () => {
        const stream = await open();
        return stream.status === 200 && stream;
      });
      await say("1");
      await next.holds(1);
    });

    it("409 for a second stream of a page's session, which takes none of the agent's five", async () => {
      const [page, other] = [await signIn(api, agent), await signIn(api, agent, { scopes: "read" })];
      const leave = new AbortController();
      const listen = (tab: SignedInPage) =>
        fetch(api.url + STREAM, { headers: tab.headers(true), signal: leave.signal });
      assert.strictEqual((await listen(page)).status, 200);
      const second = await listen(page);
      assert.strictEqual(second.status, 409);
      const { code, details } = (await second.json()) as { code: string; details: unknown };
      assert.deepEqual([code, details], ["too_many_streams", { window: "eventStreams", countedBy: "key", limit: 1 }]);
      assert.strictEqual((await listen(other)).status, 200, "another session's");
      const five = await Promise.all(upTo(5).map(() => open()));
      assert.deepEqual(
        five.map(({ status }) => status),
        [200, 200, 200, 200, 200],
      );
      leave.abort();
      const again = new AbortController();
      await until("the slot is free", async () => {
        const { status } = await fetch(api.url + STREAM, { headers: page.headers(true), signal: again.signal });
        return status === 200;
      });
      again.abort();
    });
  });

  it("ends the stream of a client that doesn't read, which later resumes without loss", async () => {
    const slow = await open();
    slow.pause();
    const big = { payload: { BIG } };
    await sayAll(upTo(20), big);
    const other = await open({ query: "?after=start&type=escrow.released" });
    await say("21", { type: "escrow.released" });
    await other.holds(1);
    let said = 21;
    // The sockets' buffers hold megabytes before anything stalls, and twice as many with a door between.
    await until("its slot is free", async () => {
      await say(String((said += 1)), big);
      const stored = await api.container.connection
        .collection("event_stream_slots")
        .findOne({ _id: agent.agentId as never });
      return (stored?.["streams"] as unknown[]).length === 1;
    });
    slow.resume();
    assert.isFalse(await slow.ended, "it was cut");
    assert.isBelow(slow.events.length, said);
    const resumed = await open({ lastEventId: slow.lastEventId });
    await until("it has everything", () => Promise.resolve(slow.events.length + resumed.events.length >= said));
    assert.deepEqual([...slow.names, ...resumed.names], upTo(said));
  });

  it("frees the slot of a client that disconnects before it gets its answer", async () => {
    for (let n = 0; n < 10; n += 1) {
      const outgoing = request(api.url + STREAM, { headers: { "x-api-key": agent.apiKey }, agent: false });
      outgoing.on("error", () => undefined);
      outgoing.end();
      await once(outgoing, "finish");
      outgoing.destroy();
    }
    await until("a stream opens", async () => (await open()).status === 200);
  });
});
