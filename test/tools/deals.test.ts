import { randomUUID } from "node:crypto";

import { assert } from "chai";

import { TransactionRevertedError } from "../../sdk/src/index.ts";
import { callerSigner, walletSigner } from "../../tools/src/index.ts";
import { startTestApi } from "../fixtures/api.ts";
import type { TestApi } from "../fixtures/api.ts";
import { listService, ONE_USDC, openMarket } from "../fixtures/deals.ts";
import type { Market } from "../fixtures/deals.ts";
import { openChain } from "../fixtures/stack.ts";
import type { TestChain } from "../fixtures/stack.ts";
import { callerOf } from "../fixtures/tools.ts";
import type { Caller } from "../fixtures/tools.ts";

const REQUEST = { token: "0x1" };
const CRITERIA = { schema: { type: "object", required: ["summary"] }, checks: ["cel: words(result.summary) >= 2"] };
const GOOD = { summary: "Two risks." };
const PRICE = { text: "2.50 USDC, of which 0.05 is the fee that is never refunded", baseUnits: "2500000" };

describe("a deal through the tools", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  let buyer: Caller;
  let seller: Caller;

  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
  });
  beforeEach(async () => {
    market = await openMarket(api, chain);
    buyer = callerOf(api, chain, market.buyer);
    seller = callerOf(api, chain, market.seller);
  });
  after(() => api.close());

  const spent = async () => 100n * ONE_USDC - (await chain.usdcOf(market.buyer.walletAddress));
  const sentBy = (agent: Market["buyer"]) => chain.client.getTransactionCount({ address: agent.walletAddress });
  const order = (fields: Record<string, unknown> = {}) => ({
    intentId: randomUUID(),
    serviceId: market.serviceId,
    maxPrice: "2.50",
    request: REQUEST,
    criteria: CRITERIA,
    waitSeconds: 0,
    ...fields,
  });
  const hired = async (fields: Record<string, unknown> = {}) =>
    String((await buyer.ask("hire", order(fields)))["dealId"]);
  const toolsOf = (view: Record<string, any>) => (view["next"] as { tool: string }[]).map(({ tool }) => tool);

  it("is hired, delivered, reviewed and accepted, and every call is repeated without effect", async () => {
    const wish = order();
    const first = await buyer.ask("hire", wish);
    assert.include(first, { result: "pending", state: "funded", role: "buyer", pollAfterSeconds: 5 });
    assert.include(first["price"], PRICE);
    const { dealId } = first as { dealId: string };
    const sent = await sentBy(market.buyer);
    assert.strictEqual((await buyer.ask("hire", wish))["dealId"], dealId);
    assert.deepEqual([await sentBy(market.buyer), await spent()], [sent, 2_500_000n]);

    const { jobs } = await seller.ask("my_jobs");
    const [job] = jobs as Record<string, any>[];
    assert.deepInclude(job, {
      dealId,
      request: { untrusted: true, from: market.buyer.agentId, text: '{"token":"0x1"}' },
    });
    assert.strictEqual((await seller.ask("review_delivery", { dealId, payload: { summary: "No" } }))["result"], "fail");
    assert.strictEqual((await seller.ask("review_delivery", { dealId, payload: GOOD }))["result"], "pass");
    const handed = { intentId: "d", dealId, payload: GOOD };
    assert.include(await seller.ask("deliver", handed), { result: "done", state: "delivered" });
    const sentBySeller = await sentBy(market.seller);
    assert.include(await seller.ask("deliver", handed), { result: "done", state: "delivered" });
    const other = await seller.refusal("deliver", { ...handed, payload: { summary: "Other words" } });
    assert.include(other, { code: "other_result_delivered", dealId });
    assert.strictEqual(await sentBy(market.seller), sentBySeller);

    const delivered = await buyer.ask("hire", wish);
    assert.strictEqual(delivered["result"], "done");
    assert.deepEqual(delivered["delivery"], {
      untrusted: true,
      from: market.seller.agentId,
      text: JSON.stringify(GOOD),
    });
    const review = await buyer.ask("review_delivery", { dealId });
    assert.strictEqual(review["result"], "pass");
    assert.sameMembers(toolsOf(review), ["accept", "dispute"]);
    const accepted = await buyer.ask("accept", { intentId: "a", dealId });
    assert.include(accepted, { result: "done", state: "released" });
    const release = await chain.client.getTransaction({ hash: accepted["txHash"] as `0x${string}` });
    assert.strictEqual(release.from.toLowerCase(), market.buyer.walletAddress.toLowerCase());
    const sentByBuyer = await sentBy(market.buyer);
    assert.include(await buyer.ask("accept", { intentId: "a", dealId }), { result: "done", state: "released" });
    assert.strictEqual(await sentBy(market.buyer), sentByBuyer);
    assert.strictEqual(await chain.usdcOf(market.seller.walletAddress), 2_450_000n);
  });

  it("is paid once when two hires with the same intent run at once, and twice for two intents", async () => {
    const wish = order();
    const results = await Promise.all([buyer.ask("hire", wish), buyer.ask("hire", wish), buyer.ask("hire", wish)]);
    assert.strictEqual(new Set(results.map(({ dealId }) => String(dealId))).size, 1);
    assert.strictEqual(await spent(), 2_500_000n);
    assert.strictEqual((await buyer.refusal("hire", order())).code, "looks_like_a_repeat");
    assert.strictEqual(await spent(), 2_500_000n);
    await buyer.ask("hire", order({ request: { token: "0x2" } }));
    await buyer.ask("hire", order({ again: true }));
    assert.strictEqual(await spent(), 7_500_000n);
  });

  it("is paid once when another process repeats the hire", async () => {
    const wish = order();
    const restarted = callerOf(api, chain, market.buyer);
    const { dealId } = await buyer.ask("hire", wish);
    assert.strictEqual((await restarted.ask("hire", wish))["dealId"], dealId);
    assert.strictEqual(await spent(), 2_500_000n);
  });

  it("is paid once when two processes hire at once, whatever each of them hears", async () => {
    const wish = order();
    const other = callerOf(api, chain, market.buyer);
    await Promise.all([buyer.call("hire", wish), other.call("hire", wish)]);
    assert.include(await buyer.ask("hire", wish), { result: "pending", state: "funded" });
    assert.strictEqual(await spent(), 2_500_000n);
  });

  it("is paid once when another process pays while this one sends, whose transaction reverts", async () => {
    const wallet = walletSigner();
    let reverted = 0;
    const second = callerOf(api, chain, market.buyer, {
      async move(deal, move, options) {
        await wallet.move(deal, move, options);
        reverted += 1;
        throw new TransactionRevertedError("createEscrow", `0x${"ab".repeat(32)}`);
      },
    });
    assert.include(await second.ask("hire", order()), { result: "pending", state: "funded" });
    assert.deepEqual([reverted, await spent()], [1, 2_500_000n]);
  });

  it("says so when the contract reverts its transaction every time", async () => {
    const signer = { move: () => Promise.reject(new TransactionRevertedError("createEscrow", `0x${"ab".repeat(32)}`)) };
    const { code, message } = await callerOf(api, chain, market.buyer, signer).refusal("hire", order());
    assert.strictEqual(code, "contract_refused");
    assert.include(message, "mined");
    assert.strictEqual(await spent(), 0n);
  });

  it("isn't another purchase when the same intent comes with other arguments", async () => {
    const wish = order();
    const { dealId } = await buyer.ask("hire", wish);
    const refused = await buyer.refusal("hire", { ...wish, quantity: 2 });
    assert.include(refused, { code: "intent_conflict", dealId });
    assert.include(refused.message, "differs in quantity");
    assert.match(refused.whatToDo, /new intentId/);
    assert.strictEqual(await spent(), 2_500_000n);
  });

  it("isn't paid above maxPrice, and nothing is sent", async () => {
    const before = await sentBy(market.buyer);
    const { code, message } = await buyer.refusal("hire", order({ maxPrice: "2.499999" }));
    assert.strictEqual(code, "above_max_price");
    assert.include(message, "2.50 USDC");
    assert.include(message, "2.499999 USDC");
    assert.strictEqual((await buyer.refusal("hire", order({ quantity: 2, request: {} }))).code, "above_max_price");
    assert.strictEqual(await sentBy(market.buyer), before);
  });

  it("needs a callbackUrl where the listing does, and is refused before the checkout without one", async () => {
    const serviceId = await listService(api, market.seller, { callbackRequired: true });
    assert.isTrue((await buyer.ask("get_service", { serviceId }))["needsCallback"]);
    assert.strictEqual((await buyer.refusal("hire", order({ serviceId }))).code, "callback_url_required");
    assert.deepEqual((await buyer.ask("list_deals"))["deals"], []);
    const callbackUrl = "https://buyer.example/hook";
    assert.strictEqual((await buyer.ask("hire", order({ serviceId, callbackUrl })))["state"], "funded");
  });

  it("is declined by the seller, once", async () => {
    const dealId = await hired();
    assert.include(await seller.ask("decline", { intentId: "n", dealId }), { result: "done", state: "refunded" });
    const sent = await sentBy(market.seller);
    assert.include(await seller.ask("decline", { intentId: "n", dealId }), { result: "done", state: "refunded" });
    assert.strictEqual(await sentBy(market.seller), sent);
    assert.strictEqual(await spent(), 50_000n);
  });

  it("is disputed with a reason that the seller sees as data", async () => {
    const dealId = await hired();
    await seller.ask("deliver", { intentId: "d", dealId, payload: { summary: "No" } });
    assert.strictEqual((await buyer.ask("review_delivery", { dealId }))["result"], "fail");
    const complaint = { intentId: "x", dealId, reason: "One word isn't a summary." };
    assert.include(await buyer.ask("dispute", complaint), { result: "done", state: "disputed" });
    const sent = await sentBy(market.buyer);
    assert.include(await buyer.ask("dispute", complaint), { result: "done", state: "disputed" });
    assert.strictEqual(await sentBy(market.buyer), sent);
    const { dispute } = await seller.ask("get_deal", { dealId });
    assert.deepEqual((dispute as Record<string, unknown>)["reason"], {
      untrusted: true,
      from: market.buyer.agentId,
      text: complaint.reason,
    });
  });

  it("refuses what its state doesn't allow, and says where to read what is possible", async () => {
    const dealId = await hired();
    for (const [caller, name, input] of [
      [buyer, "accept", {}],
      [buyer, "reclaim", {}],
      [buyer, "decline", {}],
      [buyer, "dispute", { reason: "Too slow" }],
      [seller, "accept", {}],
    ] as const) {
      const refused = await caller.refusal(name, { intentId: "w", dealId, ...input });
      assert.include(refused, { code: "not_possible_now", dealId }, name);
      assert.include(refused.whatToDo, "get_deal");
    }
    const view = await buyer.ask("get_deal", { dealId });
    assert.include(view["otherwise"], "reclaim gives you back 2.45 USDC from ");
    assert.deepEqual(toolsOf(await seller.ask("get_deal", { dealId })), ["deliver", "decline"]);
  });

  it("without a wallet answers with the calls to sign, and finds them done when it is repeated", async () => {
    const outside = callerOf(api, chain, market.buyer, callerSigner);
    const wish = order();
    const asked = await outside.ask("hire", wish);
    assert.include(asked, { result: "signature_required", state: "pending_funding" });
    const { calls, validUntil, sentence } = asked["signature"] as {
      calls: { to: string; data: string; chainId: number }[];
      validUntil: string;
      sentence: string;
    };
    assert.lengthOf(calls, 2);
    assert.isAbove(Date.parse(validUntil), Date.now());
    assert.match(sentence, /^[^.]+\.$/);
    let txHash = "";
    for (const call of calls) txHash = (await chain.send(market.buyer.account, call)).transactionHash;
    const paid = await outside.ask("hire", { ...wish, txHash });
    assert.include(paid, { result: "pending", state: "funded", dealId: asked["dealId"] });

    const remote = callerOf(api, chain, market.seller, callerSigner);
    const handed = { intentId: "d", dealId: paid["dealId"] as string, payload: GOOD };
    const commit = await remote.ask("deliver", handed);
    assert.strictEqual(commit["result"], "signature_required");
    const [submit] = (commit["signature"] as { calls: { to: string; data: string }[] }).calls;
    assert.ok(submit);
    await chain.send(market.seller.account, submit);
    assert.include(await remote.ask("deliver", handed), { result: "done", state: "delivered" });
    assert.strictEqual(await spent(), 2_500_000n);
  });
});
