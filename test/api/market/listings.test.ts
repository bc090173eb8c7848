// What anyone sees of listings and their sellers, without a key.
import { assert } from "chai";

import type { Network } from "../../../api/config/constants.ts";
import { assertError, assertInvalid, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { readsOf } from "../../fixtures/profile.ts";

const PATH = "/api/v1/market/listings";
const ENDPOINT = "https://seller.example/secret-door";
const FIELDS = [
  ...["id", "serviceId", "title", "description", "category", "price", "priceUnit", "currency", "network"],
  ...["deliveryType", "callbackRequired", "sellerAgentId", "sellerAddress", "discoveryScore"],
];

describe("GET /api/v1/market/listings", () => {
  let api: TestApi;
  /** The first has no trust; the others more, one after the other. */
  let sellers: TestAgent[];
  const listed: string[] = [];

  before(async () => {
    // Answers are made anew, except where a test is about that.
    api = await startTestApi({ timings: { publicAnswerMs: 0 } });
    sellers = [];
    for (let index = 0; index < 4; index += 1) {
      sellers.push(await api.registerAgent({ agentName: `Seller ${index}` }));
    }
    for (const [index, seller] of sellers.entries()) {
      if (index > 0) await trust(seller, "base-sepolia", index / 10);
      for (let n = 0; n < 4; n += 1) listed.push(await list(seller));
    }
  });
  after(() => api.close());

  async function list({ apiKey: key }: TestAgent, fields: object = {}): Promise<string> {
    const body = listingBody({ endpointUrl: ENDPOINT, ...fields });
    const answer = await api.request("POST", "/api/v1/services", { key, body });
    assert.strictEqual(answer.status, 201, answer.text);
    return answer.body.data.id;
  }

  /** Stores what a copy of the subgraph's counts says about a wallet. */
  async function trust({ walletAddress }: TestAgent, network: Network, value: number): Promise<void> {
    const walletKey = walletAddress.toLowerCase();
    const copy = { network, walletKey, score: Math.round(value * 100), trust: value };
    const { standings } = api.container.features.agents.models;
    await standings.replaceOne({ _id: `${network}:${walletKey}` }, copy, { upsert: true });
  }

  async function pages(query: string): Promise<string[][]> {
    const found: string[][] = [];
    for (let cursor = "" as string | null; cursor !== null;) {
      const { status, body, text } = await api.request("GET", `${PATH}?${query}${cursor && `&cursor=${cursor}`}`);
      assert.strictEqual(status, 200, text);
      found.push(body.data.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor;
    }
    return found;
  }

  it("lists active services, the newest first, in pages, with the fields of a search result and no others", async () => {
    const newest = listed.toReversed();
    assert.deepEqual(await pages("limit=5"), [
      newest.slice(0, 5),
      newest.slice(5, 10),
      newest.slice(10, 15),
      newest.slice(15),
    ]);
    const { body, text } = await api.request("GET", PATH);
    for (const entry of body.data) assert.hasAllKeys(entry, FIELDS);
    assert.notInclude(text, "secret-door");
    const found = await api.request("POST", "/api/v1/discover", { body: { query: "invoices", limit: 1 } });
    const [result] = found.body;
    const { relevance } = result;
    const entry = body.data.find(({ id }: { id: string }) => id === result.id);
    assert.deepEqual({ ...entry, relevance }, result);
  });

  it("lists the services of trusted sellers, the most trusted first, at most three of each, in pages of any size", async () => {
    const ofSeller = (index: number) => listed.slice(4 * index + 1, 4 * index + 4).toReversed();
    const trusted = [3, 2, 1].flatMap(ofSeller);
    for (const limit of [1, 2, 4, 9, 100]) {
      const read = await pages(`sort=trusted&limit=${limit}`);
      assert.deepEqual(read.flat(), trusted, `pages of ${limit}`);
      assert.isTrue(read.every(({ length }) => length <= limit));
    }
  });

  it("trusts a seller by its score on the listing's own network", async () => {
    const [newcomer] = sellers as [TestAgent];
    await trust(newcomer, "base", 0.9);
    const onMainnet = await list(newcomer, { network: "base" });
    try {
      const { body } = await api.request("GET", `${PATH}?sort=trusted&limit=2`);
      assert.strictEqual(body.data[0].id, onMainnet);
      assert.strictEqual(body.data[0].discoveryScore, 0.9);
      assert.strictEqual(body.data[1].sellerAgentId, sellers[3]?.agentId);
    } finally {
      await api.request("DELETE", `/api/v1/services/${onMainnet}`, { key: newcomer.apiKey });
    }
  });

  it("goes past any number of wallets that sell nothing, and ends", async () => {
    const { standings } = api.container.features.agents.models;
    const idle = Array.from({ length: 2_300 }, (_, n) => {
      const walletKey = `0x${n.toString(16).padStart(40, "0")}`;
      return { _id: `base:${walletKey}`, network: "base", walletKey, score: 60, trust: 0.6 };
    });
    await standings.collection.insertMany(idle as never[]);
    try {
      const read = await pages("sort=trusted&limit=20");
      assert.deepEqual(
        read.map(({ length }) => length),
        [0, 9],
      );
      const reads = await readsOf(api.container.connection, "standings", () => pages("sort=trusted&limit=5"));
      assert.isAbove(reads.length, 10);
      for (const { documents, returned, sorts } of reads) assert.deepEqual([documents, sorts], [returned, false]);
    } finally {
      await standings.deleteMany({ trust: 0.6 });
    }
  });

  it("reads no more listings than its page", async () => {
    const reads = await readsOf(api.container.connection, "listings", () => api.request("GET", `${PATH}?limit=3`));
    assert.isNotEmpty(reads);
    for (const { documents } of reads) assert.isAtMost(documents, 4);
  });

  it("hides a service that is paused or archived, and its seller's name with the last one", async () => {
    const seller = await api.registerAgent({ agentName: "Short-lived" });
    const id = await list(seller);
    const read = () => api.request("GET", `${PATH}/${id}`);
    assert.strictEqual((await read()).body.data.seller.name, "Short-lived");
    await api.request("PATCH", `/api/v1/services/${id}`, { key: seller.apiKey, body: { status: "paused" } });
    assertError(await read(), 404, "not_found");
    assert.notInclude((await pages("limit=100")).flat(), id);
    await api.request("DELETE", `/api/v1/services/${id}`, { key: seller.apiKey });
    const gone = await read();
    assertError(gone, 404, "not_found");
    assert.notInclude(gone.text, "Short-lived");
  });

  it("refuses another sort order, and a cursor of another list, by name", async () => {
    assertInvalid(await api.request("GET", `${PATH}?sort=oldest`), "query.sort");
    assertInvalid(await api.request("GET", `${PATH}?limit=101`), "query.limit");
    const { nextCursor } = (await api.request("GET", `${PATH}?limit=1`)).body;
    assertInvalid(await api.request("GET", `${PATH}?sort=trusted&cursor=${nextCursor}`), "query.cursor");
    assertInvalid(await api.request("GET", `${PATH}?endpointUrl=x`), "query.endpointUrl");
  });

  describe("/{serviceId}", () => {
    it("answers terms, seller and scores on both networks, and no endpoint, key or contact", async () => {
      const [, seller] = sellers as [TestAgent, TestAgent];
      const { agents } = api.container.features.agents.models;
      await agents.updateOne({ _id: seller.agentId }, { description: "Sells 1" });
      const id = listed[4] ?? "";
      const { body, text, headers } = await api.request("GET", `${PATH}/${id}`);
      const { seller: shown, outcomes, ...terms } = body.data;
      assert.hasAllKeys(terms, FIELDS);
      assert.deepEqual(shown, {
        agentId: seller.agentId,
        walletAddress: seller.walletAddress,
        name: "Seller 1",
        description: "Sells 1",
        scores: { "base-sepolia": 10, base: 0 },
      });
      assert.isNull(outcomes);
      for (const secret of ["secret-door", seller.apiKey, seller.publicKey, "kya"]) assert.notInclude(text, secret);
      assert.match(headers.get("cache-control") ?? "", /^public, max-age=/);
    });

    it("counts how its deals ended from five on, and no other listing's, network's or open ones", async () => {
      const [seller] = sellers as [TestAgent];
      const [id = "", other = ""] = listed;
      const { transactions } = api.container.features.transactions.models;
      const deal = (n: number, fields: object) =>
        transactions.collection.insertOne({
          _id: `txn_public_${n}`,
          escrowId: `0x${n}`,
          unsolicited: false,
          network: "base-sepolia",
          serviceId: id,
          sellerAgentId: seller.agentId,
          requestPayloadJson: '{"private":"payload"}',
          ...fields,
        } as never);
      const outcomes = async () => (await api.request("GET", `${PATH}/${id}`)).body.data.outcomes as unknown;
      const statuses = ["released", "released", "refunded", "abandoned"];
      for (const [n, status] of statuses.entries()) await deal(n, { status });
      await deal(10, { status: "released", serviceId: other });
      await deal(11, { status: "released", network: "base" });
      for (const [n, status] of ["funded", "expired", "disputed"].entries()) await deal(20 + n, { status });
      assert.isNull(await outcomes());
      await deal(5, { status: "resolved" });
      assert.deepEqual(await outcomes(), { released: 2, resolved: 1, refunded: 1, abandoned: 1 });
      const reads = await readsOf(api.container.connection, "transactions", outcomes);
      assert.isNotEmpty(reads);
      for (const { documents } of reads) assert.strictEqual(documents, 0);
      assert.notInclude((await api.request("GET", `${PATH}/${id}`)).text, "private");
    });

    it("is 404 for an id that no service has", async () => {
      assertError(await api.request("GET", `${PATH}/lst_${"0".repeat(32)}`), 404, "not_found");
      assertInvalid(await api.request("GET", `${PATH}/${"x".repeat(65)}`), "params.serviceId");
    });
  });

  it("keeps an answer for some seconds, shares it, and answers 304 to who has it", async () => {
    const cached = await startTestApi({ timings: { publicAnswerMs: 60_000 }, oneProcess: "each process has its own" });
    try {
      const seller = await cached.registerAgent();
      const first = await cached.request("GET", PATH);
      const reads = await readsOf(cached.container.connection, "listings", async () => {
        const same = await Promise.all([PATH, PATH, `${PATH}?sort=newest`].map((path) => cached.request("GET", path)));
        for (const { text } of same) assert.strictEqual(text, first.text);
      });
      assert.deepEqual(reads, []);
      const etag = first.headers.get("etag") ?? "";
      const headers = { "if-none-match": `"other", W/${etag}` };
      const known = await cached.request("GET", PATH, { headers });
      assert.deepEqual([known.status, known.text, known.headers.get("etag")], [304, "", etag]);
      // An answer that isn't there is not kept.
      const path = `${PATH}/lst_later`;
      assertError(await cached.request("GET", path), 404, "not_found");
      const { listings } = cached.container.features.listings.models;
      const listing = await cached.request("POST", "/api/v1/services", { key: seller.apiKey, body: listingBody() });
      await listings.collection.insertOne({
        ...(await listings.findById(listing.body.data.id).lean()),
        _id: "lst_later" as never,
      });
      assert.strictEqual((await cached.request("GET", path)).status, 200);
    } finally {
      await cached.close();
    }
  });

  it("counts calls by address, like every route without a key", async () => {
    const limited = await startTestApi({ env: { limits: limitsWith({ keyless: 2 }) } });
    try {
      assert.strictEqual((await limited.request("GET", PATH)).status, 200);
      assert.strictEqual((await limited.request("GET", "/api/v1/market/figures")).status, 200);
      const refused = await limited.request("GET", PATH);
      assertError(refused, 429, "rate_limit_exceeded");
      assert.deepInclude(refused.body.details, { window: "keyless", countedBy: "address", limit: 2 });
    } finally {
      await limited.close();
    }
  });
});
