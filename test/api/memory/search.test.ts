// Semantic search over an agent's memory (specification row 26).
import { assert } from "chai";

import { embedPendingEntries } from "../../fixtures/embed-pending.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { limitsWith, movedClock } from "../../fixtures/limits.ts";
import { memoryOf, untilIndexed } from "../../fixtures/memory.ts";
import type { MemoryCaller } from "../../fixtures/memory.ts";

const SECOND = 1_000;

for (const source of ["the index", "the database"])
  describe(`memory search in ${source}`, () => {
    const search = source === "the index";
    const clock = movedClock();
    let apis: [TestApi, TestApi];
    let memory: MemoryCaller;
    /** The same agent at the other process. */
    let elsewhere: MemoryCaller;

    const register = () => apis[0].registerAgent({ message: { issuedAt: clock.now() } });

    before(async () => {
      const env = { limits: limitsWith({ memoryWrite: 100_000, memoryRead: 100_000, memorySearch: 100_000 }) };
      const first = await startTestApi({ clock, env, search });
      apis = [first, await startTestApi({ clock, env, databaseName: first.container.connection.name })];
    });
    after(async () => {
      await apis[1].stop();
      await apis[0].close();
    });
    beforeEach(async () => {
      const agent = await register();
      memory = memoryOf(apis[0], agent);
      elsewhere = memoryOf(apis[1], agent);
    });

    async function found(query: string, fields: Record<string, unknown> = {}, on = memory): Promise<string[]> {
      if (search) await untilIndexed(apis[0], on.agentId);
      const answer = await on.call("POST", "/search", { body: { query, ...fields } });
      assert.strictEqual(answer.status, 200, answer.text);
      return answer.body.data.map(({ key }: { key: string }) => key);
    }
    const embed = () => {
      const { connection, features } = apis[0].container;
      const { models } = features.memory;
      return embedPendingEntries({ connection, models, encoder: features.discovery.encoders.current });
    };

    describe("happy", () => {
      it("[S4.r26] [D23] finds entries by meaning where query and text share no word, with their relevance", async () => {
        await memory.write(
          "home",
          { note: "Controls lamps, thermostats and locks in the house" },
          { tags: ["device"] },
        );
        await memory.write("tax", "The annual financial statement is due in March");
        if (search) await untilIndexed(apis[0], memory.agentId);
        const { body } = await memory.call("POST", "/search", {
          body: { query: "operate household appliances remotely" },
        });
        assert.isNull(body.nextCursor);
        const [first] = body.data;
        const { relevance, ...entry } = first;
        assert.deepEqual(entry, (await memory.read("home")).body.data);
        assert.ok(relevance > 0.15 && relevance <= 1, String(relevance));
      });

      it("[D27] an entry of a batch is found by its words at once, and by its meaning once it is embedded", async () => {
        const entries = [{ key: "pet", value: "A veterinarian treats sick dogs and cats" }];
        await memory.call("POST", "/batch", { body: { entries } });
        assert.deepEqual(await found("veterinarian"), ["pet"]);
        assert.deepEqual(await found("doctor for animals"), []);
        assert.isAbove(await embed(), 0);
        assert.deepEqual(await found("doctor for animals"), ["pet"]);
        assert.deepEqual(await found("doctor for animals", {}, elsewhere), ["pet"]);
        assert.strictEqual(await embed(), 0);
      });

      it("filters by namespace, all tags and prefix before it ranks and limits", async () => {
        for (let n = 0; n < 5; n += 1) await memory.write(`a/${n}`, "quorblex tuning quorblex", { tags: ["x"] });
        await memory.write("b/1", "notes about quorblex", { tags: ["x", "y"] });
        await memory.write("b/2", "notes about quorblex", { namespace: "other" });
        assert.deepEqual(await found("quorblex", { prefix: "b/", limit: 1, namespace: "default" }), ["b/1"]);
        assert.deepEqual(await found("quorblex", { tags: ["y", "x"], limit: 1 }), ["b/1"]);
        assert.deepEqual(await found("quorblex", { namespace: "other", limit: 1 }), ["b/2"]);
        assert.strictEqual((await found("quorblex", { limit: 3 })).length, 3);
        assert.strictEqual((await found("quorblex")).length, 7);
        assert.deepEqual(await found("quorblex", { prefix: ".*" }), []);
      });
    });

    describe("changes", () => {
      it("by another process are in the next search: writes, new versions and deletions", async () => {
        assert.deepEqual(await found("quorblex", {}, elsewhere), []);
        await memory.write("k", "quorblex");
        assert.deepEqual(await found("quorblex", {}, elsewhere), ["k"]);
        await memory.write("k", "The annual financial statement is due");
        assert.deepEqual(await found("quorblex", {}, elsewhere), []);
        assert.deepEqual(await found("financial statement", {}, elsewhere), ["k"]);
        await memory.remove("k");
        assert.deepEqual([await found("statement"), await found("statement", {}, elsewhere)], [[], []]);
        await memory.write("k", "quorblex");
        assert.deepEqual(await found("quorblex", {}, elsewhere), ["k"]);
      });

      it("[S2.7.03] an expired entry is never found, and a renewed one is", async () => {
        await memory.write("short", "quorblex", { ttlSeconds: 60 });
        await memory.write("renewed", "quorblex", { ttlSeconds: 60 });
        assert.strictEqual((await found("quorblex")).length, 2);
        await elsewhere.renew("renewed");
        clock.pass(61 * SECOND);
        assert.deepEqual(await found("quorblex"), ["renewed"]);
      });
    });

    describe("security", () => {
      it("[D33] finds nothing of another agent", async () => {
        await memory.write("k", "quorblex");
        assert.deepEqual(await found("quorblex", {}, memoryOf(apis[0], await register())), []);
      });

      it("the namespace audit isn't searched, and blank queries are refused", async () => {
        const search = (body: object) => memory.call("POST", "/search", { body });
        assertInvalid(await search({ query: "x", namespace: "audit" }), "body.namespace");
        assertInvalid(await search({ query: " " }), "body.query");
      });

      it("[D33] without the encoder the answer is 503 search_unavailable", async () => {
        const api = await startTestApi();
        try {
          const caller = memoryOf(api, await api.registerAgent());
          await api.container.features.discovery.encoders.close();
          assert.strictEqual((await caller.write("k", "quorblex")).status, 201);
          assertError(await caller.call("POST", "/search", { body: { query: "x" } }), 503, "search_unavailable");
        } finally {
          await api.close();
        }
      });
    });
  });
