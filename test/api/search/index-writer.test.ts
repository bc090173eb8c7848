import { join } from "node:path";

import { assert } from "chai";

import { createCategoryFits } from "../../../api/features/discovery/category-fit.ts";
import { embedPending } from "../../../api/features/discovery/embed-pending.ts";
import { openLanceTables } from "../../../api/search/engine/lance-tables.ts";
import { indexStateModel } from "../../../api/search/index/index-state.ts";
import { createListingSource } from "../../../api/features/discovery/listing-source.ts";
import type { IndexState } from "../../../api/search/index/index-state.ts";
import { listingModel } from "../../../api/features/listings/model.ts";
import type { Clock } from "../../../api/lib/clock.ts";
import { hasIndex, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { startLoops } from "../../fixtures/loops.ts";
import type { RunningLoops } from "../../fixtures/loops.ts";
import { until } from "../../fixtures/until.ts";

const LOOP = "search.write-index";
type ListingSource = ReturnType<typeof createListingSource>;
const OLD_MODEL = "earlier@1";

describe("the writer of the search index", () => {
  let api: TestApi;
  let seller: TestAgent;
  /** How far the clock of the writer is ahead. */
  let aheadMs = 0;
  const clock: Clock = { now: () => new Date(Date.now() + aheadMs) };
  let writing: RunningLoops | undefined;

  beforeEach(async () => {
    aheadMs = 0;
    api = await startTestApi({ clock });
    seller = await api.registerAgent();
  });
  afterEach(async () => {
    await stopWriting();
    await api.close();
  });

  function startWriting(): void {
    writing = startLoops(api, LOOP);
  }
  async function stopWriting(): Promise<void> {
    await writing?.stop();
    writing = undefined;
  }
  const state = async (): Promise<IndexState> => {
    const found = await indexStateModel(api.container.connection).findById("listings").lean<IndexState | null>();
    assert.ok(found !== null);
    return found;
  };
  const change = (fields: object) =>
    indexStateModel(api.container.connection).updateOne({ _id: "listings" }, { $set: fields });
  const tables = async () => {
    const names = await openLanceTables(join(api.container.env.searchIndexUrl, api.container.connection.name)).names();
    return names.filter((name) => name.startsWith("listings_"));
  };
  const list = async (title: string): Promise<string> => {
    const body = listingBody({ title, description: "Offered to all who ask for it." });
    return (await api.request("POST", "/api/v1/services", { key: seller.apiKey, body })).body.data.id;
  };
  const edit = (id: string, body: object) =>
    api.request("PATCH", `/api/v1/services/${id}`, { key: seller.apiKey, body });
  const search = (query: string) => api.request("POST", "/api/v1/discover", { body: { query } });
  const idsOf = async (query: string): Promise<string[]> => {
    const answer = await search(query);
    return answer.status === 200 ? (answer.body as { serviceId: string }[]).map(({ serviceId }) => serviceId) : [];
  };
  const untilFound = (query: string, id: string) =>
    until(
      `${query} finds ${id} in the index`,
      async () => (await hasIndex(api.container)) && (await idsOf(query)).includes(id),
    );

  it("the first worker builds an index", async () => {
    const id = await list("Falconry show");
    assert.isFalse(await hasIndex(api.container));
    startWriting();
    await untilFound("falconry", id);
  });

  it("goes on after a listing that was changed and then deleted while nobody wrote", async () => {
    const gone = await list("Falconry show");
    startWriting();
    await untilFound("falconry", gone);
    await stopWriting();
    await edit(gone, { title: "Owls and hawks" });
    await listingModel(api.container.connection).deleteOne({ _id: gone });
    const next = await list("Beekeeping course");
    startWriting();
    await untilFound("beekeeping", next);
    const { features } = api.container;
    await until("the deleted one is gone", async () => (await features.discovery.state.listings()) === 1);
  });

  it("builds an index again whose changes can't be read any more", async () => {
    const id = await list("Falconry show");
    startWriting();
    await untilFound("falconry", id);
    const before = await state();
    await stopWriting();
    await change({ resume: { token: { _data: "00" } } });
    const last = await list("Volcano hikes");
    startWriting();
    await untilFound("volcano", last);
    assert.notStrictEqual((await state()).table, before.table);
  });

  it("an index of an older layout answers until the new one is complete, and is dropped later", async () => {
    const id = await list("Falconry show");
    startWriting();
    await untilFound("falconry", id);
    await stopWriting();
    await change({ format: 0 });
    const before = await state();
    startWriting();
    const after = await until("the index is built again", async () => {
      const now = await state();
      return now.table !== before.table && now;
    });
    assert.deepEqual(
      after.retired.map(({ table }) => table),
      [before.table],
    );
    assert.includeMembers(await tables(), [before.table, after.table]);
    assert.include(await idsOf("falconry"), id);
    // Searches that began before have ended by then.
    aheadMs = 120_000;
    await until("the old one is dropped", async () => (await tables()).length === 1);
    assert.deepEqual(await tables(), [after.table]);
  });

  /** Starts a writer of an index whose source is changed. @returns stops it */
  function startWriterThat(change: (source: ListingSource) => Partial<ListingSource>) {
    const { connection, features } = api.container;
    const { standings, directory } = features.agents;
    const { encoders } = features.discovery;
    const categoryFitOf = createCategoryFits(encoders, api.container.log);
    const source = createListingSource({
      listings: listingModel(connection),
      standings,
      directory,
      categoryFitOf,
      model: encoders.current.model,
    });
    const stopping = new AbortController();
    const running = features.discovery.indexes.writer(LOOP, { ...source, ...change(source) }).run(stopping.signal);
    return async () => {
      stopping.abort();
      await running;
    };
  }

  /** An index of another layout, with a listing that searches find. */
  async function outdatedIndex() {
    const listed = await list("Falconry show");
    startWriting();
    await untilFound("falconry", listed);
    await stopWriting();
    await change({ format: 0 });
    return { listed, before: await state() };
  }

  /** Keeps a writer from loading the listings until `load` is called. */
  function heldLoad() {
    const { promise: mayLoad, resolve } = Promise.withResolvers<undefined>();
    return {
      load: () => {
        resolve(undefined);
      },
      whenAllowed:
        (source: ListingSource): ListingSource["load"] =>
        async (target, beforeWrite) => {
          await mayLoad;
          return await source.load(target, beforeWrite);
        },
    };
  }

  it("changes are found in an outdated index while the new one is being built", async () => {
    const { listed: changed, before } = await outdatedIndex();
    const { load, whenAllowed } = heldLoad();
    const stop = startWriterThat((source) => ({ load: whenAllowed(source) }));
    try {
      await until("the new table is there", async () => (await tables()).length === 2);
      const added = await list("Volcano hikes");
      await untilFound("volcano", added);
      await edit(changed, { title: "Beekeeping course" });
      await untilFound("beekeeping", changed);
      assert.strictEqual((await state()).table, before.table);
      load();
      await until("the new index answers", async () => (await state()).table !== before.table);
      const last = await list("Pottery class");
      await untilFound("pottery", last);
      assert.include(await idsOf("volcano"), added);
      assert.include(await idsOf("beekeeping"), changed);
    } finally {
      load();
      await stop();
    }
  });

  it("an outdated index that can't take changes doesn't keep the new one from being built", async () => {
    const { before } = await outdatedIndex();
    const { load, whenAllowed } = heldLoad();
    const stop = startWriterThat((source) => ({
      load: whenAllowed(source),
      async apply(changes, target) {
        if (target.name !== before.table) {
          await source.apply(changes, target);
          return;
        }
        load();
        throw new Error("The rows have another layout");
      },
    }));
    try {
      const added = await list("Volcano hikes");
      await untilFound("volcano", added);
      assert.notStrictEqual((await state()).table, before.table);
    } finally {
      load();
      await stop();
    }
  });

  it("after a change of the model the old index answers until every listing has a new vector", async () => {
    const [kept, changed] = [await list("Falconry show"), await list("Beekeeping course")];
    startWriting();
    await untilFound("falconry", kept);
    await untilFound("beekeeping", changed);
    await stopWriting();
    // As if another model had embedded everything so far.
    const { connection, log } = api.container;
    const listings = listingModel(connection);
    await listings.updateMany({}, { $set: { "embedding.model": OLD_MODEL } });
    await change({ model: OLD_MODEL });
    const before = await state();
    startWriting();
    await edit(changed, { title: "Volcano hikes" });
    await untilFound("volcano", changed);
    assert.strictEqual((await state()).table, before.table);
    await embedPending(
      { listings, encoder: api.container.features.discovery.encoders.current },
      log,
      new AbortController().signal,
    );
    await until("the new index answers", async () => (await state()).table !== before.table);
    const after = await state();
    assert.strictEqual(after.model, api.container.features.discovery.encoders.current.model);
    await untilFound("falconry", kept);
    await untilFound("volcano", changed);
  });
});
