import { assert } from "chai";

import { assertError, assertInvalid, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { deliverDeal, fundedDeal, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { keyRequestBody, registrationBody } from "../../fixtures/sign-in.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const SERVICES = "/api/v1/services";
const AT_ONCE = 8;

describe("a request with an Idempotency-Key", () => {
  /** Two APIs on one database. */
  let apis: [TestApi, TestApi];
  let api: TestApi;
  let market: Market;
  let keyNumber = 0;

  before(async () => {
    api = await startTestApi({ search: true });
    apis = [api, await startTestApi({ databaseName: api.container.connection.name })];
    market = await openMarket(api, await openChain("base-sepolia"));
  });
  after(async () => {
    await apis[1].stop();
    await api.close();
  });

  const newKey = () => `request-${(keyNumber += 1)}`;
  const send = (
    method: string,
    path: string,
    { as, key, body, on = api }: { as?: TestAgent; key: string; body?: unknown; on?: TestApi },
  ): Promise<Answer> =>
    on.request(method, path, {
      headers: { "Idempotency-Key": key },
      ...(as === undefined ? {} : { key: as.apiKey }),
      ...(body === undefined ? {} : { body }),
    });
  const order = (fields: Record<string, unknown> = {}) => ({
    serviceId: market.serviceId,
    paymentMethod: "usdc",
    ...fields,
  });
  const checkout = (key: string, fields: Record<string, unknown> = {}, on = api) =>
    send("POST", "/api/v1/checkout", { as: market.buyer, key, body: order(fields), on });
  const countTransactions = () => api.container.connection.collection("transactions").countDocuments();
  const keptText = async () =>
    JSON.stringify(await api.container.connection.collection("idempotency_keys").find().toArray());

  function assertReplayed(answer: Answer, first: Answer): void {
    assert.deepEqual([answer.status, answer.text], [first.status, first.text]);
    assert.strictEqual(answer.headers.get("idempotency-replayed"), "true");
    assert.strictEqual(first.headers.get("idempotency-replayed"), null);
  }

  describe("repeated", () => {
    it("[D43] has the same answer, and its effect only once", async () => {
      const before = await countTransactions();
      const key = newKey();
      const first = await checkout(key);
      assert.strictEqual(first.status, 200, first.text);
      assertReplayed(await checkout(key), first);
      assert.strictEqual(await countTransactions(), before + 1);
    });

    it("[D43] is the same request under the short path and on another process", async () => {
      const key = newKey();
      const first = await checkout(key);
      assertReplayed(await checkout(key, {}, apis[1]), first);
      assertReplayed(await send("POST", "/v1/checkout", { as: market.buyer, key, body: order() }), first);
    });

    it("[D43] may spell its body differently if the content is the same", async () => {
      const key = newKey();
      const first = await checkout(key);
      const rawBody = ` { "paymentMethod":"usdc",\n"quantity":1, "serviceId": ${JSON.stringify(market.serviceId)} } `;
      const headers = { "Idempotency-Key": key, "content-type": "application/json" };
      assertReplayed(
        await api.request("POST", "/api/v1/checkout", { key: market.buyer.apiKey, rawBody, headers }),
        first,
      );
    });

    it("[D43] replays a created listing, its change and its archiving", async () => {
      const [toCreate, toChange, toArchive] = [newKey(), newKey(), newKey()];
      const create = () => send("POST", SERVICES, { as: market.seller, key: toCreate, body: listingBody() });
      const created = await create();
      assertReplayed(await create(), created);
      const path = `${SERVICES}/${created.body.data.id as string}`;
      const change = () => send("PATCH", path, { as: market.seller, key: toChange, body: { price: 3 } });
      const changed = await change();
      assert.strictEqual(changed.body.data.price, 3);
      assertReplayed(await change(), changed);
      const archive = () => send("DELETE", path, { as: market.seller, key: toArchive });
      const archived = await archive();
      assert.strictEqual(archived.body.data.status, "archived");
      assertReplayed(await archive(), archived);
    });

    it("[D43] after an error runs again", async () => {
      const key = newKey();
      const listing = await send("POST", SERVICES, { as: market.seller, key: newKey(), body: listingBody() });
      const serviceId = listing.body.data.id as string;
      const set = (status: string) =>
        api.request("PATCH", `${SERVICES}/${serviceId}`, { key: market.seller.apiKey, body: { status } });
      const fields = { serviceId, callbackUrl: "https://buyer.test/hook" };
      await set("paused");
      assertError(await checkout(key, fields), 409, "service_not_active");
      await set("active");
      const answer = await checkout(key, fields);
      assert.strictEqual(answer.status, 200, answer.text);
      assertReplayed(await checkout(key, fields), answer);
    });

    it("[D43] after a 202 runs again, until the outcome is known", async () => {
      const { transactionId } = await fundedDeal(market);
      const key = newKey();
      const deliver = () =>
        send("POST", `/api/v1/transactions/${transactionId}/deliver`, {
          as: market.seller,
          key,
          body: { responsePayload: { answer: 42 } },
        });
      for (const answer of [await deliver(), await deliver()]) {
        assert.strictEqual(answer.status, 202, answer.text);
        assert.strictEqual(answer.headers.get("idempotency-replayed"), null);
      }
      await deliverDeal(market, transactionId, { answer: 42 });
      const delivered = await until("the delivery is indexed", async () => {
        const answer = await deliver();
        return answer.status !== 202 && answer;
      });
      assert.strictEqual(delivered.status, 200, delivered.text);
      assertReplayed(await deliver(), delivered);
    });

    it("[D43] replays a 202 that is all its route answers", async () => {
      const agent = await api.registerAgent();
      const webhook = { url: "https://agent.example/hook", events: ["escrow.funded"] };
      const { body } = await send("POST", "/api/v1/webhooks", { as: agent, key: newKey(), body: webhook });
      const [toPing, toRedeliver] = [newKey(), newKey()];
      const ping = () =>
        send("POST", `/api/v1/webhooks/${body.data.webhookId as string}/ping`, { as: agent, key: toPing, body: {} });
      const pinged = await ping();
      assert.strictEqual(pinged.status, 202, pinged.text);
      assertReplayed(await ping(), pinged);
      const path = `/api/v1/webhooks/deliveries/${pinged.body.data.deliveryId as string}/redeliver`;
      const redeliver = () => send("POST", path, { as: agent, key: toRedeliver, body: {} });
      const redelivered = await redeliver();
      assert.strictEqual(redelivered.status, 202, redelivered.text);
      assertReplayed(await redeliver(), redelivered);
    });
  });

  describe("with a key that is in use", () => {
    it("[D43] and other content is refused", async () => {
      const key = newKey();
      await checkout(key);
      assertError(await checkout(key, { quantity: 2 }), 409, "idempotency_key_reused");
      const other = await send("POST", SERVICES, { as: market.seller, key, body: listingBody() });
      assert.strictEqual(other.status, 201, "another caller and another route have keys of their own");
      const another = { as: market.seller, key, body: listingBody({ title: "Other" }) };
      assertError(await send("POST", SERVICES, another), 409, "idempotency_key_reused");
    });

    it("[D43] belongs to another request if the path parameter differs", async () => {
      const ids = [];
      for (let index = 0; index < 2; index += 1) {
        const { body } = await send("POST", SERVICES, { as: market.seller, key: newKey(), body: listingBody() });
        ids.push(body.data.id as string);
      }
      const key = newKey();
      const patch = (id: string | undefined) =>
        send("PATCH", `${SERVICES}/${String(id)}`, { as: market.seller, key, body: { price: 4 } });
      assert.strictEqual((await patch(ids[0])).status, 200);
      assertError(await patch(ids[1]), 409, "idempotency_key_reused");
    });

    it("[D43] belongs to another request if another agent sends it, or to another route", async () => {
      const key = newKey();
      const body = listingBody();
      const own = await send("POST", SERVICES, { as: market.seller, key, body });
      const other = await send("POST", SERVICES, { as: market.buyer, key, body });
      assert.deepEqual([own.status, other.status], [201, 201], other.text);
      assert.notStrictEqual(other.body.data.id, own.body.data.id);
      for (const operation of ["rotate", "activate"]) {
        const answer = await send("POST", `/api/v1/webhooks/secret/${operation}`, { as: market.seller, key });
        assert.strictEqual(answer.status, 200, answer.text);
      }
    });

    it("[D43] of several sent at once, only one runs, also across processes", async () => {
      const before = await countTransactions();
      const key = newKey();
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) => checkout(key, {}, apis[index % 2 === 0 ? 0 : 1])),
      );
      const first = answers.filter(({ headers }) => headers.get("idempotency-replayed") === null);
      assert.strictEqual(first.length, 1);
      for (const answer of answers) assert.strictEqual(answer.text, answers[0]?.text);
      assert.strictEqual(await countTransactions(), before + 1);
    });
  });

  describe("whose answer is secret", () => {
    it("[D43] isn't repeated for registration, and nothing of it is stored", async () => {
      const key = newKey();
      const { body } = await registrationBody();
      const register = () => send("POST", "/api/v1/auth/register", { key, body });
      const first = await register();
      assert.strictEqual(first.status, 201, first.text);
      assertError(await register(), 409, "already_processed");
      const kept = await keptText();
      for (const secret of [first.body.apiKey as string, body.signature]) assert.notInclude(kept, secret);
    });

    it("[D43] isn't repeated for keys and webhook secrets", async () => {
      const agent = await api.registerAgent();
      const toIssue = newKey();
      const keyBody = { ...(await keyRequestBody(agent.account)), revokeOthersAfterSeconds: 60 };
      const issue = () => send("POST", "/api/v1/auth/keys", { key: toIssue, body: keyBody });
      const issued = await issue();
      assert.strictEqual(issued.status, 201, issued.text);
      assertError(await issue(), 409, "already_processed");
      for (const step of ["rotate", "activate"]) {
        const key = newKey();
        const change = () => send("POST", `/api/v1/webhooks/secret/${step}`, { as: agent, key, body: {} });
        const changed = await change();
        assert.strictEqual(changed.status, 200, changed.text);
        assertError(await change(), 409, "already_processed");
        assert.notInclude(await keptText(), changed.body.data.secret as string);
      }
      assert.notInclude(await keptText(), issued.body.apiKey as string);
    });

    it("[D43] without an API key, strangers can't use up each other's keys", async () => {
      const key = newKey();
      const bodies = await Promise.all([registrationBody(), registrationBody()]);
      for (const { body } of bodies) {
        assert.strictEqual((await send("POST", "/api/v1/auth/register", { key, body })).status, 201);
      }
    });
  });

  it("[D43] accepts keys of 1 to 255 printable characters", async () => {
    const agent = await api.registerAgent();
    for (const key of ["a", "x".repeat(255), "two words"]) {
      const answer = await send("POST", SERVICES, { as: agent, key, body: listingBody() });
      assert.strictEqual(answer.status, 201, answer.text);
    }
    for (const key of ["", "x".repeat(256), "café"]) {
      const answer = await send("POST", SERVICES, { as: agent, key, body: listingBody() });
      assertInvalid(answer, "headers.idempotency-key");
    }
  });

  it("[D43] that only reads ignores the key", async () => {
    const answer = await send("GET", SERVICES, { as: market.buyer, key: "" });
    assert.strictEqual(answer.status, 200);
    const keyed = await send("GET", `${SERVICES}?limit=1`, { as: market.buyer, key: newKey() });
    assert.strictEqual(keyed.headers.get("idempotency-replayed"), null);
  });

  it("[D43] with a body that only reads leaves no record, with an API key and without", async () => {
    const records = () => api.container.connection.collection("idempotency_keys").countDocuments();
    const series = Array.from({ length: 256 }, (_, index) => Math.sin(index) + index / 100);
    const before = await records();
    const reads: [string, TestAgent | undefined, unknown][] = [
      ["/api/v1/discover", undefined, { query: "invoices" }],
      ["/api/v1/discover", market.buyer, { query: "invoices" }],
      ["/api/v1/memory/search", market.buyer, { query: "invoices" }],
      [`/api/v1/services/${market.serviceId}/visibility`, market.seller, { query: "invoices" }],
      ["/api/v1/analytics/fractal", market.buyer, { series }],
    ];
    for (const [path, as, body] of reads) {
      const key = newKey();
      const read = () => send("POST", path, { ...(as && { as }), key, body });
      for (const answer of [await read(), await read()]) {
        assert.strictEqual(answer.status, 200, answer.text);
        assert.strictEqual(answer.headers.get("idempotency-replayed"), null);
      }
    }
    assert.strictEqual(await records(), before);
  });
});
