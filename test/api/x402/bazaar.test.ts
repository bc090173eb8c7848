// What catalogues of x402 ask for.
import { PaymentRequirementsV2Schema, ResourceInfoSchema } from "@x402/core/schemas";
import { assert } from "chai";
import { generatePrivateKey } from "viem/accounts";

import { apiDescription, routes } from "../../../api/app.ts";
import { CALL_CLASSES, X402_PRICES_USD } from "../../../api/config/constants.ts";
import { Bazaar } from "../../../api/features/x402/catalogue/bazaar.ts";
import { PAID_RESOURCES } from "../../../api/http/paid-resources.ts";
import { assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { PUBLIC_URL } from "../../fixtures/environment.ts";
import { paymentSettings } from "../../fixtures/payments.ts";

const RESOURCES = "/discovery/resources";

describe("the bazaar", () => {
  let api: TestApi;
  before(async () => {
    const settings = { settlementKey: generatePrivateKey(), packCalls: [1_000] };
    api = await startTestApi({ env: { x402: paymentSettings("base-sepolia", settings) } });
  });
  after(() => api.close());

  it("lists a resource of each class and every pack, as the schemas of x402 read them", async () => {
    const { status, headers, body } = await api.request("GET", RESOURCES);
    assert.deepEqual([status, headers.get("content-type")], [200, "application/json; charset=utf-8"]);
    assert.strictEqual(body.x402Version, 2);
    assert.deepEqual(body.pagination, { limit: 20, offset: 0, total: 8 });
    const paths = CALL_CLASSES.map((kind) => PAID_RESOURCES[kind].path);
    const packs = CALL_CLASSES.map((kind) => `/api/v1/x402/packs/${kind}-1000`);
    assert.deepEqual(
      body.items.map((item: { resource: string }) => item.resource),
      [...paths, ...packs].map((path) => PUBLIC_URL + path),
    );
    for (const { resource: url, type, x402Version, accepts, lastUpdated, ...info } of body.items) {
      assert.deepEqual([type, x402Version], ["http", 2]);
      assert.deepEqual(ResourceInfoSchema.parse({ url, ...info }), { url, ...info });
      assert.lengthOf(accepts, 1);
      assert.deepEqual(PaymentRequirementsV2Schema.parse(accepts[0]), accepts[0]);
      assert.isBelow(Date.parse(lastUpdated as string), Date.now());
    }
  });

  it("asks the terms of the 402 that the resource answers", async () => {
    const { apiKey: key } = await api.registerAgent();
    const pack = `/api/v1/x402/packs/search-1000`;
    const refused = await api.request("POST", pack, { key, body: {} });
    const header = Buffer.from(refused.headers.get("payment-required") ?? "", "base64").toString();
    const { accepts, resource } = JSON.parse(header) as { accepts: object[]; resource: { url: string } };
    const { body } = await api.request("GET", RESOURCES);
    const listed = body.items.find((item: { resource: string }) => item.resource === PUBLIC_URL + pack);
    assert.deepEqual(listed.accepts, accepts);
    assert.strictEqual(resource.url, listed.resource);
    assert.strictEqual(listed.accepts[0].amount, "10000000");
  });

  it("is read in pages, and by type", async () => {
    const all = (await api.request("GET", RESOURCES)).body.items;
    const { body } = await api.request("GET", `${RESOURCES}?type=http&limit=3&offset=6`);
    assert.deepEqual(body.items, all.slice(6));
    assert.deepEqual(body.pagination, { limit: 3, offset: 6, total: 8 });
    const none = (await api.request("GET", `${RESOURCES}?type=mcp`)).body;
    assert.deepEqual([none.items, none.pagination.total], [[], 0]);
    for (const [query, path] of [
      ["limit=0", "query.limit"],
      ["limit=101", "query.limit"],
      ["offset=-1", "query.offset"],
      ["offset=10001", "query.offset"],
      ["payTo=0x", "query.payTo"],
    ] as const) {
      assertInvalid(await api.request("GET", `${RESOURCES}?${query}`), path);
    }
  });

  it("has the paid classes at /.well-known/x402.json, and says that this is a draft", async () => {
    const { body } = await api.request("GET", "/.well-known/x402.json");
    assert.deepInclude(body, { version: 1, draft: true, x402Version: 2 });
    assert.lengthOf(body.resources, 8);
    assert.deepEqual(
      body.classes,
      CALL_CLASSES.map((kind) => ({
        class: kind,
        method: PAID_RESOURCES[kind].method,
        resource: PUBLIC_URL + PAID_RESOURCES[kind].path,
        price: { currency: "USD", amount: X402_PRICES_USD[kind] },
      })),
    );
    assert.include(body.instructions, "/guides/x402.md");
  });

  it("has the prices in the API's description, at the same routes", async () => {
    const { paths } = (await api.request("GET", "/openapi.json")).body;
    for (const kind of CALL_CLASSES) {
      const { method, path, tags } = PAID_RESOURCES[kind];
      const price = { mode: "fixed", currency: "USD", amount: X402_PRICES_USD[kind] };
      const operation = paths[path][method.toLowerCase()];
      assert.deepEqual(operation["x-payment-info"], { price, protocols: [{ x402: {} }] });
      const route = routes.find((one) => one.method === method && one.path === path);
      assert.deepEqual([route?.budget, route?.withParameter], [kind, undefined]);
      assert.notStrictEqual(route?.auth, "none");
      assert.isAtMost(tags.length, 5);
    }
  });

  it("is empty where no signed payment is settled, and the description then names no price", () => {
    const { x402: settings, publicUrl } = api.container.env;
    const { packs } = api.container.services;
    const none = new Bazaar({ settings, packs, publicUrl, termsFor: () => undefined, startedAt: new Date() });
    assert.deepEqual(none.list({ type: undefined, limit: 20, offset: 0 }).items, []);
    const { resources, classes, instructions } = none.describe();
    assert.deepEqual([resources, classes], [[], []]);
    assert.include(instructions, "no signed payments");
    assert.notInclude(JSON.stringify(apiDescription({})), "x-payment-info");
  });

  it("is 304 to those who have it, and counts towards no window", async () => {
    for (const path of [RESOURCES, "/.well-known/x402.json"]) {
      const first = await api.request("GET", path);
      const headers = { "if-none-match": first.headers.get("etag") ?? "" };
      const again = await api.request("GET", path, { headers });
      assert.deepEqual([again.status, again.text], [304, ""], path);
      assert.strictEqual(again.headers.get("x-ratelimit-remaining"), again.headers.get("x-ratelimit-limit"), path);
    }
  });
});
