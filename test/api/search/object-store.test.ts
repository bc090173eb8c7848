// The search index where several machines reach it: in a folder of a network file system, or an object store.
import { assert } from "chai";

import { openLanceTables } from "../../../api/search/engine/lance-tables.ts";
import type { SearchTables } from "../../../api/search/engine/search-table.ts";
import { indexStateModel } from "../../../api/search/index/index-state.ts";
import type { IndexState } from "../../../api/search/index/index-state.ts";
import type { TableFormat } from "../../../api/search/engine/table-format.ts";
import { hasIndex, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { openEngineTable } from "../../fixtures/engine-table.ts";
import { memoryOf, untilIndexed } from "../../fixtures/memory.ts";
import { startLoops } from "../../fixtures/loops.ts";
import type { RunningLoops } from "../../fixtures/loops.ts";
import { installObjectStore, startObjectStore } from "../../fixtures/object-store.ts";
import type { TestObjectStore } from "../../fixtures/object-store.ts";
import { atNight } from "../../fixtures/nightly.ts";
import { until } from "../../fixtures/until.ts";

const LOOPS = new Set(["search.write-index", "memory.write-index"]);
const FOLDER = "a folder";
const OBJECT_STORE = "an object store";

describe("a search index that two API processes share", () => {
  for (const place of [FOLDER, OBJECT_STORE]) {
    // Where no object store can be installed, the folder alone proves the facts of the specification.
    const proves = (ids: string) => (place === FOLDER ? `${ids} ` : "");
    describe(`in ${place}`, () => {
      /** Undefined in a folder. */
      let store: TestObjectStore | undefined;
      let apis: readonly [TestApi, TestApi];
      let seller: TestAgent;
      let tables: SearchTables;
      const started: (() => Promise<void>)[] = [];
      let writers: { api: TestApi; loops: RunningLoops }[] = [];

      before(async function () {
        if (place === OBJECT_STORE) {
          try {
            await installObjectStore();
          } catch (error) {
            console.log(`skipped: no object store can be installed: ${(error as Error).message}`);
            this.skip();
          }
          const running = await startObjectStore();
          store = running;
          started.push(() => running.close());
        }
        const env =
          store === undefined ? {} : { searchIndexUrl: `${store.url}/index`, searchIndexStore: store.settings };
        const first = await startTestApi({ env });
        started.push(() => first.close());
        const second = await startTestApi({ env, databaseName: first.container.connection.name });
        started.push(() => second.stop());
        apis = [first, second];
        const { connection, env: used } = first.container;
        tables = openLanceTables(`${used.searchIndexUrl}/${connection.name}`, used.searchIndexStore);
        seller = await first.registerAgent();
      }).timeout(300_000);
      after(async () => {
        for (const end of started.toReversed()) await end();
      });
      afterEach(async () => {
        await stopWriting();
      });

      function startWriting(api = apis[0]): void {
        writers.push({ api, loops: startLoops(api, ...LOOPS) });
      }
      async function stopWriting(only?: TestApi): Promise<void> {
        const stopped = writers.filter(({ api }) => only === undefined || api === only);
        writers = writers.filter((writer) => !stopped.includes(writer));
        await Promise.all(stopped.map(({ loops }) => loops.stop()));
      }
      const state = async (): Promise<IndexState> => {
        const found = await indexStateModel(apis[0].container.connection)
          .findById("listings")
          .lean<IndexState | null>();
        assert.ok(found !== null);
        return found;
      };
      const list = async (title: string): Promise<string> => {
        const body = listingBody({ title, description: "Offered to all who ask for it." });
        return (await apis[0].request("POST", "/api/v1/services", { key: seller.apiKey, body })).body.data.id;
      };
      const edit = (id: string, body: object) =>
        apis[0].request("PATCH", `/api/v1/services/${id}`, { key: seller.apiKey, body });
      const search = (api: TestApi, query: string, filters = {}): Promise<Answer> =>
        api.request("POST", "/api/v1/discover", { body: { query, filters } });
      const searchMemory = (api: TestApi, query: string) =>
        memoryOf(api, seller).call("POST", "/search", { body: { query } });
      const idsOf = async (api: TestApi, query: string, filters = {}): Promise<string[]> => {
        const answer = await search(api, query, filters);
        return answer.status === 200 ? (answer.body as { serviceId: string }[]).map(({ serviceId }) => serviceId) : [];
      };
      /** Until both processes find it. */
      const untilFound = async (query: string, id: string): Promise<void> => {
        for (const api of apis) {
          await until(
            `${query} finds ${id} in the index`,
            async () => (await hasIndex(api.container)) && (await idsOf(api, query)).includes(id),
          );
        }
      };

      it(`${proves("[S2.2.27]")}has new and changed listings for both`, async () => {
        startWriting();
        const id = await list("Falconry show");
        await untilFound("falconry", id);
        await edit(id, { title: "Violin lessons" });
        await untilFound("violin", id);
        for (const api of apis) assert.notInclude(await idsOf(api, "falconry"), id);
      });

      // Where files lie makes no difference to the tests of a state, so a push runs these in a folder.
      const ofState = place === FOLDER || atNight(true, false) ? it : undefined;

      ofState?.(
        `${proves("[S3.3.05]")}no longer answers with a paused listing, nor below the bound with a price that has risen`,
        async () => {
          const [paused, risen] = [await list("Pottery evening"), await list("Pottery course")];
          startWriting();
          await untilFound("pottery", paused);
          await untilFound("pottery", risen);
          await stopWriting();
          await edit(paused, { status: "paused" });
          await edit(risen, { price: 7, title: "Pottery lessons" });
          for (const api of apis) {
            const found = (await search(api, "pottery")).body as { serviceId: string; title: string; price: number }[];
            assert.notInclude(
              found.map(({ serviceId }) => serviceId),
              paused,
            );
            const { title, price } = found.find(({ serviceId }) => serviceId === risen) ?? {};
            assert.deepEqual([title, price], ["Pottery lessons", 7]);
            assert.notInclude(await idsOf(api, "pottery", { maxPrice: 5 }), risen);
          }
        },
      );

      ofState?.("is continued where it was after a stop, and not built again", async () => {
        const early = await list("Glacier walk");
        startWriting();
        await untilFound("glacier", early);
        await stopWriting();
        const { table } = await state();
        const [late, gone] = [await list("Beekeeping course"), await list("Volcano hikes")];
        await edit(early, { title: "Owls and hawks" });
        await edit(gone, { status: "paused" });
        startWriting();
        await untilFound("beekeeping", late);
        await untilFound("hawks", early);
        for (const api of apis) {
          assert.notInclude(await idsOf(api, "glacier"), early);
          assert.notInclude(await idsOf(api, "volcano"), gone);
        }
        assert.strictEqual((await state()).table, table);
      });

      ofState?.("is written by one worker, and by another when that one ends", async () => {
        startWriting(apis[1]);
        await untilFound("origami", await list("Origami course"));
        startWriting(apis[0]);
        await stopWriting(apis[1]);
        await untilFound("harpsichord", await list("Harpsichord tuning"));
        const ofListings = (await tables.names()).filter((name) => name.startsWith("listings_"));
        assert.deepEqual(ofListings, [(await state()).table]);
      });

      ofState?.("is built again when its files are lost", async () => {
        const id = await list("Saxophone repair");
        startWriting();
        await untilFound("saxophone", id);
        const { table } = await state();
        await tables.drop(table);
        const next = await list("Marzipan tasting");
        await untilFound("marzipan", next);
        await untilFound("saxophone", id);
        assert.notStrictEqual((await state()).table, table);
      });

      it("keeps what two writers write at once", async () => {
        const name = "numbers";
        const other = apis[1].container.env;
        const url = `${other.searchIndexUrl}/${apis[1].container.connection.name}-numbers`;
        const [one, two] = [0, 1].map(() => openLanceTables(url, other.searchIndexStore));
        assert.ok(one !== undefined && two !== undefined);
        const opened = [await one.create(name, numberFormat, 2), await two.open(name)];
        const ids = Array.from({ length: 6 }, (_, n) => `n${n}`);
        // Their commits meet: a store that overwrites one without a word would lose its rows.
        await Promise.all(
          ids.map(async (id, n) => {
            const table = opened[n % 2];
            assert.ok(table !== undefined);
            await table.apply(numberFormat, [{ document: { id }, revision: 1, vector: null }], []);
          }),
        );
        const rows = (await (
          await openEngineTable(url, name, other.searchIndexStore)
        )
          .query()
          .select(["id"])
          .toArray()) as { id: string }[];
        assert.deepEqual(rows.map(({ id }) => id).sort(), ids);
        await one.drop(name);
      });

      if (place === FOLDER) return;

      const found = async (query: string, id: string) => {
        for (const ids of await Promise.all(apis.map((api) => idsOf(api, query)))) assert.deepEqual(ids, [id]);
      };
      const remembered = async () => {
        for (const answer of await Promise.all(apis.map((api) => searchMemory(api, "lighthouse")))) {
          assert.deepEqual([answer.status, answer.body.data[0]?.key], [200, "note"], answer.text);
        }
      };

      it("while the store refuses connections, or answers nothing, the database is searched", async () => {
        assert.ok(store !== undefined);
        const id = await list("Lighthouse tour");
        startWriting();
        await untilFound("lighthouse", id);
        await memoryOf(apis[0], seller).write("note", "The lighthouse needs paint");
        await untilIndexed(apis[0], seller.agentId);
        await remembered();
        store.stall();
        await Promise.all([found("lighthouse", id), remembered()]).finally(() => store?.resume());
        await untilFound("lighthouse", id);
        await store.kill();
        const meanwhile = await list("Submarine tour");
        await Promise.all([found("lighthouse", id), found("submarine", meanwhile), remembered()]);
        await store.start();
        await untilFound("submarine", meanwhile);
        await untilFound("lighthouse", id);
      });

      it("is closed to a key that the store doesn't know", async () => {
        assert.ok(store !== undefined);
        const { searchIndexUrl } = apis[0].container.env;
        const keys = { id: "stranger", secret: "test", sessionToken: undefined };
        const stranger = openLanceTables(`${searchIndexUrl}/${apis[0].container.connection.name}`, {
          ...store.settings,
          keys,
        });
        await assert.isRejected(stranger.names(), /403|InvalidAccessKeyId/);
        assert.isNotEmpty(await tables.names());
      });
    });
  }
});

/** Documents that are only an id. */
const numberFormat: TableFormat<{ id: string }, object> = {
  version: 1,
  searched: "entries",
  columns: {},
  toValues: () => ({}),
  wordsOf: ({ id }) => id,
  wordScore: "same",
  serialize: (document) => JSON.stringify(document),
  deserialize: (text) => JSON.parse(text) as { id: string },
  toCondition: () => undefined,
  passes: () => true,
};
