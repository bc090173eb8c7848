// Discovery while its index can't be read: the database is searched.
import { rm } from "node:fs/promises";
import { join } from "node:path";

import { assert } from "chai";
import { MongoServerError } from "mongodb";

import { createDatabaseSearch } from "../../../api/features/discovery/database-search.ts";
import { openLanceTables } from "../../../api/search/engine/lance-tables.ts";
import { IndexUnavailableError } from "../../../api/search/index/index-reader.ts";
import { indexStateModel } from "../../../api/search/index/index-state.ts";
import { cosine, toVector } from "../../../api/search/embedding/vectors.ts";
import { createDiscoverService } from "../../../api/features/discovery/service.ts";
import { listingModel } from "../../../api/features/listings/model.ts";
import type { ListingModel, ListingRecord } from "../../../api/features/listings/model.ts";
import { ApiError } from "../../../api/http/errors.ts";
import { embedPendingListings } from "../../fixtures/embed-pending.ts";
import { hasIndex, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { indexedAgent } from "../../fixtures/indexed-agents.ts";
import { startLoops } from "../../fixtures/loops.ts";
import type { RunningLoops } from "../../fixtures/loops.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { until } from "../../fixtures/until.ts";

interface Result {
  serviceId: string;
  relevance: number;
  explanation?: { meaning: number; words: number };
}

describe("discovery without its index", () => {
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
    writing = startLoops(api, "search.write-index");
  }
  async function stopWriting(): Promise<void> {
    await writing?.stop();
    writing = undefined;
  }
  async function list(title: string, fields: object = {}, agent = seller): Promise<string> {
    const body = listingBody({ title, description: "Offered to all who ask for it.", ...fields });
    const answer = await api.request("POST", "/api/v1/services", { key: agent.apiKey, body });
    assert.strictEqual(answer.status, 201, answer.text);
    return answer.body.data.id;
  }
  async function discover(query: string, filters: object = {}): Promise<Result[]> {
    const answer = await api.request("POST", "/api/v1/discover", { body: { query, filters, explain: true } });
    assert.strictEqual(answer.status, 200, answer.text);
    return answer.body as Result[];
  }
  const idsOf = async (query: string, filters: object = {}) =>
    (await discover(query, filters)).map(({ serviceId }) => serviceId);
  /** Only the listings' own: the database's folder, without its tables. */
  async function loseIndex(): Promise<void> {
    const { env, connection } = api.container;
    await rm(join(env.searchIndexUrl, connection.name), { recursive: true, force: true });
  }

  it("finds active listings by stems of their words, wherever they are, and orders them by meaning, too", async () => {
    const [show, course] = [await list("Falconry show"), await list("Course", { description: "Teaches falconry." })];
    await list("Beekeeping course", { category: "booking" });
    const paused = await list("Falconry evening");
    await api.request("PATCH", `/api/v1/services/${paused}`, { key: seller.apiKey, body: { status: "paused" } });
    assert.sameMembers(await idsOf("shows of falconry"), [show, course]);
    const [best] = await discover("teach me falconry");
    assert.strictEqual(best?.serviceId, course);
    assert.isAbove(best?.explanation?.meaning ?? 0, 0);
    assert.isAbove(best?.explanation?.words ?? 0, 0);
    assert.isFalse(await hasIndex(api.container));
  });

  it("compares the meaning of the newest thousand and of those that share words", async () => {
    const old = await list("Smart home bridge", { description: "Controls lamps and thermostats through Zigbee." });
    const [byMeaning, byWords] = ["operate household appliances remotely", "zigbee lamps"];
    assert.deepEqual([await idsOf(byMeaning), await idsOf(byWords)], [[old], [old]]);
    const listings = listingModel(api.container.connection);
    const record = await listings.findById(old).lean();
    assert.ok(record !== null);
    const newer = (n: number) => ({
      ...record,
      _id: `lst_z${n}`,
      title: "Falconry",
      description: "Hawks",
      embedding: null,
    });
    await listings.insertMany(Array.from({ length: 999 }, (_, n) => newer(n)));
    assert.deepEqual(await idsOf(byMeaning), [old]);
    await listings.insertMany([newer(999)]);
    assert.deepEqual([await idsOf(byMeaning), await idsOf(byWords)], [[], [old]]);
  });

  it("finds what a query in another language means", async () => {
    const id = await list("Smart home bridge", { description: "Controls lamps and thermostats through Zigbee." });
    const text = "Lampen und Heizung im Haus steuern";
    const [found] = await discover(text);
    assert.strictEqual(found?.serviceId, id);
    const { current: encoder } = api.container.features.discovery.encoders;
    const record = await listingModel(api.container.connection).findById(id).lean();
    const stored = record?.embedding?.vector;
    const meaningAs = async (as: "query" | "document") =>
      cosine((await encoder.encode(text, { as })).vector, toVector(stored));
    assert.closeTo(found?.explanation?.meaning ?? 0, await meaningAs("query"), 1e-6);
    // As a document, the text would be compared by the English model, too.
    assert.notStrictEqual(await meaningAs("query"), await meaningAs("document"));
  });

  it("applies the filters", async () => {
    const cheap = await list("Falconry show", { price: 2 });
    const dear = await list("Falconry course", { price: 9, category: "booking", network: "base" });
    assert.deepEqual(await idsOf("falconry", { maxPrice: 5 }), [cheap]);
    const listed = async (filter: string) => {
      const path = `/api/v1/services?q=falconry&${filter}`;
      const answer = await api.request("GET", path, { key: seller.apiKey });
      return (answer.body.data as { id: string }[]).map(({ id }) => id);
    };
    assert.deepEqual(await listed("category=booking"), [dear]);
    assert.deepEqual(await listed("network=base"), [dear]);
    assert.sameMembers(await listed(`sellerId=${seller.agentId}`), [cheap, dear]);
    const stranger = await api.registerAgent();
    assert.deepEqual(await listed(`sellerId=${stranger.agentId}`), []);
    assert.deepEqual(await listed("currency=ETH"), []);
    assert.deepEqual(await listed("currency=POL&maxPrice=5"), []);
  });

  it("takes sellers with the minimum discoveryScore alone", async () => {
    const other = await api.registerAgent();
    await list("Falconry show");
    const trusted = await list("Falconry course", {}, other);
    const wallet = other.walletAddress.toLowerCase();
    const facts = { score: 100n, distinctCounterparties: 100, topCounterpartyCount: 1, settledCount: 100 };
    const agents = new Map([[wallet, indexedAgent(wallet, { ...facts, released: 100 })]]);
    await api.container.features.agents.standings.write("base-sepolia", [wallet], agents, 1);
    assert.deepEqual(await idsOf("falconry", { minTrustScore: 0.9 }), [trusted]);
    assert.strictEqual((await idsOf("falconry"))[0], trusted);
  });

  it("takes a query as words, whatever it looks like", async () => {
    const id = await list("Falconry show");
    for (const query of ["-falconry show", '"falconry" -"show"', "falconry $where: 1", "falconry ".repeat(100)]) {
      assert.deepEqual(await idsOf(query), [id], query);
    }
    for (const query of ["???", "the of and", "zxqv wqzk"]) assert.deepEqual(await idsOf(query), [], query);
  });

  it("answers every search from the moment that the index's files are lost until it has been built again", async () => {
    const id = await list("Falconry show");
    startWriting();
    await until("the index is built", () => hasIndex(api.container));
    await stopWriting();
    const states = indexStateModel(api.container.connection);
    const lost = (await states.findById("listings").lean())?.table;
    await loseIndex();
    assert.deepEqual(await idsOf("falconry"), [id]);
    startWriting();
    await until("it is built again", async () => {
      assert.deepEqual(await idsOf("falconry"), [id]);
      const { table } = (await states.findById("listings").lean()) ?? {};
      return table !== undefined && table !== lost;
    });
    const { env, connection } = api.container;
    assert.notInclude(await openLanceTables(join(env.searchIndexUrl, connection.name)).names(), lost);
    await until("the index answers", () => hasIndex(api.container));
    assert.deepEqual(await idsOf("falconry"), [id]);
  });

  it("compares vectors of the current model alone", async () => {
    const id = await list("Falconry show");
    const { connection, features } = api.container;
    const listings = listingModel(connection);
    const { current: encoder } = features.discovery.encoders;
    const meaning = async () => (await discover("falconry show"))[0]?.explanation?.meaning;
    assert.isAbove((await meaning()) ?? 0, 0);
    await listings.updateOne({ _id: id }, { $set: { "embedding.model": "earlier@1" } });
    assert.strictEqual(await meaning(), 0);
    await embedPendingListings({ listings, encoder });
    assert.isAbove((await meaning()) ?? 0, 0);
  });

  /** A search of a collection that answers in this way. */
  function searchOf(answer: () => Promise<ListingRecord[]>) {
    const query = { sort: () => query, limit: () => query, maxTimeMS: () => query, lean: answer };
    const listings = { find: () => query } as unknown as ListingModel;
    return createDatabaseSearch({ listings, model: api.container.features.discovery.encoders.current.model });
  }

  it("is refused with 503 if it takes the database too long, and fails with other errors of the database", async () => {
    const slow = new MongoServerError({ message: "operation exceeded time limit", code: 50 });
    const query = { text: "falconry", encoding: null };
    const late = searchOf(() => Promise.reject(slow)).search(query, {});
    const refused = await rejectionOf(late, ApiError);
    assert.deepEqual([refused.code, refused.status], ["search_unavailable", 503]);
    const other = new MongoServerError({ message: "text index required for $text query", code: 27 });
    const failed = searchOf(() => Promise.reject(other)).search(query, {});
    assert.strictEqual(await rejectionOf(failed, MongoServerError), other);
  });

  it("asks the database for two answers at once, and lets further searches wait", async () => {
    const answered: (() => void)[] = [];
    let running = 0;
    let most = 0;
    const search = searchOf(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => answered.push(resolve));
      running -= 1;
      return [];
    });
    const query = { text: "falconry", encoding: null };
    const searches = Promise.all(Array.from({ length: 10 }, () => search.search(query, {})));
    await until("two are being answered", () => Promise.resolve(running >= 2));
    let isDone = false;
    void searches.finally(() => (isDone = true));
    await until("all have been answered", () => {
      answered.splice(0).forEach((answer) => {
        answer();
      });
      return Promise.resolve(isDone);
    });
    assert.strictEqual(most, 2);
  });

  it("isn't kept waiting by an index that has just failed slowly; one that fails fast is tried each time", async () => {
    const { log, features, services } = api.container;
    let tookMs = 0;
    let elapsedMs = 0;
    let tries = 0;
    const away = createDiscoverService({
      encoder: features.discovery.encoders.current,
      loadCategoryFit: () => Promise.resolve(() => 1),
      index: {
        find: () => {
          tries += 1;
          elapsedMs += tookMs;
          return Promise.reject(new IndexUnavailableError("no such table"));
        },
      },
      database: { search: () => Promise.resolve([]) },
      stored: { active: () => Promise.resolve(new Map()) },
      standings: services.standings,
      etherPrice: () => Promise.reject(new Error("no price is needed")),
      elapsedMs: () => elapsedMs,
      log,
    });
    const triesAfter = async (ms: number) => {
      elapsedMs += ms;
      assert.deepEqual(await away.discover("falconry", {}, 1), []);
      return tries;
    };
    assert.deepEqual([await triesAfter(0), await triesAfter(0)], [1, 2]);
    tookMs = 2_000;
    assert.deepEqual([await triesAfter(0), await triesAfter(4_999), await triesAfter(1)], [3, 3, 4]);
  });
});
