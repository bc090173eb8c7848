import { assert } from "chai";

import { assertInvalid, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { SERVICES_PATH, serviceCalls } from "../../fixtures/services.ts";

describe("lists of services", () => {
  let api: TestApi;
  let seller: TestAgent;
  let other: TestAgent;

  before(async () => {
    api = await startTestApi();
    seller = await api.registerAgent({ agentName: "Seller" });
    other = await api.registerAgent({ agentName: "Other" });
  });
  after(() => api.close());

  const { patch, read, archive, list, create } = serviceCalls(() => ({ api, seller }));

  it("[S4.r03] [D23] lists active services with data and nextCursor, newest first", async () => {
    await create();
    const ids = [await create(), await create(), await create()];
    const answer = await list("limit=3");
    assert.deepEqual(
      answer.body.data.map(({ id }: { id: string }) => id),
      ids.reverse(),
    );
    assert.strictEqual(typeof answer.body.nextCursor, "string");
  });

  it("[D23] pages through everything exactly once in every order", async () => {
    const { apiKey, agentId } = await api.registerAgent();
    const prices = [3, 1, 2, 2, 2, 0.5, 10];
    for (const price of prices) await api.request("POST", SERVICES_PATH, { key: apiKey, body: listingBody({ price }) });
    for (const sort of ["newest", "oldest", "price_asc", "price_desc"]) {
      const seen: { id: string; price: number }[] = [];
      let cursor: string | null = "";
      while (cursor !== null) {
        const next = cursor === "" ? "" : `&cursor=${cursor}`;
        const page: Answer = await list(`sellerId=${agentId}&sort=${sort}&limit=2${next}`);
        seen.push(...page.body.data);
        cursor = page.body.nextCursor;
      }
      assert.strictEqual(new Set(seen.map(({ id }) => id)).size, prices.length, sort);
      const shown = seen.map(({ price }) => price);
      const ascending = [...prices].sort((left, right) => left - right);
      const expected: Record<string, number[]> = {
        newest: [...prices].reverse(),
        oldest: prices,
        price_asc: ascending,
        price_desc: [...ascending].reverse(),
      };
      assert.deepEqual(shown, expected[sort], sort);
    }
  });

  it("[D23] filters by category, network, seller, currency, delivery type and price", async () => {
    const agent = await api.registerAgent();
    const make = async (fields: Record<string, unknown>) =>
      (await api.request("POST", SERVICES_PATH, { key: agent.apiKey, body: listingBody(fields) })).body.data
        .id as string;
    const plain = await make({ price: 1 });
    const special = await make({
      price: 5,
      category: "pkm",
      network: "base",
      currency: "ETH",
      deliveryType: "async",
    });
    const found = async (query: string) =>
      (await list(`sellerId=${agent.agentId}&${query}`)).body.data.map(({ id }: { id: string }) => id);
    for (const query of ["category=pkm", "network=base", "currency=ETH", "deliveryType=async", "minPrice=1.000001"]) {
      assert.deepEqual(await found(query), [special], query);
    }
    for (const query of ["category=accounting", "network=base-sepolia", "maxPrice=4.999999", "maxPrice=1&minPrice=1"]) {
      assert.deepEqual(await found(query), [plain], query);
    }
    assert.deepEqual(await found("category=booking"), []);
  });

  it("[D23] minTrustScore excludes sellers without a score", async () => {
    assert.deepEqual((await list("minTrustScore=0.01")).body.data, []);
    assert.ok((await list("minTrustScore=0")).body.data.length > 0);
  });

  it("[S3.3.04] hides paused and archived listings from others and keeps them for their seller", async () => {
    const agent = await api.registerAgent();
    const make = async () =>
      (await api.request("POST", SERVICES_PATH, { key: agent.apiKey, body: listingBody() })).body.data.id as string;
    const [active, paused, archived] = [await make(), await make(), await make()];
    await patch(paused, { status: "paused" }, agent.apiKey);
    await archive(archived, agent.apiKey);
    const found = async (query: string, key: string) =>
      (await list(`sellerId=${agent.agentId}${query}`, key)).body.data.map(({ id }: { id: string }) => id);
    assert.deepEqual(await found("", other.apiKey), [active]);
    assert.deepEqual(await found("&status=paused", other.apiKey), []);
    assert.deepEqual(await found("&status=archived", other.apiKey), []);
    assert.deepEqual(await found("", agent.apiKey), [archived, paused, active]);
    assert.deepEqual(await found("&status=paused", agent.apiKey), [paused]);
    assert.strictEqual((await read(paused, other.apiKey)).body.data.status, "paused");
  });

  it("refuses invalid queries and names each fault", async () => {
    const wrong: [string, string][] = [
      ["limit=0", "query.limit"],
      ["limit=101", "query.limit"],
      ["limit=2.5", "query.limit"],
      ["limit=ten", "query.limit"],
      ["limit=1&limit=2", "query.limit"],
      ["status=inactive", "query.status"],
      ["category=defi", "query.category"],
      ["network=polygon", "query.network"],
      ["currency=EUR", "query.currency"],
      ["deliveryType=fax", "query.deliveryType"],
      ["minPrice=-1", "query.minPrice"],
      ["minPrice=1e3", "query.minPrice"],
      ["minPrice=5&maxPrice=4", "query.minPrice"],
      ["minTrustScore=1.1", "query.minTrustScore"],
      ["sort=best", "query.sort"],
      ["sort=relevance", "query.sort"],
      ["q=x&sort=newest", "query.sort"],
      ["q=x&status=paused", "query.status"],
      ["q=", "query.q"],
      [`q=${"x".repeat(1_001)}`, "query.q"],
      ["cursor=garbage", "query.cursor"],
      [`cursor=${Buffer.from('{"$gt":1}').toString("base64url")}`, "query.cursor"],
      [`cursor=${Buffer.from('{"sort":"oldest","id":"x"}').toString("base64url")}`, "query.cursor"],
      ["sellerId[$ne]=x", "query.sellerId[$ne]"],
      ["page=2", "query.page"],
    ];
    for (const [query, path] of wrong) assertInvalid(await list(query), path);
  });
});
