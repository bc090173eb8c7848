// The jobs that embed what couldn't be embedded when it was written, or what another model embedded.
import { assert } from "chai";
import { Types } from "mongoose";
import type { Connection } from "mongoose";

import { createIndexes } from "../../../../api/db/connection.ts";
import { listingModel } from "../../../../api/features/listings/model.ts";
import type { ListingRecord } from "../../../../api/features/listings/model.ts";
import { memoryModels } from "../../../../api/features/memory/model.ts";
import type { EntryRecord } from "../../../../api/features/memory/model.ts";
import type { SentenceEncoder } from "../../../../api/search/embedding/encoder.ts";
import { embedPending } from "../../../../api/features/discovery/embed-pending.ts";
import { createLogger } from "../../../../api/lib/logger.ts";
import { embedPendingEntries, embedPendingListings } from "../../../fixtures/embed-pending.ts";
import { LONG_PAUSES, openEncoderBench, providerAt } from "../../../fixtures/embedding-encoders.ts";
import type { EncoderBench } from "../../../fixtures/embedding-encoders.ts";
import { expensive, failing, refusing, startEmbeddingServer } from "../../../fixtures/embedding-server.ts";
import type { EmbeddingServerFixture } from "../../../fixtures/embedding-server.ts";
import { readsOf } from "../../../fixtures/profile.ts";
import { rejectionOf } from "../../../fixtures/rejection.ts";
import { until } from "../../../fixtures/until.ts";

const log = createLogger({ level: "silent", name: "test" });
const MODEL = "compatible:scripted:64";

describe("what waits to be embedded", () => {
  let bench: EncoderBench;
  let connection: Connection;
  let server: EmbeddingServerFixture;
  let encoder: SentenceEncoder;
  let listings: ReturnType<typeof listingModel>;
  let models: ReturnType<typeof memoryModels>;

  beforeEach(async () => {
    bench = await openEncoderBench();
    ({ connection } = bench);
    listings = listingModel(connection);
    models = memoryModels(connection);
    await createIndexes(connection);
    server = await startEmbeddingServer();
    encoder = (await bench.process(providerAt(server.baseUrl))).current;
  });
  afterEach(async () => {
    await bench.close();
    await server.close();
  });

  const embedListings = (by = encoder) => embedPendingListings({ listings, encoder: by });
  const embedMemory = (by = encoder) => embedPendingEntries({ connection, models, encoder: by });
  const old = { model: "use-lite-en@0.2.0", vector: Buffer.alloc(2_048) };
  const now = new Date();

  /** Stores listings, the number as their title. */
  async function list(numbers: readonly number[], fields: Partial<ListingRecord> = {}): Promise<void> {
    await listings.collection.insertMany(
      numbers.map((number): ListingRecord => {
        return {
          _id: `lst_${String(number).padStart(6, "0")}`,
          sellerAgentId: "agt_1",
          sellerKey: "0x1",
          sellerAddress: "0x1",
          title: `Airship ${number}`,
          description: "Rents airships.",
          category: "booking",
          price: Types.Decimal128.fromString("1"),
          priceUnit: "flat",
          currency: "USDC",
          deliveryType: "async",
          callbackRequired: false,
          endpointUrl: null,
          network: "base",
          status: "active",
          revision: 1,
          embedding: null,
          createdAt: now,
          updatedAt: now,
          ...fields,
        };
      }) as never[],
    );
  }

  /** Stores an agent's entries, the number in their value. */
  async function remember(agentId: string, numbers: readonly number[]): Promise<void> {
    await models.totals.collection.insertOne({ _id: agentId, entries: 0, bytes: 0, changes: 0 } as never);
    await models.entries.collection.insertMany(
      numbers.map((number): EntryRecord => {
        return {
          _id: `${agentId}|default|${number}`,
          agentId,
          namespace: "default",
          key: String(number),
          tags: [],
          version: 1,
          valueJson: JSON.stringify(`diary of day ${number}`),
          bytes: 1,
          writeId: "w",
          ttlSeconds: 3_600,
          expiresAt: new Date(now.getTime() + 3_600_000),
          earlierBytes: 0,
          embedding: null,
          change: 0,
          createdAt: now,
          updatedAt: now,
        };
      }) as never[],
    );
  }

  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
  const modelOf = async (number: number) =>
    (await listings.findById(`lst_${String(number).padStart(6, "0")}`).lean())?.embedding?.model ?? null;

  it("listings get their vectors in batches, those without one and those of another model", async () => {
    await list(range(0, 70));
    await list(range(70, 130), { status: "paused", embedding: old });
    assert.strictEqual(await embedListings(), 130);
    assert.deepEqual(
      server.seen.map(({ body }) => body.input.length).sort((a, b) => a - b),
      [6, 60, 64],
    );
    assert.include(server.texts(), "Airship 3. booking. Rents airships.");
    const stored = await listings.find().lean();
    assert.isTrue(stored.every(({ embedding }) => embedding?.model === MODEL));
    assert.isTrue(stored.every(({ embedding }) => embedding?.vector.buffer.byteLength === 64 * 4));
    assert.strictEqual(await embedListings(), 0);
  });

  const run = (texts: "new" | "outdated") => ({ texts, limitMs: 60_000, signal: new AbortController().signal, log });

  it("new listings have a run of their own, and so have those of another model, the last changed ones first", async () => {
    const at = (minute: number) => ({ updatedAt: new Date(now.getTime() + minute * 60_000) });
    for (const number of range(0, 200)) await list([number], { embedding: old, ...at(number) });
    await list([300], at(2));
    await list([301], at(3));
    await list([302], at(1));
    const numbersOf = (texts: readonly string[]) => texts.map((text) => Number(/^Airship (\d+)/.exec(text)?.[1]));
    assert.strictEqual(await embedPending({ listings, encoder }, run("new")), 3);
    assert.deepEqual(numbersOf(server.texts()), [301, 300, 302]);
    assert.strictEqual(await listings.countDocuments({ "embedding.model": MODEL }), 3);
    assert.strictEqual(await embedPending({ listings, encoder }, run("outdated")), 200);
    const requests = server.seen.map(({ body }) => numbersOf(body.input));
    assert.sameMembers(requests.find((numbers) => numbers.includes(199)) ?? [], range(136, 200));
  });

  it("a run goes on where a killed one ended, and embeds again what that hadn't stored alone", async () => {
    await list(range(0, 1_000), { embedding: old });
    let stored = 0;
    // As if the process had ended while it wrote its second batch.
    const killed = new Proxy(listings, {
      get(target, name) {
        if (name !== "bulkWrite") return Reflect.get(target, name) as unknown;
        return async (...args: Parameters<typeof listings.bulkWrite>) => {
          stored += 1;
          if (stored > 1) throw new Error("killed");
          return await listings.bulkWrite(...args);
        };
      },
    });
    await rejectionOf(embedPending({ listings: killed, encoder }, run("outdated")), Error);
    assert.strictEqual(await listings.countDocuments({ "embedding.model": MODEL }), encoder.atOnce);
    // Nothing is answered from the cache.
    await connection.collection("embeddings").deleteMany({});
    assert.strictEqual(await embedPending({ listings, encoder }, run("outdated")), 1_000 - encoder.atOnce);
    const twice = server.texts().length - new Set(server.texts()).size;
    // The batch that was being stored, and the one that was being embedded meanwhile.
    assert.isAtMost(twice, 2 * encoder.atOnce);
    assert.isAbove(twice, 0);
  });

  it("archived listings never do", async () => {
    await list(range(0, 3), { status: "archived" });
    assert.strictEqual(await embedListings(), 0);
    assert.isEmpty(server.seen);
  });

  it("a run reads what waits from its index, however much doesn't", async () => {
    await list(range(0, 400), { embedding: { ...old, model: MODEL } });
    await list(range(400, 800), { status: "archived" });
    await list(range(800, 805));
    await list(range(805, 810), { embedding: old });
    const reads = await readsOf(connection, "listings", () => embedListings());
    const total = (key: "keys" | "documents") => reads.reduce((sum, read) => sum + read[key], 0);
    assert.isFalse(reads.some(({ sorts }) => sorts));
    // Ten are read, and then found again by their ids to be changed.
    assert.isAtMost(total("documents"), 20);
    assert.isAtMost(total("keys"), 40);
  });

  it("a listing that changes meanwhile keeps its own embedding", async () => {
    await list([1]);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    server.gate = promise;
    const run = embedListings();
    await until("the old text has been sent", () => Promise.resolve(server.seen.length === 1));
    const embedding = { model: MODEL, vector: Buffer.alloc(256, 7) };
    await listings.updateOne({}, { title: "Balloon", revision: 2, embedding });
    resolve(undefined);
    assert.strictEqual(await run, 0);
    assert.deepEqual((await listings.findOne().lean())?.embedding?.vector.buffer, embedding.vector as never);
  });

  it("two workers at once embed everything", async () => {
    await list(range(0, 100));
    await remember("agt_1", range(0, 100));
    const other = (await bench.process(providerAt(server.baseUrl))).current;
    await Promise.all([embedListings(), embedListings(other), embedMemory(), embedMemory(other)]);
    assert.strictEqual(new Set(server.texts()).size, 200);
    assert.strictEqual(await models.entries.countDocuments({ "embedding.model": MODEL }), 100);
    assert.strictEqual(await listings.countDocuments({ "embedding.model": MODEL }), 100);
  });

  it("while the server is unavailable a run sends one batch at most, and a later one goes on", async () => {
    await list(range(0, 600));
    server.always = failing(401);
    const kept = (await bench.process(providerAt(server.baseUrl), { pauses: LONG_PAUSES })).current;
    assert.strictEqual(await embedListings(kept), 0);
    assert.strictEqual(await embedListings(kept), 0);
    // Four requests run at the same time.
    assert.isAtMost(server.seen.length, 4);
    server.always = undefined;
    let embedded = 0;
    await until("all are embedded", async () => (embedded += await embedListings()) === 600);
  });

  it("a run ends when the day's tokens are spent, with what they paid for", async () => {
    await list(range(0, 300));
    server.always = expensive;
    const poor = (await bench.process(providerAt(server.baseUrl, { dailyTokens: 10_000 }))).current;
    const embedded = await embedListings(poor);
    assert.isAbove(embedded, 100);
    assert.isBelow(embedded, 300);
    assert.strictEqual(await listings.countDocuments({ "embedding.model": MODEL }), embedded);
  });

  it("a text that the server refuses holds up nothing, in both jobs", async () => {
    server.always = refusing("13");
    await list(range(0, 20));
    await remember("agt_1", range(0, 20));
    assert.strictEqual(await embedListings(), 19);
    assert.strictEqual(await embedMemory(), 19);
    assert.isNull(await modelOf(13));
    const requests = server.seen.length;
    assert.deepEqual([await embedListings(), await embedMemory()], [0, 0]);
    assert.strictEqual(server.seen.length, requests);
  });

  it("an agent with many entries doesn't keep those of others waiting", async () => {
    await remember("agt_1", range(0, 600));
    await remember("agt_2", range(0, 3));
    server.always = expensive;
    const poor = (await bench.process(providerAt(server.baseUrl, { dailyTokens: 10_000 }))).current;
    const embedded = await embedMemory(poor);
    assert.isBelow(embedded, 603);
    assert.strictEqual(await models.entries.countDocuments({ agentId: "agt_2", "embedding.model": MODEL }), 3);
  });

  it("an agent whose share of the day's tokens is spent holds up nobody", async () => {
    await remember("agt_1", range(0, 600));
    await remember("agt_2", range(0, 60));
    server.always = expensive;
    // A share has room for ten entries or so.
    const fields = { maxTextBytes: 200, dailyTokens: 4_000 };
    await embedMemory((await bench.process(providerAt(server.baseUrl, fields))).current);
    for (const agentId of ["agt_1", "agt_2"]) {
      const embedded = await models.entries.countDocuments({ agentId, "embedding.model": MODEL });
      assert.isAbove(embedded, 5, agentId);
      assert.isBelow(embedded, 20, agentId);
    }
  });

  it("every entry of every agent has its turn once, those of earlier models too", async () => {
    const agents = ["agt_1", "agt_2", "agt_3"];
    for (const agentId of agents) await remember(agentId, range(0, 120));
    await remember("agt_4", range(0, 2));
    const earlier = { $set: { embedding: { model: "earlier@1", vector: Buffer.alloc(4) } } };
    await models.entries.updateMany({ agentId: "agt_2" }, earlier);
    assert.strictEqual(await embedMemory(), 362);
    assert.strictEqual(server.texts().length, 362);
    assert.strictEqual(await models.entries.countDocuments({ "embedding.model": MODEL }), 362);
  });

  it("a run for memory entries reads what waits from its index", async () => {
    await remember("agt_1", range(0, 400));
    await models.entries.updateMany({}, { $set: { embedding: { model: MODEL, vector: Buffer.alloc(256) } } });
    await remember("agt_2", range(0, 5));
    const reads = await readsOf(connection, "memory_entries", () => embedMemory());
    assert.isFalse(reads.some(({ sorts }) => sorts));
    // Five are read, and then found again by their ids to be changed.
    assert.isAtMost(
      reads.reduce((sum, { documents }) => sum + documents, 0),
      15,
    );
  });

  it("memory entries of several agents share requests, but no vector", async () => {
    await remember("agt_1", range(0, 5));
    await remember("agt_2", range(0, 5));
    assert.strictEqual(await embedMemory(), 10);
    assert.strictEqual(server.seen.length, 1);
    assert.strictEqual(server.texts().length, 10);
    assert.strictEqual(await models.entries.countDocuments({ "embedding.model": MODEL, change: { $gt: 0 } }), 10);
    assert.strictEqual(await embedMemory(), 0);
  });
});
