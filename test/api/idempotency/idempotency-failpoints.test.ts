// A process killed in the middle of a request with an Idempotency-Key: the key works again, nothing is done twice.
import { assert } from "chai";

import { assertError, listingBody, readStack, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestApi } from "../../fixtures/api.ts";
import { ONE_USDC, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { storeMailToken } from "../../fixtures/mail-tokens.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { paymentMethodBody } from "../../fixtures/statements.ts";

const KEY = "killed-request";
/** The write that keeps an answer. */
const DONE = "update idempotency_keys";

describe("a request with an Idempotency-Key whose process is killed", () => {
  let route: FaultyRoute;
  let api: TestApi;
  /** Its process is killed. */
  let victim: TestApi;
  let chain: TestChain;
  let market: Market;

  before(async () => {
    const oneProcess = "the kills are between this process and its database";
    route = await faultyDatabase((await readStack()).mongodbUri);
    api = await startTestApi({ oneProcess });
    const { name: databaseName } = api.container.connection;
    victim = await startTestApi({ oneProcess, databaseName, env: { mongodbUri: route.url } });
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
  });
  after(async () => {
    await victim.stop();
    await api.close();
    await route.close();
  });

  const keys = () => api.container.connection.collection<{ state: string }>("idempotency_keys");
  const countOf = (collection: string) => api.container.connection.collection(collection).countDocuments();

  /** Kills a process before the write of this name. */
  async function killAt(name: string, path: string, key: string, body?: object): Promise<void> {
    route.fail({ name, number: 1 }, "dies");
    await victim.request(body === undefined ? "DELETE" : "POST", path, {
      key,
      headers: { "Idempotency-Key": KEY },
      ...(body === undefined ? {} : { body }),
    });
    assert.isTrue(route.hasFailed, name);
    await route.recover();
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
        await killAt(created === 0 ? `insert ${collection}` : DONE, path, market[as].apiKey, request);
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

  /** Kills a request before its answer is kept, and repeats it once its lease has ended. */
  async function killedAndRepeated(path: string, key: string, body?: object): Promise<Answer> {
    await keys().deleteMany({});
    await killAt(DONE, path, key, body);
    await endLeases();
    return api.request(body === undefined ? "DELETE" : "POST", path, {
      key,
      headers: { "Idempotency-Key": KEY },
      ...(body === undefined ? {} : { body }),
    });
  }
  const levelChangesOf = (agentId: string) => api.container.features.kya.models.changes.find({ agentId }).lean();

  it("[D43] that removed a webhook, killed before its answer is kept, isn't told that the webhook is gone", async () => {
    const { apiKey: key } = market.buyer;
    const webhook = { url: "https://agent.example/hook", events: ["escrow.funded"] };
    const { body: registered } = await api.request("POST", "/api/v1/webhooks", { key, body: webhook });
    const path = `/api/v1/webhooks/${registered.data.webhookId}`;
    const again = await killedAndRepeated(path, key);
    assert.deepEqual([again.status, again.body], [200, registered], again.text);
    assertError(await api.request("DELETE", path, { key }), 404, "not_found");
    const headers = { "Idempotency-Key": "another-key" };
    assertError(await api.request("DELETE", path, { key, headers }), 404, "not_found");
  });

  it("[D43] that verified a mail address, killed before its answer is kept, isn't told that the token is used", async () => {
    const { apiKey: key, agentId } = await api.registerAgent();
    const token = await storeMailToken(api);
    const again = await killedAndRepeated("/api/developer/verify", key, { token });
    assert.deepEqual([again.status, again.body.data?.kya.level], [200, 1], again.text);
    assert.lengthOf(await levelChangesOf(agentId), 1);
    const other = await api.request("POST", "/api/developer/verify", { key, body: { token } });
    assertError(other, 400, "verification_token_invalid");
  });

  it("[D43] that linked a payment method, killed before its answer is kept, isn't told that the nonce is used", async () => {
    const path = "/api/v1/agents/kya/payment-method";
    const agent = await api.registerAgent();
    await chain.endow(agent.account, { usdc: ONE_USDC });
    const statement = await paymentMethodBody(agent, chain);
    const again = await killedAndRepeated(path, agent.apiKey, statement);
    assert.deepEqual([again.status, again.body.data?.kya.level], [200, 2], again.text);
    assert.lengthOf(await levelChangesOf(agent.agentId), 1);
    const other = await api.request("POST", path, { key: agent.apiKey, body: statement });
    assertError(other, 409, "nonce_already_used");
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
