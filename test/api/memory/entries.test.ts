// Memory entries: what is written is read, versions, life and limits (specification 2.7, decision 27).
import { assert } from "chai";

import { entryIdOf } from "../../../api/features/memory/names.ts";
import { sweepExpired } from "../../../api/features/memory/entries/sweep.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith, movedClock } from "../../fixtures/limits.ts";
import { memoryOf } from "../../fixtures/memory.ts";
import type { MemoryCaller } from "../../fixtures/memory.ts";

const SECOND = 1_000;
const DAY = 86_400 * SECOND;

describe("memory entries", () => {
  const clock = movedClock();
  let api: TestApi;
  let agent: TestAgent;
  let memory: MemoryCaller;

  before(async () => {
    const limits = limitsWith({ memoryWrite: 100_000, memoryRead: 100_000 });
    api = await startTestApi({ clock, env: { limits, memoryQuota: { entries: 20, bytes: 400_000 } } });
  });
  after(() => api.close());
  beforeEach(async () => {
    agent = await api.registerAgent({ message: { issuedAt: clock.now() } });
    memory = memoryOf(api, agent);
  });

  const models = () => api.container.features.memory.models;
  const sweep = () =>
    sweepExpired(
      { connection: api.container.connection, models: models(), now: () => clock.now() },
      new AbortController().signal,
    );

  describe("happy", () => {
    it("[S4.r25] [S4.r27] [S2.7.01] [D27] a value is written with its defaults and read back unchanged", async () => {
      const before = clock.now().getTime();
      const written = await memory.write("plan", { steps: [1, { b: null, a: "ä" }], "$set.x": { $gt: 1 } });
      assert.strictEqual(written.status, 201, written.text);
      const { createdAt, updatedAt, expiresAt, ...entry } = written.body.data;
      assert.deepEqual(entry, {
        key: "plan",
        namespace: "default",
        tags: [],
        version: 1,
        ttlSeconds: 7_776_000,
        value: { steps: [1, { b: null, a: "ä" }], "$set.x": { $gt: 1 } },
      });
      assert.strictEqual(createdAt, updatedAt);
      assert.strictEqual(Date.parse(expiresAt) - Date.parse(createdAt), 90 * DAY);
      assert.ok(Date.parse(createdAt) >= before);
      const read = await memory.read("plan");
      assert.deepEqual(read.body, written.body);
      assert.strictEqual(read.headers.get("etag"), '"1"');
      assert.strictEqual(written.headers.get("etag"), '"1"');
    });

    it("[S2.7.01] every kind of JSON value comes back as it was, in the order of its fields", async () => {
      for (const value of [null, false, 0, -1.5, 1e-7, "", "text", [], {}, { b: 1, a: [[{}]] }, "x".repeat(65_534)]) {
        await memory.write("any", value);
        const { text } = await memory.read("any");
        assert.include(text, `"value":${JSON.stringify(value)},`);
      }
    });

    it("[S2.7.02] one key holds different values in two namespaces", async () => {
      await memory.write("plan", 1);
      await memory.write("plan", 2, { namespace: "other.ns" });
      assert.strictEqual((await memory.read("plan")).body.data.value, 1);
      assert.strictEqual((await memory.read("plan", "?namespace=other.ns")).body.data.value, 2);
      assert.strictEqual((await memory.remove("plan", "?namespace=other.ns")).status, 200);
      assert.strictEqual((await memory.read("plan")).body.data.value, 1);
      assertError(await memory.read("plan", "?namespace=other.ns"), 404, "not_found");
    });

    it("[S2.7.04] [D27] an overwritten value stays readable as an earlier version, in history and by number", async () => {
      await memory.write("plan", "one", { tags: ["a"] });
      const second = await memory.write("plan", "two", { ttlSeconds: 60 });
      assert.deepEqual([second.status, second.body.data.version, second.body.data.tags], [200, 2, []]);
      assert.strictEqual(second.headers.get("etag"), '"2"');
      const { body } = await memory.history("plan");
      assert.deepEqual(
        body.data.map(({ version, value, tags }: any) => ({ version, value, tags })),
        [
          { version: 2, value: "two", tags: [] },
          { version: 1, value: "one", tags: ["a"] },
        ],
      );
      const earlier = await memory.read("plan", "?version=1");
      assert.deepEqual([earlier.body.data.value, earlier.headers.get("etag")], ["one", '"1"']);
      assertError(await memory.read("plan", "?version=3"), 404, "not_found");
    });

    it("[D27] the last 50 versions are kept, and pages of a history have each once", async () => {
      for (let n = 1; n <= 53; n += 1) await memory.write("plan", n);
      const seen: number[] = [];
      let cursor = "";
      do {
        const { body } = await memory.history("plan", `?limit=7${cursor}`);
        seen.push(...body.data.map(({ version }: any) => version));
        cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`;
      } while (cursor !== "");
      assert.deepEqual(
        seen,
        Array.from({ length: 50 }, (_, n) => 53 - n),
      );
      assertError(await memory.read("plan", "?version=3"), 404, "not_found");
      assert.strictEqual((await memory.read("plan", "?version=4")).body.data.value, 4);
    });

    it("an import that changes nothing keeps the oldest version", async () => {
      for (let n = 1; n <= 50; n += 1) await memory.write("plan", n);
      const imported = await memory.call("POST", "/import", { body: { entries: await memory.exported() } });
      assert.strictEqual(imported.body.data.unchanged, 1, imported.text);
      assert.strictEqual((await memory.read("plan", "?version=1")).body.data.value, 1);
    });

    it("[S2.7.05] a renewal adds 90 days to an entry's life and leaves its version", async () => {
      const written = await memory.write("plan", 1, { ttlSeconds: 3_600 });
      const renewed = await memory.renew("plan");
      assert.strictEqual(renewed.status, 200, renewed.text);
      const added = Date.parse(renewed.body.data.expiresAt) - Date.parse(written.body.data.expiresAt);
      assert.strictEqual(added, 90 * DAY);
      assert.strictEqual(renewed.headers.get("etag"), '"1"');
      clock.pass(2 * 3_600 * SECOND);
      assert.strictEqual((await memory.read("plan")).status, 200);
    });

    it("[S4.r27.1] a deleted entry and its history are gone, and a later write starts at version 1", async () => {
      await memory.write("plan", 1);
      await memory.write("plan", 2);
      assert.deepEqual((await memory.remove("plan")).body.data, { key: "plan", namespace: "default", deleted: true });
      for (const answer of [await memory.read("plan"), await memory.history("plan"), await memory.remove("plan")]) {
        assertError(answer, 404, "not_found");
      }
      assert.strictEqual(await models().versions.countDocuments({ entryId: new RegExp(`^${agent.agentId}`) }), 0);
      assert.deepEqual((await memory.write("plan", 3)).body.data.version, 1);
    });

    it("[D27] a batch writes all its entries and answers them in its order", async () => {
      await memory.write("b", 0);
      const entries = [
        { key: "c", value: 1 },
        { key: "b", value: 2, tags: ["x", "x"] },
        { key: "b", value: 3, namespace: "other" },
      ];
      const answer = await memory.call("POST", "/batch", { body: { entries } });
      assert.strictEqual(answer.status, 200, answer.text);
      assert.deepEqual(
        answer.body.data.map(({ key, namespace, version, tags }: any) => [key, namespace, version, tags]),
        [
          ["c", "default", 1, []],
          ["b", "default", 2, ["x"]],
          ["b", "other", 1, []],
        ],
      );
    });
  });

  describe("lists", () => {
    it("[S4.r25.1] are in the order of keys, page by page, and by prefix and tag", async () => {
      const keys = ["b/2", "a", "b/10", "b", "b.", "c*", "ba", "b/\u{10ffff}", "日本"];
      for (const key of keys) await memory.write(key, key, { tags: key.startsWith("b/") ? ["nested"] : ["flat"] });
      await memory.write("elsewhere", 1, { namespace: "other" });
      const sorted = keys.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
      assert.deepEqual(await memory.keys(), sorted);
      assert.deepEqual(await memory.keys("limit=2"), sorted);
      assert.deepEqual(await memory.keys("prefix=b%2F&limit=1"), ["b/10", "b/2", "b/\u{10ffff}"]);
      assert.deepEqual(await memory.keys("tag=nested&limit=2"), ["b/10", "b/2", "b/\u{10ffff}"]);
      assert.deepEqual(await memory.keys("tag=flat&prefix=b"), ["b", "b.", "ba"]);
      assert.deepEqual(await memory.keys("namespace=other"), ["elsewhere"]);
      assert.deepEqual(await memory.keys("namespace=empty"), []);
    });

    it("a prefix means itself, whatever characters it has", async () => {
      for (const key of ["a.c", "abc", "a*", "^a", "a|b", "$where", "a\\d"]) await memory.write(key, 1);
      assert.deepEqual(await memory.keys("prefix=a."), ["a.c"]);
      assert.deepEqual(await memory.keys("prefix=%5Ea"), ["^a"]);
      assert.deepEqual(await memory.keys("prefix=.*"), []);
      assert.deepEqual(await memory.keys("prefix=%24"), ["$where"]);
      assert.deepEqual(await memory.keys("prefix=a%5C"), ["a\\d"]);
    });

    it("a page ends early behind a megabyte of values, and its cursor goes on", async () => {
      const roomy = memoryOf(api, await api.registerAgent({ message: { issuedAt: clock.now() } }));
      const value = "x".repeat(60_000);
      const { features } = api.container;
      for (let n = 0; n < 6; n += 1) await roomy.write(`k${n}`, value);
      // Stored by hand, because the quota of this test is smaller than a page.
      const record = await features.memory.models.entries.findOne({ agentId: roomy.agentId }).lean();
      assert.ok(record !== null);
      await features.memory.models.entries.collection.insertMany(
        Array.from({ length: 20 }, (_, n) => ({
          ...record,
          _id: entryIdOf(roomy.agentId, { namespace: "default", key: `m${n}` }),
          key: `m${n}`,
        })) as never[],
      );
      const first = await roomy.call("GET", "?limit=100");
      assert.isBelow(first.body.data.length, 26);
      assert.isString(first.body.nextCursor);
      assert.strictEqual((await roomy.keys("limit=100")).length, 26);
    });
  });

  describe("life", () => {
    it("[S2.7.03] an expired entry is gone from every read before anything deletes it, and a write starts at version 1", async () => {
      await memory.write("short", 1, { ttlSeconds: 60, tags: ["t"] });
      await memory.write("short", 2, { ttlSeconds: 60, tags: ["t"] });
      await memory.write("long", 3);
      clock.pass(60 * SECOND);
      assert.strictEqual(await models().entries.countDocuments({ agentId: agent.agentId }), 2);
      for (const answer of [
        await memory.read("short"),
        await memory.read("short", "?version=1"),
        await memory.history("short"),
        await memory.renew("short"),
        await memory.remove("short"),
      ]) {
        assertError(answer, 404, "not_found");
      }
      assert.deepEqual(await memory.keys(), ["long"]);
      assert.deepEqual(await memory.keys("tag=t"), []);
      assert.deepEqual(
        (await memory.exported()).map(({ key }) => key),
        ["long"],
      );
      const again = await memory.write("short", 4);
      assert.deepEqual([again.status, again.body.data.version], [201, 1]);
      assert.deepEqual((await memory.history("short")).body.data.length, 1);
    });

    it("an export is text for a client that asks for text, with the same lines", async () => {
      await memory.write("first", 1);
      await memory.write("second", 2);
      for (const [accept, type] of [
        ["text/plain", "text/plain; charset=utf-8"],
        ["application/x-ndjson, text/plain", "application/x-ndjson"],
        ["*/*", "application/x-ndjson"],
      ] as const) {
        const answer = await memory.call("GET", "/export", { headers: { Accept: accept } });
        assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, type]);
        const keys = answer.text
          .trimEnd()
          .split("\n")
          .map((line) => (JSON.parse(line) as { key: string }).key);
        assert.deepEqual(keys, ["first", "second"]);
      }
    });

    it("the sweep deletes what has expired with its history and gives its room back", async () => {
      await memory.write("short", "x".repeat(50), { ttlSeconds: 60 });
      await memory.write("short", "y", { ttlSeconds: 60 });
      await memory.write("renewed", "z", { ttlSeconds: 60 });
      await memory.renew("renewed");
      clock.pass(61 * SECOND);
      await sweep();
      assert.strictEqual(await sweep(), 0);
      const totals = await models().totals.findById(agent.agentId).lean();
      assert.deepEqual([totals?.entries, totals?.bytes], [1, "renewed".length + '"z"'.length]);
      assert.strictEqual(await models().versions.countDocuments({ entryId: new RegExp(`^${agent.agentId}`) }), 0);
    });

    it("[S2.7.05] renewals end at ten years from now", async () => {
      await memory.write("plan", 1, { ttlSeconds: 315_360_000 - 89 * 86_400 });
      assertError(await memory.renew("plan"), 409, "memory_renewal_limit_reached");
      clock.pass(DAY);
      assert.strictEqual((await memory.renew("plan")).status, 200);
    });
  });

  describe("quotas", () => {
    it("[D27] no entry beyond the quota, and room again after a deletion", async () => {
      const entries = Array.from({ length: 20 }, (_, n) => ({ key: `k${n}`, value: n }));
      assert.strictEqual((await memory.call("POST", "/batch", { body: { entries } })).status, 200);
      const full = await memory.write("more", 1);
      assertError(full, 409, "memory_quota_exceeded");
      assert.deepEqual(full.body.details, { bound: "entries", limit: 20, used: 20, added: 1 });
      assert.strictEqual((await memory.write("k0", "changed")).status, 200);
      await memory.remove("k1");
      assert.strictEqual((await memory.write("more", 1)).status, 201);
    });

    it("[D27] no byte beyond the quota: every kept version counts, and a batch is written as a whole or not at all", async () => {
      const value = "x".repeat(60_000);
      for (let n = 0; n < 6; n += 1) assert.isBelow((await memory.write("plan", value)).status, 300);
      const full = await memory.write("plan", value);
      assertError(full, 409, "memory_quota_exceeded");
      assert.strictEqual(full.body.details.bound, "bytes");
      const entries = [
        { key: "small", value: 1 },
        { key: "large", value },
      ];
      assertError(await memory.call("POST", "/batch", { body: { entries } }), 409, "memory_quota_exceeded");
      assertError(await memory.read("small"), 404, "not_found");
    });
  });

  describe("security", () => {
    it("[D33] another agent's entries don't exist", async () => {
      await memory.write("plan", "mine", { tags: ["t"] });
      const other = memoryOf(api, await api.registerAgent({ message: { issuedAt: clock.now() } }));
      for (const answer of [
        await other.read("plan"),
        await other.history("plan"),
        await other.renew("plan"),
        await other.remove("plan"),
        await other.read(entryIdOf(agent.agentId, { namespace: "default", key: "plan" })),
      ]) {
        assertError(answer, 404, "not_found");
      }
      assert.deepEqual(await other.keys(), []);
      assert.deepEqual(await other.exported(), []);
      await other.write("plan", "theirs");
      assert.strictEqual((await memory.read("plan")).body.data.value, "mine");
    });

    it("odd keys are stored, read, renewed and deleted under themselves", async () => {
      const odd = [
        ...["a/b/c", "a%2Fb", "100%", "a?b#c", "&=+", "$where", "a.b.c", "__proto__", "constructor", "...", "|"],
        ...["search", "batch", "import", "history", "é", "e\u0301", "日本語", "😀", `${"x".repeat(255)}é`, "Export"],
      ];
      for (const key of odd.slice(0, 19)) assert.strictEqual((await memory.write(key, key)).status, 201, key);
      for (const key of odd.slice(0, 19)) {
        assert.strictEqual((await memory.read(key)).body.data.value, key);
        assert.strictEqual((await memory.renew(key)).status, 200, key);
        assert.strictEqual((await memory.remove(key)).status, 200, key);
      }
      for (const key of odd.slice(19)) {
        await memory.write(key, key);
        assert.strictEqual((await memory.read(key)).body.data.value, key);
      }
    });

    it("keys that no path can name, and texts that aren't Unicode, are validation errors", async () => {
      for (const key of [".", "..", "export", "a b", "\u0000", "\u200f"]) {
        assertInvalid(await memory.write(key, 1), "body.key");
      }
      const rawBody = '{"key":"a\\ud800","value":1}';
      assertInvalid(await memory.call("POST", "", { rawBody }), "body.key");
      assertInvalid(await memory.call("POST", "", { rawBody: '{"key":"a","value":"\\udc00"}' }), "body.value");
    });

    it("keys that no path can name don't exist in a path", async () => {
      assertError(await memory.remove("export"), 404, "not_found");
      assertError(await memory.renew("export"), 404, "not_found");
    });

    it("[D43] [D48] an Idempotency-Key is for one condition: the same write under another is another request", async () => {
      const write = (headers: Record<string, string>) =>
        memory.call("POST", "", { body: { key: "plan", value: 1 }, headers: { "Idempotency-Key": "one", ...headers } });
      assert.strictEqual((await write({ "If-None-Match": "*" })).status, 201);
      assert.strictEqual((await write({ "If-None-Match": "*" })).headers.get("idempotency-replayed"), "true");
      assertError(await write({ "If-Match": '"1"' }), 409, "idempotency_key_reused");
      assertError(await write({}), 409, "idempotency_key_reused");
    });

    it("values can't reach prototypes, nest without end or name a field twice", async () => {
      const inside = (json: string) => memory.call("POST", "", { rawBody: `{"key":"a","value":${json}}` });
      assertInvalid(await inside('{"__proto__":{"x":1}}'), "body.value.__proto__");
      assertInvalid(await inside('{"a":1,"a":2}'), "body.value.a");
      assertInvalid(await inside(`${"[".repeat(40)}${"]".repeat(40)}`), "body");
      assert.strictEqual((await inside('{"constructor":{"prototype":{"x":1}},"$ne":1}')).status, 201);
      assert.isUndefined(({} as Record<string, unknown>)["x"]);
      assertInvalid(await memory.write("a", "x".repeat(65_535)), "body.value");
    });

    it("[D27] agents can't write, renew or delete in the namespace audit", async () => {
      const name = "?namespace=audit";
      for (const answer of [
        await memory.write("escrow/x/1-escrow.funded", 1, { namespace: "audit" }),
        await memory.call("POST", "/batch", { body: { entries: [{ key: "a", value: 1, namespace: "audit" }] } }),
        await memory.call("POST", `/a/renew${name}`),
        await memory.remove("a", name),
      ]) {
        assertError(answer, 403, "memory_read_only");
      }
      assert.deepEqual(await memory.keys("namespace=audit"), []);
    });
  });
});
