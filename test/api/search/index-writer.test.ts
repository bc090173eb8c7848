import { join } from "node:path";

import { assert } from "chai";

import { createCategoryFit } from "../../../api/features/discovery/category-fit.ts";
import { openLanceTables } from "../../../api/search/engine/lance-tables.ts";
import { indexStateModel } from "../../../api/search/index/index-state.ts";
import { createListingSource } from "../../../api/features/discovery/listing-source.ts";
import type { IndexState } from "../../../api/search/index/index-state.ts";
import { listingModel } from "../../../api/features/listings/model.ts";
import { embedPendingListings } from "../../fixtures/embed-pending.ts";
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
  let writing: RunningLoops | undefined;

  beforeEach(async () => {
    api = await startTestApi();
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
  /** Waits until another table answers. */
  const untilReplaced = (before: IndexState) =>
    until("another table answers", async () => {
      const found = await indexStateModel(api.container.connection).findById("listings").lean<IndexState | null>();
      return found !== null && found.table !== before.table && found;
    });
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
    await untilReplaced(before);
    await untilFound("volcano", last);
  });

  /** Starts a writer of an index whose source is changed. @returns stops it */
  function startWriterThat(change: (source: ListingSource) => Partial<ListingSource>) {
    const { connection, features } = api.container;
    const { standings, directory } = features.agents;
    const { encoders } = features.discovery;
    const source = createListingSource({
      listings: listingModel(connection),
      standings,
      directory,
      loadCategoryFit: createCategoryFit(encoders.current, api.container.log),
      model: encoders.current.model,
    });
    const stopping = new AbortController();
    const running = features.discovery.indexes.writer(LOOP, { ...source, ...change(source) }).run(stopping.signal);
    return async () => {
      stopping.abort();
      await running;
    };
  }

  it("an index of another format is dropped and built again, while the database answers", async () => {
    const changed = await list("Falconry show");
    startWriting();
    await untilFound("falconry", changed);
    await stopWriting();
    await change({ format: 0 });
    const before = await state();
    const { promise: mayLoad, resolve } = Promise.withResolvers<undefined>();
    const stop = startWriterThat((source) => ({
      async load(target, beforeWrite) {
        await mayLoad;
        return await source.load(target, beforeWrite);
      },
    }));
    try {
      await until("the new table alone is there", async () => {
        const names = await tables();
        return names.length === 1 && !names.includes(before.table);
      });
      await until("the database answers", async () => !(await hasIndex(api.container)));
      const added = await list("Volcano hikes");
      assert.include(await idsOf("volcano"), added);
      await edit(changed, { title: "Beekeeping course" });
      assert.include(await idsOf("beekeeping"), changed);
      resolve(undefined);
      await untilReplaced(before);
      await untilFound("volcano", added);
      await untilFound("beekeeping", changed);
    } finally {
      resolve(undefined);
      await stop();
    }
  });

  it("a reader that wants another format doesn't read the index", async () => {
    const id = await list("Falconry show");
    startWriting();
    await untilFound("falconry", id);
    await stopWriting();
    await change({ format: 0 });
    await until("it isn't read", async () => !(await hasIndex(api.container)));
    assert.deepEqual(await idsOf("falconry"), [id]);
  });

  it("an index of another model is built again, and gets the new vectors as they come", async () => {
    const id = await list("Doctor for animals");
    startWriting();
    await untilFound("doctor", id);
    await stopWriting();
    // As if another model had embedded everything so far.
    const { connection } = api.container;
    const listings = listingModel(connection);
    await listings.updateMany({}, { $set: { "embedding.model": OLD_MODEL } });
    const embedded = await list("Airship journeys");
    await change({ model: OLD_MODEL });
    const before = await state();
    startWriting();
    const after = await untilReplaced(before);
    await untilFound("doctor", id);
    const { current: encoder } = api.container.features.discovery.encoders;
    assert.strictEqual(after.model, encoder.model);
    assert.notInclude(await idsOf("veterinarian"), id);
    assert.include(await idsOf("zeppelin flight"), embedded);
    await embedPendingListings({ listings, encoder });
    await untilFound("veterinarian", id);
    assert.strictEqual((await state()).table, after.table);
  });
});
