// Deals that end by time: this file moves the chain's clock.

import { assert } from "chai";
import type { TransactionReceipt } from "viem";

import { SIGNATURE_HEADER } from "../../../sdk/src/webhooks.ts";
import { ApiError, collect, ContractRevertedError, RefusedError, sendCall } from "../../../sdk/src/index.ts";
import type { Deal, Registration } from "../../../sdk/src/index.ts";
import { walletSigner } from "../../../tools/src/index.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import { openMarket } from "../../fixtures/deals.ts";
import { fundedDeal, openFullStack, openShop, PATIENT } from "../../fixtures/full-stack.ts";
import type { FullStack, Shop } from "../../fixtures/full-stack.ts";
import { connectMcp, repeatUntilDone, signAsked } from "../../fixtures/mcp.ts";
import type { McpCaller, McpClientKind } from "../../fixtures/mcp.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { keyRequestBody } from "../../fixtures/sign-in.ts";
import { tokenFlows } from "../../fixtures/stack.ts";
import { Caller } from "../../fixtures/tools.ts";
import { until } from "../../fixtures/until.ts";

describe("a deal that time settles", () => {
  let stack: FullStack;
  let hook: TestReceiver;

  before(async () => {
    stack = await openFullStack();
    hook = await startReceiver();
  });
  after(() => hook.close());

  /** Returns once the subgraph has the block, because the API doesn't always wait for the chain's head. */
  const moveClockTo = async (deal: Deal, timestamp: number) => {
    await stack.chain.moveClockTo(timestamp);
    const block = Number(await stack.chain.client.getBlockNumber({ cacheTime: 0 }));
    await until(`block ${block} is indexed`, async () => Number((await deal.read()).indexedBlock) >= block);
  };
  const score = async ({ walletAddress }: Registration) => (await stack.market.score(walletAddress)).onChainScore;
  const scores = async ({ buyer, seller }: Shop) => [await score(buyer), await score(seller)];
  /** On-chain and discovery scores of buyer and seller. */
  const discoveryScores = async ({ buyer, seller }: Shop) => {
    const read = async ({ agentId }: Registration) => {
      const { onChainScore, discoveryScore } = await buyer.agent.registry.discoveryScore(agentId);
      return [onChainScore, discoveryScore];
    };
    return [await read(buyer), await read(seller)];
  };
  /** Options of a verb, and the transfers of the last transaction that it sent. */
  const watched = () => {
    let last: TransactionReceipt | undefined;
    return {
      options: { ...PATIENT, onReceipt: (_: string, receipt: TransactionReceipt) => (last = receipt) },
      flows: () => {
        assert.ok(last !== undefined, "a transaction was sent");
        return tokenFlows(last);
      },
    };
  };

  describe("when the dispute window has elapsed", () => {
    let shop: Shop;
    let deal: Deal;
    /** The answers about `finalize` before and after the end of the window. */
    let early: Awaited<ReturnType<Deal["finalizeCall"]>>;
    let opened: typeof early;
    let actions: string[];
    let tooEarly: ContractRevertedError;
    let statusAfterTooEarly: string;
    let payment: Map<`0x${string}`, bigint>;
    let scoresBefore: number[][];

    before(async () => {
      shop = await openShop(stack, { endpointUrl: hook.url });
      const funded = await fundedDeal(shop);
      const { job } = funded;
      ({ deal } = funded);
      await job.deliver({ answer: 42 }, PATIENT);
      scoresBefore = await discoveryScores(shop);

      early = await job.finalizeCall();
      tooEarly = await rejectionOf(job.finalize(PATIENT), ContractRevertedError);
      statusAfterTooEarly = (await job.read()).status;

      await moveClockTo(deal, Date.parse(early.finalizableAt ?? "") / 1000);
      opened = await job.finalizeCall();
      actions = (await deal.read()).actions.map(({ action }) => action);
      const { options, flows } = watched();
      await job.finalize(options);
      payment = flows();
    });

    it("[S3.2.22] isn't released before", () => {
      assert.deepEqual(
        [early.finalizable, tooEarly.errorName, statusAfterTooEarly],
        [false, "DisputeWindowOpen", "delivered"],
      );
    });

    it("[S3.2.20] [S3.2.21] is released without the buyer, who can no longer accept, and pays the seller 98%", async () => {
      assert.ok(opened.finalizable, "the latest block alone decides");
      assert.deepEqual(actions, ["finalize"]);
      assert.strictEqual(payment.get(shop.seller.walletAddress), (deal.terms.amount * 98n) / 100n);
      const { status, automatic } = await deal.read();
      assert.deepEqual([status, automatic], ["released", true]);
    });

    it("[S2.5.13] [S3.2.32] adds 1 to the scores of both, which their discovery scores follow", async () => {
      assert.deepEqual(await scores(shop), [1, 1]);
      assert.deepEqual(
        scoresBefore,
        Array.from({ length: 2 }, () => [0, 0]),
      );
      const synced = await until("the discovery scores follow", async () => {
        const now = await discoveryScores(shop);
        return now.flat().includes(0) ? undefined : now;
      });
      assert.deepEqual(
        synced,
        Array.from({ length: 2 }, () => [1, 0.01]),
      );
    });

    it("[S6.09] [S6.10] [S6.24] [S6.26] sends the seller a signed escrow.finalized, and no escrow.released", async () => {
      const [finalized] = await hook.waitFor("escrow.finalized");
      const { event, transactionId, serviceId, serviceTitle, buyerAgentId } = finalized.body;
      assert.deepEqual(
        [event, transactionId, serviceId, serviceTitle, buyerAgentId],
        ["escrow.finalized", deal.transactionId, shop.serviceId, "Token risk report", shop.buyer.agentId],
      );
      assert.match(String(finalized.headers[SIGNATURE_HEADER.toLowerCase()]), /^t=\d+,v1=[0-9a-f]{64}$/);
      assert.deepEqual(
        (await collect(shop.seller.agent.events.list())).map((entry) => entry.event),
        ["escrow.funded", "escrow.finalized"],
      );
    });
  });

  describe("when nothing was delivered", () => {
    let shop: Shop;
    let deal: Deal;
    let job: Deal;
    let deadline: number;
    let graceEnd: number;

    before(async () => {
      shop = await openShop(stack, { endpointUrl: hook.url });
      ({ deal, job } = await fundedDeal(shop, { deliveryDeadlineSeconds: 1_800, abandonmentGrace: 3_600 }));
      deadline = Number(deal.terms.deadline);
      graceEnd = deadline + Number(deal.terms.abandonmentGrace);
    });

    it("[S4.r11] [D19] isn't given back before deadline and grace are over, and says when that is", async () => {
      const { claimable, claimableAt } = await deal.claimAbandonedCall();
      assert.deepEqual([claimable, Date.parse(claimableAt ?? "") / 1000], [false, graceEnd + 1]);
      const { errorName } = await rejectionOf(deal.claimAbandoned(PATIENT), ContractRevertedError);
      assert.strictEqual(errorName, "AbandonmentGraceOpen");
    });

    it("takes no delivery after its deadline", async () => {
      await moveClockTo(deal, deadline + 1);
      const { status, code, details } = await rejectionOf(job.handOver({ too: "late" }), ApiError);
      assert.deepEqual([status, code], [409, "escrow_state_conflict"]);
      assert.propertyVal(details, "reason", "deadline_passed");
    });

    it("[S3.2.14] [S3.2.36] [S4.r11.1] is given back to the buyer by the calldata of claimAbandoned, at 5 of the seller's score", async () => {
      await moveClockTo(deal, graceEnd + 1);
      const call = await deal.claimAbandonedCall();
      assert.strictEqual(call.claimable, true, "the latest block alone decides");
      const receipt = await sendCall(shop.buyerWallet, call);
      assert.strictEqual(tokenFlows(receipt).get(shop.buyer.walletAddress), deal.terms.refundableAmount);
      await deal.waitForStatus("abandoned", PATIENT);
      assert.deepEqual(await scores(shop), [0, -5]);
      assert.strictEqual((await deal.claimAbandonedCall()).claimable, false);
    });
  });

  describe("through the tools", () => {
    let shop: Shop;
    /** Delivered, and never accepted. */
    let delivered: Deal;
    /** Never delivered. */
    let missed: Deal;
    let buyer: Caller;
    let seller: Caller;

    before(async () => {
      shop = await openShop(stack);
      const callerFor = ({ agent }: Registration) =>
        new Caller({ market: stack.market, agent, signer: walletSigner() });
      [buyer, seller] = [callerFor(shop.buyer), callerFor(shop.seller)];
      const done = await fundedDeal(shop);
      await done.job.deliver({ answer: 42 }, PATIENT);
      delivered = done.deal;
      const terms = { deliveryDeadlineSeconds: 1_800, abandonmentGrace: 3_600 };
      ({ deal: missed } = await fundedDeal(shop, { ...terms, requestPayload: { never: "delivered" } }));
    });

    const balance = ({ walletAddress }: Registration) => stack.chain.usdcOf(walletAddress);
    const sent = ({ walletAddress }: Registration) =>
      stack.chain.client.getTransactionCount({ address: walletAddress });

    it("isn't reclaimed before its time, and nothing is sent", async () => {
      const before = [await sent(shop.buyer), await sent(shop.seller)];
      const calls = [
        await seller.refusal("reclaim", { intentId: "early", dealId: delivered.transactionId }),
        await buyer.refusal("reclaim", { intentId: "early", dealId: missed.transactionId }),
      ];
      for (const { code } of calls) assert.strictEqual(code, "not_possible_now");
      assert.deepEqual([await sent(shop.buyer), await sent(shop.seller)], before);
    });

    it("is reclaimed by the seller after the window and by the buyer after deadline and grace, each once", async () => {
      const { deadline, abandonmentGrace } = missed.terms;
      await moveClockTo(missed, Number(deadline) + Number(abandonmentGrace) + 1);
      const scenes = [
        { caller: seller, party: shop.seller, deal: delivered, state: "released" },
        { caller: buyer, party: shop.buyer, deal: missed, state: "abandoned" },
      ];
      for (const { caller, party, deal, state } of scenes) {
        const { transactionId: dealId } = deal;
        const { next } = await caller.ask("get_deal", { dealId });
        assert.deepInclude(next, { tool: "reclaim", until: null });
        const before = await balance(party);
        const move = { intentId: `collect-${dealId}`, dealId };
        await until(`${state} is done`, async () => (await caller.ask("reclaim", move))["result"] === "done");
        const [paid, count] = [await balance(party), await sent(party)];
        assert.strictEqual(paid - before, deal.terms.refundableAmount);
        assert.include(await caller.ask("reclaim", move), { result: "done", state });
        assert.deepEqual([await balance(party), await sent(party)], [paid, count]);
      }
    });
  });

  it("[S3.2.15, D6] is given back when the seller declines it, without a change of scores", async () => {
    const shop = await openShop(stack, { endpointUrl: hook.url });
    const { deal, job } = await fundedDeal(shop);
    const { options, flows } = watched();
    assert.strictEqual((await job.refund(options)).status, "refunded");
    assert.strictEqual(flows().get(shop.buyer.walletAddress), deal.terms.refundableAmount);
    assert.deepEqual(await scores(shop), [0, 0]);
  });

  it("[D16] is late when it is funded after the quote, and the seller learns that he may refund", async () => {
    const { buyer, serviceId } = await openShop(stack, { endpointUrl: hook.url });
    const deal = await buyer.agent.checkout({ serviceId, deliveryDeadlineSeconds: 86_400 });
    await stack.chain.moveClockTo(Date.parse(deal.terms.quoteExpiresAt ?? "") / 1000 + 60);
    const wallet = { address: buyer.walletAddress };
    const sentBefore = await stack.chain.client.getTransactionCount(wallet);
    await rejectionOf(deal.fund(PATIENT), RefusedError);
    assert.strictEqual(await stack.chain.client.getTransactionCount(wallet), sentBefore);
    const { status, late } = await deal.fund({ ...PATIENT, allowLate: true });
    assert.deepEqual([status, late], ["funded", true]);
    const [post] = await hook.waitFor(({ body }) => body.transactionId === deal.transactionId);
    assert.strictEqual(post.body.late, true);
    assert.match(post.body.notice, /refund/);
  });

  it("[D15] expires when nobody funds it, and offers to order again", async () => {
    const { buyer, serviceId } = await openShop(stack);
    const deal = await buyer.agent.checkout({ serviceId });
    await stack.chain.moveClockTo(Date.parse(deal.terms.quoteExpiresAt ?? "") / 1000 + 200);
    const { expiredBy, actions } = await deal.waitForStatus("expired", PATIENT);
    assert.deepEqual([expiredBy, actions.map(({ action }) => action)], ["quote", ["checkout"]]);
  });

  it("is reclaimed through the hosted tools by each party in turn, over a restart and with a new key", async () => {
    const { chain } = stack;
    let api = await startTestApi();
    const callers: McpCaller[] = [];
    const connect = async (kind: McpClientKind, { apiKey }: TestAgent) => {
      const caller = await connectMcp(api.url, kind, { key: apiKey });
      callers.push(caller);
      return caller;
    };
    try {
      const market = await openMarket(api, chain);
      let { buyer } = market;
      const buying = await connect("1.32", buyer);
      const selling = await connect("2025-11-25", market.seller);
      const hire = async (token: string) => {
        const order = { intentId: token, serviceId: market.serviceId, maxPrice: "2.50", request: { token } };
        const wish = { ...order, deliverWithinSeconds: 1_800, waitSeconds: 0 };
        const txHash = await signAsked(chain, buyer, await buying.ask("hire", wish));
        const funded = await until("the deal is funded", async () => {
          const answer = await buying.ask("hire", { ...wish, txHash });
          return answer["state"] === "funded" && answer;
        });
        return String(funded["dealId"]);
      };
      const [missed, delivered] = [await hire("0x1"), await hire("0x2")];
      const handed = { intentId: "d", dealId: delivered, payload: { answer: 42 } };
      await signAsked(chain, market.seller, await selling.ask("deliver", handed));
      await repeatUntilDone(selling, "deliver", handed);
      for (const [caller, dealId] of [
        [selling, delivered],
        [buying, missed],
      ] as const) {
        assert.include(await caller.refusal("reclaim", { intentId: "r", dealId }), { code: "not_possible_now" });
      }

      const { name: databaseName } = api.container.connection;
      await api.stop();
      api = await startTestApi({ databaseName });
      const { body } = await api.request("POST", "/api/v1/auth/keys", { body: await keyRequestBody(buyer.account) });
      buyer = { ...buyer, apiKey: body.apiKey as string };
      const { body: read } = await api.request("GET", `/api/v1/transactions/${missed}`, { key: buyer.apiKey });
      const { deadline, abandonmentGrace } = read.data as { deadline: number; abandonmentGrace: number };
      await chain.moveClockTo(deadline + abandonmentGrace + 1);

      for (const { kind, agent, dealId, state } of [
        { kind: "2026-07-28", agent: market.seller, dealId: delivered, state: "released" },
        { kind: "2025-11-25", agent: buyer, dealId: missed, state: "abandoned" },
      ] as const) {
        const caller = await connect(kind, agent);
        const had = await chain.usdcOf(agent.walletAddress);
        const collect = { intentId: "r", dealId };
        const asked = await until("the move is offered", async () => {
          const { isError, data } = await caller.call("reclaim", collect);
          return !isError && data;
        });
        const txHash = await signAsked(chain, agent, asked);
        assert.include(await repeatUntilDone(caller, "reclaim", collect), { state, txHash });
        assert.include(await caller.ask("reclaim", collect), { result: "done", state, txHash });
        assert.strictEqual((await chain.usdcOf(agent.walletAddress)) - had, 2_450_000n);
      }
    } finally {
      for (const caller of callers) await caller.close();
      await api.close();
    }
  });
});
