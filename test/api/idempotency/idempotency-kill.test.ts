// A process killed in the middle of a request with an Idempotency-Key: the key works again, nothing is done twice.
import { assert } from "chai";

import { assertError, listingBody, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import { openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import { routeTo } from "../../fixtures/stall.ts";

const KEY = "killed-request";
/** In the message that keeps an answer. */
const DONE = bson("state", "done");

describe("a request with an Idempotency-Key whose process is killed", () => {
  let api: TestApi;
  let market: Market;

  before(async () => {
    api = await startTestApi();
    market = await openMarket(api, await openChain("base-sepolia"));
  });
  after(() => api.close());

  const keys = () => api.container.connection.collection<{ state: string }>("idempotency_keys");
  const countOf = (collection: string) => api.container.connection.collection(collection).countDocuments();

  /** Kills a process before its message with this text reaches the database. */
  async function killAt(moment: string, path: string, apiKey: string, body?: object): Promise<void> {
    const databaseName = api.container.connection.name;
    const direct = new URL((await readStack()).mongodbUri);
    const route = await routeTo(Number(direct.port));
    direct.port = String(route.port);
    direct.pathname = `/${databaseName}`;
    direct.searchParams.set("directConnection", "true");
    const child = await startApiProcess(databaseName, { MONGODB_URI: direct.href });
    try {
      const reached = route.stallAt(moment);
      const lost = fetch(child.url + path, {
        method: body === undefined ? "DELETE" : "POST",
        headers: { "content-type": "application/json", "x-api-key": apiKey, "idempotency-key": KEY },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      lost.catch(() => undefined);
      await reached;
      child.kill();
      await assert.isRejected(lost);
    } finally {
      child.kill();
      await route.close();
    }
  }

  /** The keys' leases end, as they do some seconds after their process was killed. */
  const endLeases = () => keys().updateMany({}, { $set: { leaseEndsAt: new Date(0) } });

  const checkoutBody = () => ({ serviceId: market.serviceId, paymentMethod: "usdc" });
  const cases = [
    { what: "a checkout", path: "/api/v1/checkout", collection: "transactions", body: checkoutBody, as: "buyer" },
    { what: "a new listing", path: "/api/v1/services", collection: "listings", body: listingBody, as: "seller" },
  ] as const;

  for (const { what, path, collection, body, as } of cases) {
    for (const [moment, created] of [
      ["before it has its effect", 0],
      ["before its answer is kept", 1],
    ] as const) {
      it(`[D43] ${what} killed ${moment} is done once`, async () => {
        await keys().deleteMany({});
        const before = await countOf(collection);
        const request = body();
        await killAt(created === 0 ? bson("insert", collection) : DONE, path, market[as].apiKey, request);
        assert.strictEqual(await countOf(collection), before + created, "what the killed process left");

        const repeat = () =>
          api.request("POST", path, { key: market[as].apiKey, body: request, headers: { "Idempotency-Key": KEY } });
        await endLeases();
        const answer = await repeat();
        assert.include([200, 201], answer.status, answer.text);
        assert.strictEqual(await countOf(collection), before + 1);
        assert.strictEqual((await repeat()).text, answer.text);
      });
    }
  }

  it("[D43] that archived a listing, killed before its answer is kept, isn't told that the listing is gone", async () => {
    await keys().deleteMany({});
    const { apiKey: key } = market.seller;
    const { body } = await api.request("POST", "/api/v1/services", { key, body: listingBody() });
    const path = `/api/v1/services/${body.data.id}`;
    await killAt(DONE, path, key);
    await endLeases();
    const again = await api.request("DELETE", path, { key, headers: { "Idempotency-Key": KEY } });
    assert.deepEqual([again.status, again.body.data?.status], [200, "archived"], again.text);
    assert.notStrictEqual((await api.request("DELETE", path, { key })).status, 200);
  });

  it("[D43] blocks its key until the lease of the killed process ends", async () => {
    await keys().deleteMany({});
    await killAt(DONE, "/api/v1/checkout", market.buyer.apiKey, checkoutBody());
    await keys().updateMany({}, { $set: { leaseEndsAt: new Date(Date.now() + 600_000) } });
    const answer = await api.request("POST", "/api/v1/checkout", {
      key: market.buyer.apiKey,
      body: checkoutBody(),
      headers: { "Idempotency-Key": KEY },
    });
    assertError(answer, 409, "request_in_progress");
    assert.strictEqual(answer.headers.get("retry-after"), "1");
  });
});

/** The part of a BSON document that holds a text under a name. */
function bson(name: string, text: string): string {
  return `${name}\0${String.fromCharCode(text.length + 1)}\0\0\0${text}\0`;
}
