import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import type { RequestOptions, TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, deliverDeal, fundedDeal, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { DealApi } from "../../fixtures/deals.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";
import { openChain } from "../../fixtures/stack.ts";

const COVERED = '("@method" "@target-uri" "content-digest");keyid="agent";alg="ecdsa-p256-sha256"';
const now = () => Math.floor(Date.now() / 1000);

/** Headers of RFC 9421 and the older pair, with signatures that no key has made. */
const signed = (created: number): Record<string, string> => ({
  signature: `sig1=:${Buffer.alloc(64, 7).toString("base64")}:`,
  "signature-input": `sig1=${COVERED};created=${created}`,
  "content-digest": `sha-256=:${Buffer.alloc(32, 7).toString("base64")}:`,
  "x-signature": "0".repeat(64),
  "x-timestamp": String(created),
});

const SIGNATURES: [kind: string, headers: () => Record<string, string>][] = [
  ["wrong", () => signed(now())],
  ["stale", () => signed(1)],
  ["malformed", () => ({ signature: "nonsense", "signature-input": "sig1=(", "x-timestamp": "soon" })],
];

describe("requests with a signature that doesn't hold", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ search: true, runsLoops: true });
  });
  after(() => api.close());

  /** The API for a client that adds these headers to every request, including its registration. */
  function signing(headers: () => Record<string, string>): DealApi {
    const request = (method: string, path: string, options: RequestOptions = {}) =>
      api.request(method, path, { ...options, headers: { ...headers(), ...options.headers } });
    const registerAgent = async (): Promise<TestAgent> => {
      const { account, privateKey, body } = await registrationBody();
      const answer = await request("POST", "/api/v1/auth/register", { body });
      assert.strictEqual(answer.status, 201, answer.text);
      return { ...answer.body, account, privateKey } as TestAgent;
    };
    return { request, registerAgent };
  }

  for (const [kind, headers] of SIGNATURES) {
    it(`[S5.11] settle a deal from registration to confirmation when it is ${kind}`, async () => {
      const client = signing(headers);
      const chain = await openChain("base-sepolia");
      const market = await openMarket(client, chain);
      const { buyer, seller } = market;
      const { transactionId } = await fundedDeal(market);
      await deliverDeal(market, transactionId);
      await act(client, chain, buyer, transactionId, "accept");
      const confirmed = await client.request("POST", `/api/v1/transactions/${transactionId}/confirm`, {
        key: buyer.apiKey,
      });
      assert.deepEqual([confirmed.status, confirmed.body.data?.status], [200, "released"], confirmed.text);
      assert.strictEqual((await readTransaction(client, seller, transactionId)).status, "released");
    });

    it(`[S5.11] create, list, find and remove an agent's records when it is ${kind}`, async () => {
      const { request, registerAgent } = signing(headers);
      const { apiKey: key } = await registerAgent();
      const listing = { title: "Signed in vain", description: "Translates contracts.", category: "translation" };
      const price = { price: 1, priceUnit: "flat", callbackRequired: false };
      const created = await request("POST", "/api/v1/services", { key, body: { ...listing, ...price } });
      assert.strictEqual(created.status, 201, created.text);
      const path = `/api/v1/services/${String(created.body.data.id)}`;
      const changed = await request("PATCH", path, { key, body: { price: 2 } });
      assert.deepEqual([changed.status, changed.body.data?.price], [200, 2], changed.text);
      for (const read of [path, "/api/v1/services", "/api/v1/transactions", "/api/v1/events", "/api/v1/categories"]) {
        assert.strictEqual((await request("GET", read, { key })).status, 200, read);
      }
      assert.strictEqual((await request("POST", "/api/v1/discover", { body: { query: "translate" } })).status, 200);
      const removed = await request("DELETE", path, { key });
      assert.deepEqual([removed.status, removed.body.data?.status], [200, "archived"], removed.text);
      assert.strictEqual((await request("DELETE", "/api/v1/auth/keys", { key })).status, 200);
      assert.strictEqual((await request("GET", "/api/v1/services", { key })).status, 401);
    });
  }
});
