import { randomUUID } from "node:crypto";

import { assert } from "chai";

import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { startTestApi } from "../../fixtures/api.ts";
import { openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { connectMcp } from "../../fixtures/mcp.ts";
import type { McpCaller } from "../../fixtures/mcp.ts";
import { CALL_UNITS, encodeHeader, signTransfer, startPaidApi } from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { TOOLS } from "../../../tools/src/index.ts";

const VERSION = "2026-07-28";
const MANY = 1_000;

describe("the limits of the hosted tools", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  const callers: McpCaller[] = [];

  before(async () => {
    const limits = limitsWith({ checkout: 2, discover: 2, general: MANY, keyless: 40, confirm: 1 });
    api = await startTestApi({ env: { limits } });
    chain = await openChain("base-sepolia");
  });
  beforeEach(async () => {
    market = await openMarket(api, chain);
  });
  after(async () => {
    for (const caller of callers) await caller.close();
    await api.close();
  });

  async function connect(key?: string, headers?: Record<string, string>): Promise<McpCaller> {
    const caller = await connectMcp(api.url, VERSION, { ...(key && { key }), ...(headers && { headers }) });
    callers.push(caller);
    return caller;
  }
  const used = async ({ apiKey }: Pick<TestAgent, "apiKey">) => {
    const { body } = await api.request("GET", "/api/v1/auth/usage", { key: apiKey });
    const budgets = body.data.budgets as Record<string, { used: number }>;
    return Object.fromEntries(Object.entries(budgets).map(([type, budget]) => [type, budget.used]));
  };
  const order = (request: Record<string, unknown>) => ({
    intentId: randomUUID(),
    serviceId: market.serviceId,
    maxPrice: "2.50",
    request,
    waitSeconds: 0,
  });

  it("count a call once, in the budget of its main operation, however many requests it takes", async () => {
    const { agentId, apiKey } = market.buyer;
    const caller = await connect(apiKey);
    const asks: [string, Record<string, unknown>, string][] = [
      ["get_service", { serviceId: market.serviceId }, "api"],
      ["list_deals", {}, "api"],
      ["my_jobs", {}, "api"],
      ["read_messages", {}, "api"],
      ["send_message", { intentId: "m", toAgentId: market.seller.agentId, text: "Hello" }, "message"],
      ["search_services", { query: "risk" }, "search"],
      ["hire", order({ token: "0x1" }), "transaction"],
    ];
    for (const [name, input, budget] of asks) {
      const before = await used({ apiKey });
      await caller.ask(name, input);
      const after = await used({ apiKey });
      const grown = Object.keys(after).flatMap((type) =>
        Array<string>((after[type] ?? 0) - (before[type] ?? 0)).fill(type),
      );
      assert.deepEqual(grown, [budget], `${name} of ${agentId}`);
    }
  });

  it("refuse a call beyond the window of its main operation before anything is done", async () => {
    const caller = await connect(market.buyer.apiKey);
    await caller.ask("hire", order({ token: "0x2" }));
    await caller.ask("hire", order({ token: "0x3" }));
    const refused = await caller.refusal("hire", order({ token: "0x4" }));
    assert.include(refused, { code: "rate_limit_exceeded" });
    assert.isAbove(refused["retryAfterSeconds"], 0);
    const { deals } = await caller.ask("list_deals");
    assert.lengthOf(deals as unknown[], 2);
  });

  it("count a search for the client's address, which is the one that the proxies report", async () => {
    const behind = await startTestApi({
      env: { limits: limitsWith({ discover: 2 }), trustedProxies: 1 },
      oneProcess: "the proxy is this test",
    });
    try {
      const ask = async (address: string) => {
        const caller = await connectMcp(behind.url, VERSION, { headers: { "x-forwarded-for": address } });
        const answer = await caller.call("search_services", { query: "risk" });
        await caller.close();
        return answer.isError;
      };
      assert.deepEqual(
        [await ask("198.51.100.1"), await ask("198.51.100.1"), await ask("198.51.100.1"), await ask("198.51.100.2")],
        [false, false, true, false],
      );
    } finally {
      await behind.close();
    }
  });

  it("count what is refused without a request for the client's address", async () => {
    const lonely = await startTestApi({ env: { limits: limitsWith({ keyless: 3 }) } });
    try {
      // The connection itself takes one.
      const caller = await connectMcp(lonely.url, VERSION);
      assert.include(await caller.refusal("my_jobs"), { code: "api_key_required" });
      assert.include(await caller.refusal("my_jobs", { limit: 0 }), { code: "invalid_input" });
      assert.include(await caller.refusal("my_jobs"), { code: "rate_limit_exceeded" });
      for (const body of ["{}", "{", '{"method":"tools/list"}']) {
        const headers = { "content-type": "application/json" };
        const answer = await fetch(new URL("/mcp", lonely.url), { method: "POST", body, headers });
        assert.strictEqual(answer.status, 429);
      }
      await caller.close();
    } finally {
      await lonely.close();
    }
  });

  it("know the main operation of every tool", async () => {
    const { mainOperationOf } = await import("../../../api/mcp/main-operations.ts");
    const { routes } = await import("../../../api/app.ts");
    for (const { name } of TOOLS) assert.isNotEmpty(mainOperationOf(name, {}, routes).main.path, name);
    assert.strictEqual(mainOperationOf("recall", { query: "x" }, routes).main.name, "memory.search");
    assert.strictEqual(mainOperationOf("recall", { key: "x" }, routes).main.name, "memory.read");
  });

  it("can't be avoided by a header of a client", async () => {
    const caller = await connect(undefined, { "x-inner": "1", "x-compound-call": "1", via: "mcp" });
    const { isError } = await caller.call("get_service", { serviceId: market.serviceId });
    assert.isTrue(isError);
  });
});

describe("payments for the hosted tools", () => {
  let paid: PaidApi;
  let agent: TestAgent;
  let caller: McpCaller;

  before(async () => {
    paid = await startPaidApi();
  });
  beforeEach(async () => {
    agent = await paid.richAgent();
    caller = await connectMcp(paid.url, VERSION, { key: agent.apiKey });
  });
  afterEach(() => caller.close());
  after(() => paid.close());

  async function paymentOf(value: bigint) {
    const payload = await signTransfer(paid, agent.account, { value });
    return JSON.parse(Buffer.from(encodeHeader({ x402Version: 2, payload }), "base64").toString()) as {
      payload: unknown;
    };
  }
  const received = () => paid.chain.usdcOf(paid.payTo);
  async function payment(required: Record<string, any>) {
    const [accepted] = required["accepts"] as { amount: string }[];
    assert.ok(accepted);
    return { accepted, ...(await paymentOf(BigInt(accepted.amount))), x402Version: 2 };
  }

  it("are asked for once a budget is used up, as the tool's error, and answered with a receipt", async () => {
    const had = await received();
    const asked = await caller.call("list_deals");
    assert.isTrue(asked.isError);
    assert.include(asked.data, { x402Version: 2 });
    assert.strictEqual(asked.data["resource"].url, "mcp://tool/list_deals");
    assert.strictEqual(asked.data["accepts"][0].amount, String(CALL_UNITS.api));
    const answer = await caller.call("list_deals", {}, { "x402/payment": await payment(asked.data) });
    assert.deepEqual([answer.isError, answer.data], [false, { deals: [] }]);
    const receipt = answer.meta["x402/payment-response"] as Record<string, string>;
    assert.strictEqual(receipt["payer"]?.toLowerCase(), agent.walletAddress.toLowerCase());
    assert.match(receipt["transaction"] ?? "", /^0x[0-9a-f]{64}$/);
    assert.strictEqual((await received()) - had, CALL_UNITS.api);
  });

  it("pay for one call, and a repeat of it with the same payment costs nothing more", async () => {
    const had = await received();
    const { data } = await caller.call("search_services", { query: "risk" });
    assert.strictEqual(data["accepts"][0].amount, String(CALL_UNITS.search));
    const meta = { "x402/payment": await payment(data) };
    const first = await caller.call("search_services", { query: "risk" }, meta);
    assert.isFalse(first.isError, JSON.stringify(first.data));
    const again = await caller.call("search_services", { query: "risk" }, meta);
    assert.deepEqual(again.data, first.data);
    const other = await caller.call("search_services", { query: "audit" }, meta);
    assert.isTrue(other.isError);
    assert.include(other.data, { code: "payment_verification_failed" });
    assert.strictEqual((await received()) - had, CALL_UNITS.search);
  });

  it("pay for an order that is taken, and for none that is refused", async () => {
    const had = await received();
    const seller = await paid.richAgent();
    const created = await connectMcp(paid.url, VERSION, { key: seller.apiKey });
    const offer = { intentId: "o", title: "Report", description: "A report.", category: "research", price: 1 };
    const { data: askedOfSeller } = await created.call("offer_service", offer);
    const sellerPayment = await signTransfer(paid, seller.account, { value: CALL_UNITS.api });
    const listed = await created.call("offer_service", offer, {
      "x402/payment": { x402Version: 2, accepted: askedOfSeller["accepts"][0], payload: sellerPayment },
    });
    await created.close();
    assert.isFalse(listed.isError, JSON.stringify(listed.data));

    const order = { intentId: randomUUID(), serviceId: listed.data["serviceId"], maxPrice: "1.00", waitSeconds: 0 };
    const asked = await caller.call("hire", order);
    assert.strictEqual(asked.data["accepts"][0].amount, String(CALL_UNITS.transaction));
    const meta = { "x402/payment": await payment(asked.data) };
    const unknown = await caller.call("hire", { ...order, serviceId: "lst_none" }, meta);
    assert.include(unknown.data, { code: "not_found" });
    assert.strictEqual((await received()) - had, CALL_UNITS.api);
    const hired = await caller.call("hire", order, meta);
    assert.include(hired.data, { result: "signature_required" });
    assert.property(hired.meta, "x402/payment-response");
    assert.strictEqual((await received()) - had, CALL_UNITS.api + CALL_UNITS.transaction);
  });

  it("that don't count are refused, and nothing is taken", async () => {
    const had = await received();
    for (const given of [{}, "0x", null, { x402Version: 2, payload: {} }, { x402Version: 1, payload: 7 }]) {
      const { isError, data } = await caller.call("list_deals", {}, { "x402/payment": given });
      assert.isTrue(isError, JSON.stringify(given));
      assert.include(data, { x402Version: 2, error: "malformed_proof" }, JSON.stringify(given));
    }
    const small = { ...(await paymentOf(1n)), x402Version: 2 };
    assert.isTrue((await caller.call("list_deals", {}, { "x402/payment": small })).isError);
    assert.strictEqual(await received(), had);
  });
});
