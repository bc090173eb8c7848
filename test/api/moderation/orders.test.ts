// Orders that were paid for or approved before a suspension, and are sent after it (decision 59).
import { assert } from "chai";

import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { approvalRequests } from "../../fixtures/approval-requests.ts";
import { openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { moderationCalls } from "../../fixtures/moderation.ts";
import { CALL_UNITS, headerV1, signTransfer, startPaidApi } from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";
import { openChain } from "../../fixtures/stack.ts";

describe("a suspension, for an order", () => {
  describe("whose call is paid for by x402", () => {
    let paid: PaidApi;
    let buyer: TestAgent;
    let seller: TestAgent;
    let serviceId: string;

    before(async () => {
      paid = await startPaidApi({ adminApiKey: ADMIN_KEY });
      buyer = await paid.richAgent();
      seller = await paid.richAgent();
      const listed = await paid.api.request("POST", "/api/v1/services", {
        key: seller.apiKey,
        headers: await paymentOf(seller),
        body: listingBody({ callbackRequired: false }),
      });
      assert.strictEqual(listed.status, 201, listed.text);
      serviceId = listed.body.data.id;
    });
    after(() => paid.close());

    const { decided } = moderationCalls(() => paid.api);
    const paymentOf = async ({ account }: TestAgent) =>
      headerV1(await signTransfer(paid, account, { value: CALL_UNITS.transaction }));
    const order = (headers: Record<string, string>) =>
      paid.api.request("POST", "/api/v1/checkout", {
        key: buyer.apiKey,
        headers,
        body: { serviceId, paymentMethod: "usdc" },
      });
    const balance = () => paid.chain.usdcOf(buyer.walletAddress);

    for (const role of ["buyer", "seller"] as const) {
      it(`[D59] takes nothing while the ${role} is suspended, and the same payment buys it afterwards`, async () => {
        const { agentId } = role === "buyer" ? buyer : seller;
        await decided("suspend", "agent", agentId);
        const [payment, before] = [await paymentOf(buyer), await balance()];
        const refused = await order(payment);
        assertError(refused, 403, "agent_suspended");
        assert.strictEqual(refused.body.details.role, role);
        assert.strictEqual(await balance(), before);

        await decided("restore", "agent", agentId);
        const ordered = await order(payment);
        assert.strictEqual(ordered.status, 200, ordered.text);
        assert.strictEqual(before - (await balance()), CALL_UNITS.transaction);
      });
    }
  });

  describe("that its owner has approved", () => {
    let api: TestApi;
    let market: Market;

    before(async () => {
      api = await startTestApi({ env: { adminApiKey: ADMIN_KEY } });
      market = await openMarket(api, await openChain("base-sepolia"));
    });
    after(() => api.close());

    const { decided } = moderationCalls(() => api);
    const { buyerWith, ask, granted, statusOf, dealsOf, spentOf } = approvalRequests(() => ({ api, market }));

    it("[D59] leaves the approval for after the suspension", async () => {
      const buyer = await buyerWith();
      const { id } = await granted(buyer);
      await decided("suspend", "agent", market.seller.agentId);
      const refused = await ask(buyer);
      assert.deepEqual([refused.status, refused.body.code], [403, "agent_suspended"], refused.text);
      assert.deepEqual([await statusOf(id), await dealsOf(buyer), await spentOf(buyer)], ["granted", 0, 0]);

      await decided("restore", "agent", market.seller.agentId);
      const ordered = await ask(buyer);
      assert.strictEqual(ordered.status, 200, ordered.text);
      assert.deepEqual([await statusOf(id), await dealsOf(buyer)], ["used", 1]);
    });
  });
});
