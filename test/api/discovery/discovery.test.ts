import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "chai";

import type { Network } from "../../../api/config/constants.ts";
import { createThreadEncoder } from "../../../api/search/embedding/encoder.ts";
import type { listingModel } from "../../../api/features/listings/model.ts";
import type { Indexer } from "../../../api/indexer/indexer-client.ts";
import type { IndexedAgent } from "../../../api/indexer/schemas.ts";
import { embedPendingListings } from "../../fixtures/embed-pending.ts";
import { listingBody, startTestApi } from "../../fixtures/api.ts";
import { resolve } from "../../fixtures/description.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { indexedAgent, indexersWith } from "../../fixtures/indexed-agents.ts";

const PATH = "/api/v1/discover";
/** How long a change may take to be found (specification 2.2); it takes milliseconds. */
const FOUND_WITHIN_MS = 60_000;

interface Result {
  serviceId: string;
  sellerAgentId: string;
  discoveryScore: number;
  relevance: number;
  price: number;
}

describe("discovery", () => {
  let api: TestApi;
  let seller: TestAgent;
  /** What the subgraphs say about wallets, by network and lower-case wallet. */
  const known: Record<Network, Map<string, IndexedAgent>> = { "base-sepolia": new Map(), base: new Map() };
  const indexers: Record<Network, Indexer> = indexersWith(known);
  const databaseName = `test_discover_${randomBytes(6).toString("hex")}`;

  before(async () => {
    api = await startTestApi({ indexers, databaseName, search: true });
    seller = await api.registerAgent();
  });
  after(() => api.close());

  const discover = (body: unknown, on: TestApi = api): Promise<Answer> => on.request("POST", PATH, { body });
  const idsOf = (answer: Answer): string[] => (answer.body as Result[]).map(({ serviceId }) => serviceId);

  async function list(fields: Record<string, unknown>, agent = seller): Promise<string> {
    const answer = await api.request("POST", "/api/v1/services", { key: agent.apiKey, body: listingBody(fields) });
    assert.strictEqual(answer.status, 201, answer.text);
    return answer.body.data.id;
  }

  /** Repeats a request until its answer is right, and returns the milliseconds that it took. */
  async function until(query: string, isRight: (ids: string[]) => boolean, on: TestApi = api): Promise<number> {
    const startedAt = performance.now();
    for (;;) {
      const ids = idsOf(await discover({ query }, on));
      const elapsedMs = performance.now() - startedAt;
      if (isRight(ids)) return elapsedMs;
      assert.ok(elapsedMs < FOUND_WITHIN_MS, `${query}: not found as expected within a minute: ${ids.join(", ")}`);
      await sleep(20);
    }
  }

  /** An agent with this state in the subgraph, synced as after a settlement. */
  async function ratedAgent(network: Network, facts: Partial<IndexedAgent>): Promise<TestAgent> {
    const agent = await api.registerAgent();
    known[network].set(agent.walletAddress.toLowerCase(), indexedAgent(agent.walletAddress, facts));
    await api.container.services.standings.sync(network, [agent.walletAddress]);
    return agent;
  }

  describe("happy", () => {
    it("[S4.r12] [S4.r12.2] [S4.r12.5] [S1.02] answers an array without a key, filters or payment", async () => {
      const answer = await discover({ query: "bookkeeping" });
      assert.strictEqual(answer.status, 200);
      assert.ok(Array.isArray(answer.body));
    });

    it("[S1.01] finds a service by meaning where query and text share no word", async () => {
      const id = await list({
        title: "Smart home bridge",
        description: "Controls lamps, thermostats and locks through Zigbee on behalf of other agents.",
        category: "hardware_iot",
      });
      await until("operate household appliances remotely", (ids) => ids[0] === id);
    });

    it("[D23] a result has the listing's facts, its seller, the discovery score and the relevance", async () => {
      const id = await list({
        title: "Astrology readings",
        description: "Horoscopes for cats.",
        category: "other",
        price: 0.25,
      });
      await until("horoscope", (ids) => ids.includes(id));
      const results = (await discover({ query: "horoscope" })).body as Result[];
      const { relevance, ...result } = results.find(({ serviceId }) => serviceId === id) ?? { relevance: 0 };
      assert.deepEqual(result, {
        id,
        serviceId: id,
        title: "Astrology readings",
        description: "Horoscopes for cats.",
        category: "other",

        price: 0.25,
        priceUnit: "per_request",
        currency: "USDC",
        network: "base-sepolia",
        deliveryType: "webhook",
        callbackRequired: true,
        sellerAgentId: seller.agentId,
        sellerAddress: seller.walletAddress,
        discoveryScore: 0,
      });
      assert.ok(relevance > 0.15 && relevance <= 1, String(relevance));
    });

    it("finds a rare word in the text even though no encoder knows it", async () => {
      const id = await list({
        title: "Quorblex tuning",
        description: "We tune your Quorblex 9000.",
        category: "engineering",
      });
      await until("quorblex", (ids) => ids.length === 1 && ids[0] === id);
    });

    it("[S4.r03.1] GET /api/v1/services?q= searches the same way and pages", async () => {
      const ids: string[] = [];
      for (const animal of ["dogs", "cats", "horses"]) {
        ids.push(
          await list({
            title: `Veterinary advice for ${animal}`,
            description: `A vet answers questions on ${animal}.`,
          }),
        );
      }
      await until("veterinarian", (found) => ids.every((id) => found.includes(id)));
      const found: string[] = [];
      let next = "";
      do {
        const answer = await api.request("GET", `/api/v1/services?q=animal%20doctor&limit=1${next}`, {
          key: seller.apiKey,
        });
        assert.strictEqual(answer.body.data.length, 1);
        found.push(answer.body.data[0].id);
        next = answer.body.nextCursor === null ? "" : `&cursor=${answer.body.nextCursor}`;
      } while (next !== "");
      assert.strictEqual(new Set(found).size, found.length);
      assert.deepEqual(found, idsOf(await discover({ query: "animal doctor" })));
    });
  });

  describe("queries of every kind", () => {
    it("a real description comes before a vague one of the same category", async () => {
      const vague = await list({
        title: "Security",
        description: "We do security auditing.",
        category: "security_auditing",
      });
      const audit = await list({
        title: "Solidity audit",
        description:
          "Manual review of smart contracts for reentrancy, access control and arithmetic errors, with a written report " +
          "and proposed fixes.",
        category: "security_auditing",
      });
      const query = "find security holes in my ethereum code";
      await until(query, (ids) => ids.includes(vague) && ids.includes(audit));
      assert.strictEqual(idsOf(await discover({ query }))[0], audit);
    });

    it("one of 1,000 characters finds what its text is about", async () => {
      const id = await list({
        title: "Bridge inspection by drone",
        category: "hardware_iot",
        description:
          "Flies along girders and cables, photographs cracks and rust, and marks each on a model of the bridge.",
      });
      const sentence = "Our old suspension bridge needs somebody who looks at rusty cables from the air. ";
      const query = sentence.repeat(13).slice(0, 1_000);
      assert.lengthOf(query, 1_000);
      await until(query, (ids) => ids[0] === id);
    });

    it("one in another language finds what it means, and no listings that are near at random", async () => {
      const text = { title: "Translation of any document", description: "Translates letters and papers into English." };
      const translator = await list({ ...text, category: "translation" });
      const bakery = await list({
        title: "Emplacement de boulangerie",
        category: "research",
        description: "Compare les quartiers où ouvrir une boulangerie, avec les loyers et la concurrence.",
      });
      await until("translate my letters", (ids) => ids.includes(translator));
      await until("ouvrir une boulangerie", (ids) => ids[0] === bakery);
      for (const query of [
        "Wer übersetzt meine Briefe ins Englische?",
        "necesito traducir unos documentos",
        "请翻译我的信",
      ]) {
        assert.strictEqual(idsOf(await discover({ query }))[0], translator, query);
      }
      for (const query of [
        "Der lila Elefant singt Opern unter dem gefrorenen See",
        "Vulkan Dinosaurier Posaune",
        "los elefantes morados cantan ópera bajo el lago helado",
        "凍った湖の下で紫色の象がオペラを歌う",
        "слоны поют оперу подо льдом",
      ]) {
        assert.deepEqual((await discover({ query })).body, [], query);
      }
    });
  });

  describe("freshness", () => {
    it("[S2.2.27] a new listing is found at once, even by another process on the same database", async () => {
      const second = await startTestApi({ indexers, databaseName });
      try {
        const id = await list({ title: "Beekeeping lessons", description: "Learn to keep bees and harvest honey." });
        const [here, there] = [
          await until("apiary course", (ids) => ids.includes(id)),
          await until("apiary course", (ids) => ids.includes(id), second),
        ];
        console.log(
          `a new listing was found after ${here.toFixed(0)} ms, by another process after ${there.toFixed(0)} ms`,
        );
      } finally {
        await second.stop();
      }
    });

    it("[S2.2.28] a changed listing is found by its new text and no longer by the old one", async () => {
      const id = await list({ title: "Piano tuner", description: "Tunes grand pianos." });
      await until("piano", (ids) => ids.includes(id));
      const body = { title: "Scuba diving guide", description: "Leads divers along coral reefs." };
      assert.strictEqual(
        (await api.request("PATCH", `/api/v1/services/${id}`, { key: seller.apiKey, body })).status,
        200,
      );
      await until("underwater excursion", (ids) => ids.includes(id));
      assert.ok(!idsOf(await discover({ query: "piano" })).includes(id));
    });

    it("[S3.3.03] [S3.3.05] a paused listing is hidden from search and returns when it is active again", async () => {
      const id = await list({ title: "Falconry show", description: "Trained falcons perform at your event." });
      const setStatus = (status: string) =>
        api.request("PATCH", `/api/v1/services/${id}`, { key: seller.apiKey, body: { status } });
      await until("falcons", (ids) => ids.includes(id));
      await setStatus("paused");
      await until("falcons", (ids) => !ids.includes(id));
      const searched = await api.request("GET", "/api/v1/services?q=falcons", { key: seller.apiKey });
      assert.deepEqual(searched.body.data, []);
      await setStatus("active");
      await until("falcons", (ids) => ids.includes(id));
    });

    it("[S3.3.08] an archived listing is never found", async () => {
      const id = await list({ title: "Volcano tours", description: "Hikes to active craters." });
      await until("volcano hike", (ids) => ids.includes(id));
      await api.request("DELETE", `/api/v1/services/${id}`, { key: seller.apiKey });
      await until("volcano hike", (ids) => !ids.includes(id));
    });

    it("a listing that couldn't be embedded is found by its words, and by meaning once the job has run", async () => {
      const id = await list({
        title: "Zeppelin charter",
        description: "Rents airships for journeys above the clouds.",
      });
      await until("zeppelin", (ids) => ids.includes(id));
      const { connection, log } = api.container;
      // The state after a process died, or had no encoder, between the write and the embedding.
      await connection.collection("listings").updateOne({ _id: id as never }, { $set: { embedding: null } });
      await until("dirigible flight", (ids) => !ids.includes(id));
      await until("zeppelin", (ids) => ids.includes(id));
      const encoder = createThreadEncoder(log);
      const listings = connection.models["Listing"] as ReturnType<typeof listingModel>;
      assert.strictEqual(await embedPendingListings({ listings, encoder }), 1);
      assert.strictEqual(await embedPendingListings({ listings, encoder }), 0);
      await encoder.close();
      await until("dirigible flight", (ids) => ids.includes(id));
    });
  });

  describe("filters and ranking", () => {
    const offer = { title: "Chess coaching", description: "Grandmasters review your games and openings." };

    it("[S4.r12.4] maxPrice excludes more expensive services", async () => {
      const cheap = await list({ title: "Origami folding", description: "Folds paper cranes.", price: 1.000001 });
      const dear = await list({ title: "Origami folding", description: "Folds paper cranes.", price: 1.000002 });
      await until("paper cranes", (ids) => ids.includes(cheap) && ids.includes(dear));
      const found = idsOf(await discover({ query: "paper cranes", filters: { maxPrice: 1.000001 } }));
      assert.ok(found.includes(cheap) && !found.includes(dear));
      assert.deepEqual(await discover({ query: "paper cranes", filters: { maxPrice: 0 } }).then(idsOf), []);
    });

    it("[S4.r12.3] [S2.5.11] minTrustScore compares with the seller's discoveryScore and includes the bound", async () => {
      const trusted = await ratedAgent("base-sepolia", { score: 37n });
      const [known37, unknown] = [await list(offer, trusted), await list(offer)];
      await until("chess", (ids) => ids.includes(known37) && ids.includes(unknown));
      const found = async (minTrustScore: number) =>
        idsOf(await discover({ query: "chess", filters: { minTrustScore } })).filter((id) =>
          [known37, unknown].includes(id),
        );
      assert.deepEqual((await found(0)).sort(), [known37, unknown].sort());
      assert.deepEqual(await found(0.37), [known37]);
      assert.deepEqual(await found(0.38), []);
      const listed = await api.request("GET", "/api/v1/services?minTrustScore=0.37", { key: seller.apiKey });
      assert.deepEqual(
        listed.body.data.map(({ id }: { id: string }) => id),
        [known37],
      );
    });

    it("limit gives the first of the same answers, from 1 to 50, and 50 by default", async () => {
      const ids: string[] = [];
      for (const thing of ["mites", "queens", "honey", "wax", "swarms"]) {
        ids.push(
          await list({ title: `Beehive inspection for ${thing}`, description: `Inspects beehives for ${thing}.` }),
        );
      }
      await until("beehive", (found) => ids.every((id) => found.includes(id)));
      const all = idsOf(await discover({ query: "beehive" }));
      assert.deepEqual(idsOf(await discover({ query: "beehive", limit: 50 })), all);
      for (const limit of [1, 3]) {
        assert.deepEqual(idsOf(await discover({ query: "beehive", limit })), all.slice(0, limit));
      }
      const { body } = await api.request("GET", "/openapi.json");
      const { schema } = body.paths[PATH].post.requestBody.content["application/json"];
      const { minimum, maximum, default: usual } = resolve(body, schema).properties.limit;
      assert.deepEqual([minimum, maximum, usual], [1, 50, 50]);
    });

    it("[D20] a score counts only on the listing's network", async () => {
      const agent = await ratedAgent("base", { score: 80n, distinctCounterparties: 10, settledCount: 10 });
      const text = { title: "Glacier sampling", description: "Drills ice cores." };
      const [testnet, mainnet] = [await list(text, agent), await list({ ...text, network: "base" }, agent)];
      await until("ice cores", (ids) => ids.includes(testnet) && ids.includes(mainnet));
      const results = (await discover({ query: "ice cores" })).body as Result[];
      const scoreOf = (id: string) => results.find(({ serviceId }) => serviceId === id)?.discoveryScore;
      assert.deepEqual([scoreOf(testnet), scoreOf(mainnet)], [0, 0.8]);
    });

    it("[S2.5.10] all else being equal, the higher discoveryScore ranks first", async () => {
      const text = { title: "Lighthouse keeping", description: "Keeps your lighthouse lit." };
      const deals = { distinctCounterparties: 10, topCounterpartyCount: 2, settledCount: 20 };
      const sellers = [];
      for (const score of [20n, 90n, 50n]) sellers.push(await ratedAgent("base-sepolia", { score, ...deals }));
      const ids: string[] = [];
      for (const agent of sellers) ids.push(await list(text, agent));
      await until("lighthouse", (found) => ids.every((id) => found.includes(id)));
      const all = (await discover({ query: "lighthouse" })).body as Result[];
      const results = all.filter(({ serviceId }) => ids.includes(serviceId));
      assert.deepEqual(
        results.map(({ discoveryScore }) => discoveryScore),
        [0.9, 0.5, 0.2],
      );
      assert.deepEqual(
        results.map(({ serviceId }) => serviceId),
        [ids[1], ids[2], ids[0]],
      );
      assert.strictEqual(new Set(results.map(({ relevance }) => relevance)).size, 1);
    });

    it("[D23] two wallets that only trade with each other don't rank above a seller with many counterparties", async () => {
      const text = { title: "Meteorite hunting", description: "Finds fallen stars." };
      const farmer = { score: 100n, distinctCounterparties: 1, topCounterpartyCount: 100, settledCount: 100 };
      const honest = { score: 30n, distinctCounterparties: 12, topCounterpartyCount: 3, settledCount: 30 };
      const farmed = await list(text, await ratedAgent("base-sepolia", farmer));
      const earned = await list(text, await ratedAgent("base-sepolia", honest));
      await until("meteorite", (ids) => ids.includes(farmed) && ids.includes(earned));
      const found = idsOf(await discover({ query: "meteorite" }));
      assert.deepEqual(found.slice(0, 2), [earned, farmed]);
    });

    it("[D20] a negative score gives a discoveryScore of 0", async () => {
      const agent = await ratedAgent("base-sepolia", { score: -5n });
      const id = await list({ title: "Bagpipe lessons", description: "Learn the bagpipes." }, agent);
      await until("bagpipes", (ids) => ids.includes(id));
      const results = (await discover({ query: "bagpipes" })).body as Result[];
      assert.strictEqual(results.find(({ serviceId }) => serviceId === id)?.discoveryScore, 0);
    });
  });

  it("[S4.r12.6] answers an empty array when nothing matches", async () => {
    for (const query of ["zxqv blorptang wibble", "asdfghjkl", "?!?", "12345 67890"]) {
      const answer = await discover({ query });
      assert.deepEqual([answer.status, answer.body], [200, []], query);
    }
  });
});
