// The search index with real processes: two APIs read it, and one of two workers writes it.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

import { assert } from "chai";

import { indexStateModel } from "../../../api/search/index/index-state.ts";
import { leaseModel } from "../../../api/jobs/lease.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import type { ApiProcess } from "../../fixtures/api-process.ts";
import { listingBody, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { atNight } from "../../fixtures/nightly.ts";
import { installObjectStore, startObjectStore, variablesOf } from "../../fixtures/object-store.ts";
import { startWorker } from "../../fixtures/processes.ts";
import { until } from "../../fixtures/until.ts";

const FOLDER = "a folder";
const OBJECT_STORE = "an object store";
const PLACES = atNight([FOLDER, OBJECT_STORE], [FOLDER]);
/** Four processes start at once, and two of them load the encoder. */
const START_MS = 180_000;
const TEST_MS = 300_000;
const LEASE = "listings-index";
/** Listed after a kill of the worker that writes. */
const AFTER_KILLS = atNight(["Harpsichord tuning", "Saxophone repair"], ["Harpsichord tuning"]);

describe("two API processes and two workers that share a search index", () => {
  for (const place of PLACES) {
    // Where no object store can be installed, the folder alone proves the facts of the specification.
    const proves = (ids: string) => (place === FOLDER ? `${ids} ` : "");
    describe(`in ${place}`, () => {
      /** Registers the seller and looks into the database. It searches nothing. */
      let observer: TestApi;
      let seller: TestAgent;
      let variables: Record<string, string> = {};
      let apis: ApiProcess[] = [];
      let workers: ChildProcess[] = [];
      const started: (() => Promise<unknown>)[] = [];

      before(async function () {
        if (place === OBJECT_STORE) {
          try {
            await installObjectStore();
          } catch (error) {
            console.log(`skipped: no object store can be installed: ${(error as Error).message}`);
            this.skip();
          }
          const store = await startObjectStore();
          started.push(() => store.close());
          variables = variablesOf(store);
        }
        observer = await startTestApi();
        started.push(() => observer.close());
        seller = await observer.registerAgent();
        const { name } = observer.container.connection;
        apis = await Promise.all([startApiProcess(name, variables), startApiProcess(name, variables)]);
        started.push(() => Promise.all(apis.map((api) => api.stop())));
        workers = [await startAnotherWorker(), await startAnotherWorker()];
        started.push(() => Promise.all(workers.map(killed)));
        const states = indexStateModel(observer.container.connection);
        await until("a worker has built the index", async () => (await states.findById("listings")) !== null, START_MS);
        const first = await list(0, "Falconry show");
        for (const api of [0, 1]) await untilFound(api, "falconry", first, START_MS);
      }).timeout(TEST_MS);
      after(async () => {
        for (const end of started.toReversed()) await end();
      });

      async function startAnotherWorker(): Promise<ChildProcess> {
        const mongo = new URL((await readStack()).mongodbUri);
        mongo.pathname = observer.container.connection.name;
        return await startWorker(mongo.href, variables);
      }
      async function killed(worker: ChildProcess): Promise<void> {
        if (worker.exitCode !== null || worker.signalCode !== null) return;
        const exited = once(worker, "exit");
        worker.kill("SIGKILL");
        await exited;
      }
      async function call(api: number, method: string, path: string, body: object, key?: string) {
        const answer = await fetch(`${apis[api]?.url ?? ""}${path}`, {
          method,
          body: JSON.stringify(body),
          headers: {
            "content-type": "application/json",
            ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          },
        });
        return { status: answer.status, body: await answer.json() };
      }
      const asSeller = async (api: number, method: string, path: string, body: object) => {
        const answer = await call(api, method, path, body, seller.apiKey);
        assert.oneOf(answer.status, [200, 201], JSON.stringify(answer.body));
        return (answer.body as { data: unknown }).data;
      };
      const list = async (api: number, title: string): Promise<string> => {
        const body = listingBody({ title, description: "Offered to all who ask for it." });
        return ((await asSeller(api, "POST", "/api/v1/services", body)) as { id: string }).id;
      };
      const edit = (api: number, id: string, body: object) => asSeller(api, "PATCH", `/api/v1/services/${id}`, body);
      const idsOf = async (api: number, query: string): Promise<string[]> => {
        const { status, body } = await call(api, "POST", "/api/v1/discover", { query });
        return status === 200 ? (body as { serviceId: string }[]).map(({ serviceId }) => serviceId) : [];
      };
      const untilFound = (api: number, query: string, id: string, timeoutMs?: number) =>
        until(`API ${api} finds ${query}`, async () => (await idsOf(api, query)).includes(id), timeoutMs);

      it(`${proves("[S2.2.27] [S2.2.28]")}an API finds what the other has taken, and by its new text once that has changed`, async () => {
        const id = await list(0, "Glacier walk");
        for (const api of [1, 0]) await untilFound(api, "glacier", id);
        await edit(1, id, { title: "Violin lessons" });
        for (const api of [0, 1]) {
          await untilFound(api, "violin", id);
          assert.notInclude(await idsOf(api, "glacier"), id);
        }
      }).timeout(TEST_MS);

      it(`${proves("[S3.3.05]")}neither finds a listing any more from the moment that one has paused it`, async () => {
        const id = await list(0, "Pottery evening");
        for (const api of [0, 1]) await untilFound(api, "pottery", id);
        await edit(0, id, { status: "paused" });
        for (const api of [1, 0]) assert.notInclude(await idsOf(api, "pottery"), id);
      }).timeout(TEST_MS);

      it("both give the same answers in the same order", async () => {
        const titles = ["Origami course", "Origami of cranes", "Paper folding for parties", "Origami and tea"];
        for (const [n, title] of titles.entries()) {
          const id = await list(n % 2, title);
          for (const api of [0, 1]) await untilFound(api, "origami paper folding", id);
        }
        for (const query of ["origami paper folding", "an evening with folded paper", "tea"]) {
          // The index may be tidied between two answers, which changes relevance a little.
          await until(`${query} has the same answers`, async () => {
            const [one, other] = await Promise.all([0, 1].map((api) => idsOf(api, query)));
            return String(one) !== "" && String(one) === String(other);
          });
        }
      }).timeout(TEST_MS);

      it("an API finds at once in memory what the other has stored", async () => {
        await asSeller(0, "POST", "/api/v1/memory", { key: "note", value: "The lighthouse needs paint" });
        const found = await asSeller(1, "POST", "/api/v1/memory/search", { query: "lighthouse" });
        assert.deepEqual(
          (found as { key: string }[]).map(({ key }) => key),
          ["note"],
        );
      }).timeout(TEST_MS);

      it("when the worker that writes is killed, the other goes on with the same table, each in turn", async () => {
        const { connection } = observer.container;
        const table = async () => (await indexStateModel(connection).findById("listings").lean())?.table;
        const writer = async () => {
          const { owner } = (await leaseModel(connection).findById(LEASE).lean()) ?? {};
          return workers.find(({ pid }) => owner?.split(":")[1] === String(pid));
        };
        const before = await table();
        for (const [turn, title] of AFTER_KILLS.entries()) {
          const victim = await writer();
          assert.ok(victim !== undefined);
          await killed(victim);
          const id = await list(turn, title);
          for (const api of [0, 1]) await untilFound(api, title, id);
          assert.notStrictEqual(await writer(), victim);
          workers = workers.filter((worker) => worker !== victim);
          if (turn < AFTER_KILLS.length - 1) workers.push(await startAnotherWorker());
        }
        assert.strictEqual(await table(), before);
      }).timeout(TEST_MS);
    });
  }
});
