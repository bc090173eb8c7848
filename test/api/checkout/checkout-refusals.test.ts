// What checkout refuses, with status and code. A refusal stores nothing, and the next order is accepted.

import { assert } from "chai";
import { encodeFunctionData } from "viem";

import { escrowAbi } from "../../../api/chain/abis.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { checkOut, listService, ONE_USDC, openMarket } from "../../fixtures/deals.ts";
import type { ListingFields, Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { changesNothing } from "../../fixtures/stored.ts";

const MAX_CHECKS = 50;
const MAX_CHECK_LENGTH = 500;

describe("checkout changes nothing when it refuses", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  let transactionId: string;

  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
    ({ transactionId } = await checkOut(market));
  });
  after(() => api.close());

  const order = (fields: Record<string, unknown> = {}, buyer: TestAgent = market.buyer): Promise<Answer> =>
    api.request("POST", "/api/v1/checkout", {
      key: buyer.apiKey,
      body: { serviceId: market.serviceId, paymentMethod: "usdc", ...fields },
    });
  const refuses = (requests: () => Promise<void>) => changesNothing(api, [transactionId, market.serviceId], requests);
  const list = (fields: ListingFields = {}) => listService(api, market.seller, fields);

  describe("criteria", () => {
    const wrong: [name: string, criteria: unknown, place: string][] = [
      ["an unknown field", { rubric: "be good" }, "body.criteria.rubric"],
      ["more than 50 checks", { checks: Array(MAX_CHECKS + 1).fill("is there") }, "body.criteria.checks"],
      ["a check of more than 500 characters", { checks: ["x".repeat(MAX_CHECK_LENGTH + 1)] }, "body.criteria.checks.0"],
      ["an empty check", { checks: ["is there", ""] }, "body.criteria.checks.1"],
      ["a check that is a number", { checks: ["is there", 7] }, "body.criteria.checks.1"],
      ["a check that is null", { checks: [null] }, "body.criteria.checks.0"],
      ["a check that is an object", { checks: [{ text: "is there" }] }, "body.criteria.checks.0"],
      ["checks that are a string", { checks: "is there" }, "body.criteria.checks"],
      ["checks that are null", { checks: null }, "body.criteria.checks"],
      ["a schema that is a string", { schema: '{"type":"object"}' }, "body.criteria.schema"],
      ["a schema that is a list", { schema: [{ type: "object" }] }, "body.criteria.schema"],
      ["a schema that is a boolean", { schema: true }, "body.criteria.schema"],
      ["a schema that is null", { schema: null }, "body.criteria.schema"],
      ["a schema that is invalid", { schema: { type: "nonsense" } }, "body.criteria.schema"],
      ["a schema with a remote reference", { schema: { $ref: "https://host.test/s.json" } }, "body.criteria.schema"],
      ["an expression that is malformed", { checks: ["is there", "cel: size("] }, "body.criteria.checks.1"],
      ["an expression with an unknown variable", { checks: ["cel: payload.ok"] }, "body.criteria.checks.0"],
      ["an expression that isn't a condition", { checks: ["cel: size(result)"] }, "body.criteria.checks.0"],
    ];
    for (const [name, criteria, place] of wrong) {
      it(`[D5] with ${name}: 400 validation_error at ${place}`, () =>
        refuses(async () => {
          assertInvalid(await order({ criteria }), place);
        }));
    }

    it("[D5] accepts 50 checks of 500 characters and a schema that is an object", async () => {
      const checks = Array.from({ length: MAX_CHECKS }, () => "x".repeat(MAX_CHECK_LENGTH));
      const answer = await order({ criteria: { checks, schema: { type: "object" } } });
      assert.strictEqual(answer.status, 200, answer.text);
    });
  });

  describe("an order", () => {
    it("for a service that doesn't exist: 404 not_found", () =>
      refuses(async () => {
        for (const serviceId of [`lst_${"0".repeat(32)}`, "constructor", market.seller.agentId]) {
          assertError(await order({ serviceId }), 404, "not_found");
        }
      }));

    it("[S2.3.04] without the callbackUrl that the service requires: 400 callback_url_required", async () => {
      const serviceId = await list({ callbackRequired: true });
      await refuses(async () => {
        assertError(await order({ serviceId }), 400, "callback_url_required");
      });
    });

    it("[D33] for a paused or archived service: 409 service_not_active", async () => {
      const [paused, archived] = [await list(), await list()];
      const { apiKey: key } = market.seller;
      await api.request("PATCH", `/api/v1/services/${paused}`, { key, body: { status: "paused" } });
      await api.request("DELETE", `/api/v1/services/${archived}`, { key });
      await refuses(async () => {
        for (const serviceId of [paused, archived]) {
          assertError(await order({ serviceId }), 409, "service_not_active");
        }
      });
    });

    it("[D33] for the caller's own service: 409 self_purchase", () =>
      refuses(async () => {
        assertError(await order({}, market.seller), 409, "self_purchase");
      }));

    it("[S1.19] [D3] on a network other than the service's: 409 network_mismatch", async () => {
      const mainnet = await list({ network: "base" });
      await refuses(async () => {
        assertError(await order({ network: "base" }), 409, "network_mismatch");
        assertError(await order({ serviceId: mainnet, network: "base-sepolia" }), 409, "network_mismatch");
      });
    });

    it("[D2] [D10] that can't be settled: 422 with the reason", async () => {
      const pol = await list({ currency: "POL" });
      const ether = await list({ currency: "ETH", price: 0.001 });
      const small = await list({ price: 0.009999 });
      await refuses(async () => {
        assertError(await order({ serviceId: pol }), 422, "currency_not_settleable");
        assertError(await order({ serviceId: ether, paymentMethod: "weth" }), 422, "currency_not_settleable");
        assertError(await order({ paymentMethod: "dai" }), 422, "payment_method_not_supported");
        assertError(await order({ paymentMethod: "weth" }), 422, "payment_method_not_supported");
        assertError(await order({ serviceId: small }), 422, "amount_out_of_range");
      });
    });

    it("[D10] against the seller's own terms: 409 seller_terms_not_met", async () => {
      const own = await openMarket(api, chain);
      const args = [2_500_001n, 0, false] as const;
      const data = encodeFunctionData({ abi: escrowAbi, functionName: "setSellerTerms", args });
      const receipt = await chain.send(own.seller.account, { to: chain.deployment.escrow, data });
      assert.strictEqual(receipt.status, "success");
      await refuses(async () => {
        assertError(await order({ serviceId: own.serviceId }, own.buyer), 409, "seller_terms_not_met");
      });
    });

    it("[S7.15] [D33] from a wallet without the token: 402 insufficient_token_balance", async () => {
      const poor = await api.registerAgent();
      await chain.endow(poor.account, { usdc: 2n * ONE_USDC });
      await refuses(async () => {
        assertError(await order({}, poor), 402, "insufficient_token_balance");
      });
    });

    it("[S7.20] on the mainnet before the graduation: 403 testnet_graduation_required", async () => {
      const mainnet = await list({ network: "base" });
      await refuses(async () => {
        assertError(await order({ serviceId: mainnet }), 403, "testnet_graduation_required");
        assertError(await order({ serviceId: mainnet, network: "base" }), 403, "testnet_graduation_required");
      });
    });

    it("[D11] above the cap of the parties' scores: 403 job_value_cap_exceeded", async () => {
      const dear = await list({ price: 10.000001 });
      await refuses(async () => {
        assertError(await order({ serviceId: dear }), 403, "job_value_cap_exceeded");
      });
    });

    it("that was refused is accepted once nothing is wrong with it", async () => {
      const answer = await order();
      assert.strictEqual(answer.status, 200, answer.text);
      assert.notStrictEqual(answer.body.data.transactionId, transactionId);
    });
  });
});
