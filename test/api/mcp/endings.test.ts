// Deals that end otherwise than by an acceptance, through the hosted tools, whose service dies or stops in between.
import { randomUUID } from "node:crypto";

import { assert } from "chai";

import { Marketplace } from "../../../sdk/src/index.ts";
import type { Deal } from "../../../sdk/src/index.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import type { ApiProcess } from "../../fixtures/api-process.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { DISPUTE_SETTINGS } from "../../fixtures/disputes.ts";
import { connectMcp, repeatUntilDone, signAsked } from "../../fixtures/mcp.ts";
import type { McpCaller, McpClientKind } from "../../fixtures/mcp.ts";
import { keyRequestBody } from "../../fixtures/sign-in.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const REASON = "One word isn't a summary.";

describe("deals through the hosted tools that aren't accepted", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  let callers: McpCaller[] = [];
  let process: ApiProcess | undefined;

  const start = (databaseName?: string) =>
    startTestApi({
      runsLoops: true,
      env: { disputes: DISPUTE_SETTINGS },
      ...(databaseName === undefined ? {} : { databaseName }),
    });
  before(async () => {
    api = await start();
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
  });
  afterEach(async () => {
    for (const caller of callers) await caller.close();
    callers = [];
  });
  after(async () => {
    process?.kill();
    await api.close();
  });

  async function connect(kind: McpClientKind, { apiKey }: TestAgent, url = api.url): Promise<McpCaller> {
    const caller = await connectMcp(url, kind, { key: apiKey });
    callers.push(caller);
    return caller;
  }
  /** The service ends, and another process starts on its database. */
  async function restart(): Promise<void> {
    const { name } = api.container.connection;
    await api.stop();
    api = await start(name);
  }
  /** The buyer gets another key, which ends the one before. */
  async function renewKey(): Promise<void> {
    const { buyer } = market;
    const { body } = await api.request("POST", "/api/v1/auth/keys", { body: await keyRequestBody(buyer.account) });
    assert.notStrictEqual(body.apiKey, buyer.apiKey);
    market = { ...market, buyer: { ...buyer, apiKey: body.apiKey as string } };
  }
  const order = (fields: Record<string, unknown> = {}) => ({
    intentId: randomUUID(),
    serviceId: market.serviceId,
    maxPrice: "2.50",
    waitSeconds: 0,
    ...fields,
  });
  const stepsOf = async (caller: McpCaller, dealId: string) =>
    ((await caller.ask("get_deal", { dealId }))["next"] as { tool: string }[]).map(({ tool }) => tool);

  /** An agent that ends a dispute with its wallet: no tool signs a settlement. */
  async function withWallet({ apiKey, account }: TestAgent, dealId: string): Promise<Deal> {
    return new Marketplace({ url: api.url }).agent({ apiKey, wallet: chain.walletOf(account) }).deal(dealId);
  }

  it("are disputed over a stop of the service, and settled as both parties agree", async () => {
    const buyer = await connect("2026-07-28", market.buyer);
    const seller = await connect("1.32", market.seller);
    const wish = order();
    const txHash = await signAsked(chain, market.buyer, await buyer.ask("hire", wish));
    const paid = await buyer.ask("hire", { ...wish, txHash });
    assert.include(paid, { result: "pending", state: "funded", txHash });
    const { dealId } = paid as { dealId: string };
    const handed = { intentId: "d", dealId, payload: { summary: "No" } };
    const delivery = await signAsked(chain, market.seller, await seller.ask("deliver", handed));
    assert.include(await repeatUntilDone(seller, "deliver", handed), { state: "delivered", txHash: delivery });

    const complaint = { intentId: "x", dealId, reason: REASON };
    const asked = await buyer.ask("dispute", complaint);
    await restart();
    // The wallet has the calls of the service that has ended.
    const opened = await signAsked(chain, market.buyer, asked);
    await renewKey();
    const renewed = await connect("2025-11-25", market.buyer);
    const disputed = await repeatUntilDone(renewed, "dispute", complaint);
    assert.include(disputed, { state: "disputed", txHash: opened });
    const accused = await connect("1.32", market.seller);
    const { dispute } = await accused.ask("get_deal", { dealId });
    assert.deepEqual(dispute.reason, { untrusted: true, from: market.buyer.agentId, text: REASON });

    const [complaining, selling] = [await withWallet(market.buyer, dealId), await withWallet(market.seller, dealId)];
    await selling.dispute.offerSettlement({ buyerPercent: 70 });
    await complaining.dispute.acceptSettlement(70);
    await complaining.dispute.agree();
    const ended = await until("the dispute has ended", async () => {
      const found = await renewed.ask("get_deal", { dealId });
      return found["dispute"].state === "resolved" && found;
    });
    assert.include(ended, { state: "resolved", outcome: "Split" });
    assert.include(ended["dispute"], { outcome: "Split", buyerPercent: 70 });
    assert.deepEqual(ended["next"], []);
    // 70 and 30 % of what the fee leaves.
    assert.strictEqual(await chain.usdcOf(market.buyer.walletAddress), 97_500_000n + 1_715_000n);
    assert.strictEqual(await chain.usdcOf(market.seller.walletAddress), 735_000n);
  });

  it("are declined after the service was killed while the buyer waited, and paid back once", async () => {
    const buyerHad = await chain.usdcOf(market.buyer.walletAddress);
    process = await startApiProcess(api.container.connection.name, {});
    const buyer = await connect("2025-11-25", market.buyer, process.url);
    const wish = order({ request: { token: "0x2" } });
    const asked = await buyer.ask("hire", wish);
    const txHash = await signAsked(chain, market.buyer, asked);
    const waiting = buyer.call("hire", { ...wish, txHash, waitSeconds: 20 }).then(
      () => "answered",
      () => "broken off",
    );
    await until("the service has the payment", async () => {
      const { body } = await api.request("GET", `/api/v1/transactions/${String(asked["dealId"])}`, {
        key: market.buyer.apiKey,
      });
      return body.data.status === "funded";
    });
    process.kill();
    await process.exited;
    assert.strictEqual(await waiting, "broken off");

    const again = await connect("1.32", market.buyer);
    const repeated = await again.ask("hire", { ...wish, txHash });
    assert.include(repeated, { dealId: asked["dealId"], result: "pending", state: "funded", txHash });
    const seller = await connect("2026-07-28", market.seller);
    const refusal = { intentId: "n", dealId: repeated["dealId"] as string };
    assert.includeMembers(await stepsOf(seller, refusal.dealId), ["deliver", "decline"]);
    const refund = await signAsked(chain, market.seller, await seller.ask("decline", refusal));
    const declined = await repeatUntilDone(seller, "decline", refusal);
    assert.include(declined, { state: "refunded", txHash: refund });
    assert.include(await again.ask("hire", wish), { result: "done", state: "refunded", delivery: null });
    // Without the fee of 0.05.
    assert.strictEqual(await chain.usdcOf(market.buyer.walletAddress), buyerHad - 50_000n);
  });
});
