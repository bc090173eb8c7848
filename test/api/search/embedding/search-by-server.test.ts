// Listings, memory and search with texts that a server embeds.
import { assert } from "chai";

import type { Env } from "../../../../api/config/env.ts";
import { CATEGORY_TOPICS } from "../../../../api/features/discovery/category-topics.ts";
import { indexStateModel } from "../../../../api/search/index/index-state.ts";
import type { listingModel } from "../../../../api/features/listings/model.ts";
import { embedPendingEntries, embedPendingListings } from "../../../fixtures/embed-pending.ts";
import { listingBody, startTestApi } from "../../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../../fixtures/api.ts";
import { EMBEDDING_KEY, providerAt } from "../../../fixtures/embedding-encoders.ts";
import { failing, hanging, startEmbeddingServer } from "../../../fixtures/embedding-server.ts";
import type { EmbeddingServerFixture } from "../../../fixtures/embedding-server.ts";
import { memoryOf } from "../../../fixtures/memory.ts";
import { until } from "../../../fixtures/until.ts";

const DIMENSIONS = 256;
const MODEL = `compatible:scripted:${DIMENSIONS}`;

describe("search with an embedding server", () => {
  let server: EmbeddingServerFixture;
  let api: TestApi;
  let seller: TestAgent;
  let opened: TestApi[];

  beforeEach(async () => {
    server = await startEmbeddingServer(DIMENSIONS);
    opened = [];
    api = await start();
    seller = await api.registerAgent();
  });
  afterEach(async () => {
    for (const one of opened.slice(1)) await one.stop();
    await opened[0]?.close();
    await server.close();
  });

  /** Another process; on the database of the first one. */
  async function start(env: Partial<Env> = {}): Promise<TestApi> {
    const embeddingProvider = providerAt(server.baseUrl, { dimensions: DIMENSIONS });
    const first = opened[0]?.container.connection.name;
    const options = first === undefined ? {} : { databaseName: first };
    const started = await startTestApi({ ...options, search: true, env: { embeddingProvider, ...env } });
    opened.push(started);
    return started;
  }

  const airship = { title: "Zeppelin charter", description: "Rents airships for every voyage.", category: "booking" };

  async function list(fields: Record<string, unknown> = airship, by = api): Promise<string> {
    const answer = await by.request("POST", "/api/v1/services", { key: seller.apiKey, body: listingBody(fields) });
    assert.strictEqual(answer.status, 201, answer.text);
    return answer.body.data.id as string;
  }
  async function found(query: string, by = api): Promise<string[]> {
    const answer = await by.request("POST", "/api/v1/discover", { body: { query } });
    assert.strictEqual(answer.status, 200, answer.text);
    return answer.body.map(({ serviceId }: { serviceId: string }) => serviceId);
  }
  const untilFound = (query: string, id: string, by = api) =>
    until(`${query} finds it`, async () => (await found(query, by)).includes(id));
  const listingsOf = (by: TestApi) =>
    by.container.connection.models["Listing"] as unknown as ReturnType<typeof listingModel>;
  const stored = async (id: string) => (await listingsOf(api).findById(id).lean())?.embedding ?? null;
  /** Runs the worker's job until it has embedded something: after a failure nothing is sent for a moment. */
  const embedListings = (by = api) =>
    until("pending listings are embedded", async () => {
      const encoder = by.container.features.discovery.encoders.current;
      return (await embedPendingListings({ listings: listingsOf(by), encoder })) > 0;
    });

  it("finds a listing by its meaning, embedded once when it is created", async () => {
    const id = await list();
    // The topics are embedded for the index, which says how well each listing fits its category.
    const topics = new Set<string>(Object.values(CATEGORY_TOPICS));
    assert.deepEqual(
      server.texts().filter((text) => !topics.has(text)),
      ["Zeppelin charter. booking. Rents airships for every voyage."],
    );
    const embedding = await stored(id);
    assert.deepEqual([embedding?.model, embedding?.vector.buffer.byteLength], [MODEL, 4 * DIMENSIONS]);
    await untilFound("dirigible journey", id);
    assert.deepEqual(await found("doctor for dogs"), []);
  });

  it("embeds a text once for all processes: changes of the price, twins and queries cost nothing more", async () => {
    const other = await start();
    const id = await list();
    await list(airship, other);
    await api.request("PATCH", `/api/v1/services/${id}`, { key: seller.apiKey, body: { price: 9 } });
    await untilFound("dirigible journey", id);
    await untilFound("dirigible journey", id, other);
    const texts = server.texts();
    for (const once of ["Zeppelin charter. booking. Rents airships for every voyage.", "dirigible journey"]) {
      assert.strictEqual(texts.filter((text) => text === once).length, 1, once);
    }
    // The others say what is usual in each category.
    assert.strictEqual(new Set(texts).size, texts.length);
  });

  it("takes a listing while the server is down: found by its words at once, and by its meaning later", async () => {
    server.always = failing(401);
    const id = await list();
    assert.isNull(await stored(id));
    await untilFound("zeppelin", id);
    assert.notInclude(await found("dirigible journey"), id);
    const { body } = await api.request("GET", "/ready");
    assert.deepEqual([body.search.ok, body.encoder.model, body.encoder.server.answers], [true, MODEL, false]);

    server.always = undefined;
    await embedListings();
    assert.strictEqual((await stored(id))?.model, MODEL);
    await untilFound("dirigible journey", id);
    // An answer of /ready is shared for a second.
    await until("/ready says so", async () => {
      const { encoder } = (await api.request("GET", "/ready")).body;
      return encoder.server.answers as boolean;
    });
  });

  it("doesn't keep a seller waiting for a server that hangs", async () => {
    server.always = hanging;
    const id = await list();
    assert.isNull(await stored(id));
    await untilFound("zeppelin", id);
  });

  it("goes by words when the day's tokens are spent, and says what they were", async () => {
    const id = await list();
    await untilFound("dirigible journey", id);
    const embeddingProvider = providerAt(server.baseUrl, { dimensions: DIMENSIONS, dailyTokens: 1 });
    const poor = await start({ embeddingProvider });
    const requests = server.seen.length;
    assert.deepEqual(await found("dirigible travel", poor), []);
    assert.deepEqual(await found("zeppelin charter", poor), [id]);
    assert.deepEqual(await found("dirigible journey", poor), [id], "its vector is in the cache");
    const late = await list({ ...airship, title: "Balloon rides" }, poor);
    assert.isNull(await stored(late));
    assert.strictEqual(server.seen.length, requests);
    const { encoder } = (await poor.request("GET", "/ready")).body;
    assert.strictEqual(encoder.server.dailyTokens, 1);
    assert.isAbove(encoder.server.tokensToday, 0);
    assert.isTrue(encoder.server.answers);
    const { body: metrics } = await poor.container.metrics.text();
    assert.include(metrics, `embedding_tokens_today ${encoder.server.tokensToday}`);
    assert.include(metrics, "embedding_server_answers 1");
  });

  it("finds an agent's memory by meaning, and by words while the server is down", async () => {
    const memory = memoryOf(api, seller);
    const keys = async (query: string) => {
      const answer = await memory.call("POST", "/search", { body: { query } });
      assert.strictEqual(answer.status, 200, answer.text);
      return answer.body.data.map(({ key }: { key: string }) => key) as string[];
    };
    await memory.write("pet", "A veterinarian treats dogs");
    await until("the entry is found by its meaning", async () => (await keys("doctor for animals"))[0] === "pet");
    server.always = failing(401);
    assert.strictEqual((await memory.write("trip", "A zeppelin charter")).status, 201);
    assert.deepEqual(await keys("zeppelin"), ["trip"]);
    assert.deepEqual(await keys("airship voyage"), []);
    server.always = undefined;
    const { connection, features } = api.container;
    const deps = { connection, models: features.memory.models, encoder: features.discovery.encoders.current };
    await until("the entry is embedded", async () => (await embedPendingEntries(deps)) > 0);
    await until("the other is found by its meaning", async () => (await keys("airship voyage"))[0] === "trip");
  });

  it("embeds everything again after a change of the model, and finds it by its words meanwhile", async () => {
    const [id, archived] = [await list(), await list({ ...airship, title: "Old charter" })];
    await api.request("DELETE", `/api/v1/services/${archived}`, { key: seller.apiKey });
    await untilFound("dirigible journey", id);
    await api.endLoops();
    const changed = await start({ embeddingProvider: providerAt(server.baseUrl, { model: "next", dimensions: 512 }) });
    assert.deepEqual(await found("zeppelin charter", changed), [id]);
    const states = indexStateModel(api.container.connection);
    const modelOfIndex = async () => (await states.findById("listings").lean())?.model;
    await until("the new index answers", async () => (await modelOfIndex()) === "compatible:next:512");
    assert.deepEqual(await found("zeppelin charter", changed), [id]);
    await embedListings(changed);
    assert.strictEqual((await stored(id))?.model, "compatible:next:512");
    assert.strictEqual((await stored(archived))?.model, MODEL);
    await untilFound("dirigible journey", id, changed);
  });

  it("answers any query: of 1,000 characters, of emoji, in other languages", async () => {
    const id = await list();
    await untilFound("zeppelin", id);
    for (const query of ["x ".repeat(500), "\u{1f600}".repeat(1_000), "\u98de\u8247\u65c5\u884c", "?!"]) {
      const answer = await api.request("POST", "/api/v1/discover", { body: { query } });
      assert.strictEqual(answer.status, 200, answer.text);
    }
    assert.isTrue(server.texts().every((text) => Buffer.byteLength(text) <= 8_192));
  });

  it("keeps no text of a query or of a memory entry, and no key, beside what is stored anyway", async () => {
    await memoryOf(api, seller).write("k", "A secret diary about airships");
    await found("a secret wish for airships");
    const { connection } = api.container;
    const all = await Promise.all(
      ["embeddings", "embedding_spending"].map((name) => connection.collection(name).find().toArray()),
    );
    assert.isAtLeast(all[0]?.length ?? 0, 2);
    const text = JSON.stringify(all);
    for (const part of ["secret", "diary", seller.agentId, EMBEDDING_KEY]) assert.notInclude(text, part);
  });
});
