import { assert } from "chai";

import { assertError, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, deliverDeal, fundedDeal, readTransaction } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { changesNothing as storedUnchanged } from "../../fixtures/stored.ts";
import { until } from "../../fixtures/until.ts";
import { openScene, transactionPath, UNKNOWN_HASH } from "./body-scene.ts";

describe("calls that change nothing", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  let funded: CheckoutData;
  let pending: CheckoutData;
  let stranger: TestAgent;

  before(async () => {
    // The loops don't run, so only requests change the database.
    api = await startTestApi();
    ({ chain, market, stranger, funded, pending } = await openScene(api));
  });
  after(() => api.close());

  /** Asserts that requests leave the database as it was. */
  const changesNothing = (requests: () => Promise<void>): Promise<void> =>
    storedUnchanged(api, [pending.transactionId, market.serviceId], requests);

  const buyerKey = () => market.buyer.apiKey;
  const sellerKey = () => market.seller.apiKey;

  describe("on another agent's records", () => {
    it("[D33] changes nothing: to a stranger they don't exist, and only its seller can change a listing", () =>
      changesNothing(async () => {
        const key = stranger.apiKey;
        for (const checkout of [funded, pending]) {
          const posts: [string, object][] = [
            ["/fund", { txHash: UNKNOWN_HASH }],
            ["/deliver", { responsePayload: { mine: true } }],
            ["/confirm", {}],
          ];
          for (const [operation, body] of posts) {
            const answer = await api.request("POST", transactionPath(checkout, operation), { key, body });
            assertError(answer, 404, "not_found");
          }
          for (const operation of ["", "/criteria", "/claimAbandoned", "/finalize"]) {
            assertError(await api.request("GET", transactionPath(checkout, operation), { key }), 404, "not_found");
          }
        }
        const listing = `/api/v1/services/${market.serviceId}`;
        assertError(await api.request("PATCH", listing, { key, body: { price: 1 } }), 403, "wrong_role");
        assertError(await api.request("DELETE", listing, { key }), 403, "wrong_role");
        const { body } = await api.request("GET", "/api/v1/transactions", { key });
        assert.deepEqual(body.data, []);
      }));

    it("[S4.r09] [S4.r10] [S7.21] [D33] a wrong role is a 403 wrong_role in JSON and changes nothing", () =>
      changesNothing(async () => {
        const as = (key: string, method: string, operation: string, body?: object) =>
          api.request(method, transactionPath(funded, operation), { key, ...(body === undefined ? {} : { body }) });
        assertError(await as(buyerKey(), "POST", "/deliver", { responsePayload: {} }), 403, "wrong_role");
        assertError(await as(sellerKey(), "POST", "/confirm", {}), 403, "wrong_role");
        assertError(await as(sellerKey(), "POST", "/fund", { txHash: UNKNOWN_HASH }), 403, "wrong_role");
        assertError(await as(sellerKey(), "GET", "/claimAbandoned"), 403, "wrong_role");
      }));
  });

  describe("when repeated", () => {
    it("a second DELETE or a change of an archived listing is a 409 and changes nothing", async () => {
      const created = await api.request("POST", "/api/v1/services", { key: sellerKey(), body: listingBody() });
      const path = `/api/v1/services/${created.body.data.id}`;
      assert.strictEqual((await api.request("DELETE", path, { key: sellerKey() })).status, 200);
      await changesNothing(async () => {
        assertError(await api.request("DELETE", path, { key: sellerKey() }), 409, "service_archived");
        const body = { status: "active" };
        assertError(await api.request("PATCH", path, { key: sellerKey(), body }), 409, "service_archived");
      });
    });

    it("[D16] [D17] [D18] fund, deliver and confirm give the same answers and change nothing", async () => {
      const checkout = await fundedDeal(market);
      const { fundTxHash } = await readTransaction(api, market.buyer, checkout.transactionId);
      const send = (key: string, operation: string, body: object) =>
        api.request("POST", transactionPath(checkout, operation), { key, body });
      await changesNothing(async () => {
        const again = await send(buyerKey(), "/fund", { txHash: fundTxHash });
        assert.deepEqual([again.status, again.body.data.status], [200, "funded"]);
      });

      const responsePayload = { answer: 42 };
      await deliverDeal(market, checkout.transactionId, responsePayload);
      await act(api, chain, market.buyer, checkout.transactionId, "accept");
      const first = await until("confirm answers", async () => {
        const answer = await send(buyerKey(), "/confirm", {});
        return answer.status === 200 ? answer : undefined;
      });
      await changesNothing(async () => {
        const second = await send(buyerKey(), "/confirm", {});
        assert.deepEqual([second.status, second.body.data.status], [200, first.body.data.status]);
        const delivered = await send(sellerKey(), "/deliver", { responsePayload });
        assert.deepEqual([delivered.status, delivered.body.data.status], [200, "released"]);
        const other = await send(sellerKey(), "/deliver", { responsePayload: { answer: 43 } });
        assertError(other, 409, "delivery_already_submitted");
        const refunded = await send(buyerKey(), "/fund", { txHash: fundTxHash });
        assert.strictEqual(refunded.body.data.status, "released");
      });
    });

    it("[D38] rotate keeps the next secret, and activate the current one", async () => {
      const at = (operation: string) =>
        api.request("POST", `/api/v1/webhooks/secret/${operation}`, { key: stranger.apiKey, body: {} });
      const rotated = await at("rotate");
      await changesNothing(async () => {
        assert.deepEqual((await at("rotate")).body.data, rotated.body.data);
      });
      const activated = await at("activate");
      assert.strictEqual(activated.body.data.secret, rotated.body.data.next.secret);
      await changesNothing(async () => {
        assert.deepEqual((await at("activate")).body.data, activated.body.data);
      });
    });
  });
});
