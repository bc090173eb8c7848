// Deals whose endings need time: this file moves the chain's clock, so it has the stack for itself.

import { assert } from "chai";
import type { TransactionReceipt } from "viem";

import { assertError } from "../../fixtures/api.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import {
  act,
  checkOut,
  createEscrow,
  deliverDeal,
  fund,
  fundedDeal,
  openMarket,
  readTransaction,
} from "../../fixtures/deals.ts";
import type { CheckoutData, DealApi, Market } from "../../fixtures/deals.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { remoteApi } from "../../fixtures/remote-api.ts";
import { openChain, tokenFlows } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

describe("a deal that time settles", () => {
  let api: DealApi;
  let chain: TestChain;
  let hook: TestReceiver;

  before(async () => {
    api = await remoteApi();
    chain = await openChain("base-sepolia");
    hook = await startReceiver();
  });
  after(() => hook.close());

  const get = (agent: TestAgent, path: string) => api.request("GET", path, { key: agent.apiKey });
  const status = async (agent: TestAgent, transactionId: string) =>
    (await readTransaction(api, agent, transactionId)).status as string;
  const reaches = (agent: TestAgent, transactionId: string, wanted: string) =>
    until(`the transaction is ${wanted}`, async () => (await status(agent, transactionId)) === wanted);
  /** Until the subgraph has the block: the API does without the chain's head when it does not come at once. */
  const moveClockTo = async (party: TestAgent, transactionId: string, timestamp: number) => {
    await chain.moveClockTo(timestamp);
    const block = Number(await chain.client.getBlockNumber({ cacheTime: 0 }));
    await until(`block ${block} is indexed`, async () => {
      const { indexedBlock } = await readTransaction(api, party, transactionId);
      return indexedBlock >= block;
    });
  };
  const score = async (agent: TestAgent) =>
    (await api.request("GET", `/api/v1/agents/score?address=${agent.walletAddress}`)).body.onChainScore as number;
  const scores = async ({ buyer, seller }: Market) => [await score(buyer), await score(seller)];
  /** What search goes by, of buyer and seller. */
  const discoveryScores = async ({ buyer, seller }: Market) => {
    const read = async ({ agentId }: TestAgent) => {
      const { body } = await get(buyer, `/api/v1/agents/${agentId}/discovery-score`);
      return [body.onChainScore, body.discoveryScore] as [number, number];
    };
    return [await read(buyer), await read(seller)];
  };

  describe("when the dispute window has elapsed", () => {
    let market: Market;
    let transactionId: string;
    let amount: bigint;
    /** What `finalize` answers, and what the buyer may do, when the window still runs and when it is over. */
    let early: { finalizable: boolean; finalizableAt: string };
    let opened: { finalizable: boolean };
    let actions: string[];
    let tooEarly: TransactionReceipt;
    let statusAfterTooEarly: string;
    let payment: Map<`0x${string}`, bigint>;
    let scoresBefore: [number, number][];

    before(async () => {
      market = await openMarket(api, chain, { endpointUrl: hook.url });
      const checkout = await fundedDeal(market);
      transactionId = checkout.transactionId;
      amount = BigInt(checkout.paymentInstructions.amount);
      await deliverDeal(market, transactionId);
      await reaches(market.buyer, transactionId, "delivered");
      scoresBefore = await discoveryScores(market);

      const path = `/api/v1/transactions/${transactionId}/finalize`;
      const { data: prepared } = (await get(market.seller, path)).body;
      early = prepared;
      tooEarly = await chain.sendReverting(market.seller.account, prepared);
      statusAfterTooEarly = await status(market.seller, transactionId);

      await moveClockTo(market.buyer, transactionId, Date.parse(early.finalizableAt) / 1000);
      opened = (await get(market.seller, path)).body.data;
      const read = await readTransaction(api, market.buyer, transactionId);
      actions = read.actions.map(({ action }: { action: string }) => action);
      payment = tokenFlows(await act(api, chain, market.seller, transactionId, "finalize"));
      await reaches(market.buyer, transactionId, "released");
    });

    it("[S3.2.22] isn't released before", () => {
      assert.deepEqual([early.finalizable, tooEarly.status, statusAfterTooEarly], [false, "reverted", "delivered"]);
    });

    it("[S3.2.20] [S3.2.21] is released without the buyer, who can no longer accept, and pays the seller 98%", async () => {
      assert.ok(opened.finalizable, "the latest block alone decides");
      assert.deepEqual(actions, ["finalize"]);
      assert.strictEqual(payment.get(market.seller.walletAddress), (amount * 98n) / 100n);
      assert.ok((await readTransaction(api, market.buyer, transactionId)).automatic);
    });

    it("[S2.5.13] [S3.2.32] adds 1 to the scores of both, which their discovery scores follow", async () => {
      assert.deepEqual(await scores(market), [1, 1]);
      assert.deepEqual(
        scoresBefore,
        Array.from({ length: 2 }, () => [0, 0]),
      );
      const synced = await until("the discovery scores follow", async () => {
        const now = await discoveryScores(market);
        return now.flat().includes(0) ? undefined : now;
      });
      assert.deepEqual(
        synced,
        Array.from({ length: 2 }, () => [1, 0.01]),
      );
    });

    it("[S6.09] [S6.10] [S6.24] [S6.26] sends the seller a signed escrow.finalized, and no escrow.released", async () => {
      const [finalized] = await hook.waitFor("escrow.finalized");
      const { event, serviceId, serviceTitle, buyerAgentId } = finalized?.body ?? {};
      assert.deepEqual(
        [event, finalized?.body.transactionId, serviceId, serviceTitle, buyerAgentId],
        ["escrow.finalized", transactionId, market.serviceId, "Token risk report", market.buyer.agentId],
      );
      assert.match(String(finalized?.headers["x-service-signature"]), /^t=\d+,v1=[0-9a-f]{64}$/);
      const events = (await get(market.seller, "/api/v1/events")).body.data as { event: string }[];
      assert.deepEqual(
        events.map((entry) => entry.event),
        ["escrow.funded", "escrow.finalized"],
      );
    });
  });

  describe("when nothing was delivered", () => {
    let market: Market;
    let transactionId: string;
    let terms: CheckoutData["paymentInstructions"];
    const path = () => `/api/v1/transactions/${transactionId}/claimAbandoned`;

    before(async () => {
      market = await openMarket(api, chain, { endpointUrl: hook.url });
      const windows = { deliveryDeadlineSeconds: 1_800, abandonmentGrace: 3_600 };
      ({ transactionId, paymentInstructions: terms } = await fundedDeal(market, windows));
    });

    it("[S4.r11] [D19] isn't given back before deadline and grace are over, and says when that is", async () => {
      const { data } = (await get(market.buyer, path())).body;
      assert.strictEqual(data.claimable, false);
      assert.strictEqual(Date.parse(data.claimableAt) / 1000, terms.deadline + terms.abandonmentGrace + 1);
      assert.strictEqual((await chain.sendReverting(market.buyer.account, data)).status, "reverted");
    });

    it("takes no delivery after its deadline", async () => {
      await moveClockTo(market.buyer, transactionId, terms.deadline + 1);
      const late = await api.request("POST", `/api/v1/transactions/${transactionId}/deliver`, {
        key: market.seller.apiKey,
        body: { responsePayload: { too: "late" } },
      });
      assertError(late, 409, "escrow_state_conflict");
      assert.strictEqual(late.body.details.reason, "deadline_passed");
    });

    it("[S3.2.14] [S3.2.36] [S4.r11.1] is given back to the buyer by the calldata of claimAbandoned, at 5 of the seller's score", async () => {
      await moveClockTo(market.buyer, transactionId, terms.deadline + terms.abandonmentGrace + 1);
      const { data: open } = (await get(market.buyer, path())).body;
      assert.strictEqual(open.claimable, true, "the latest block alone decides");
      const receipt = await chain.send(market.buyer.account, open);
      assert.strictEqual(receipt.status, "success");
      assert.strictEqual(tokenFlows(receipt).get(market.buyer.walletAddress), BigInt(terms.refundableAmount));
      await reaches(market.buyer, transactionId, "abandoned");
      assert.deepEqual(await scores(market), [0, -5]);
      assert.strictEqual((await get(market.buyer, path())).body.data.claimable, false);
    });
  });

  it("[S3.2.15, D6] is given back when the seller declines it, without a change of scores", async () => {
    const market = await openMarket(api, chain, { endpointUrl: hook.url });
    const { transactionId, paymentInstructions: terms } = await fundedDeal(market);
    const flows = tokenFlows(await act(api, chain, market.seller, transactionId, "refund"));
    assert.strictEqual(flows.get(market.buyer.walletAddress), BigInt(terms.refundableAmount));
    await reaches(market.buyer, transactionId, "refunded");
    assert.deepEqual(await scores(market), [0, 0]);
  });

  it("[D16] is late when it is funded after the quote, and the seller learns that he may refund", async () => {
    const market = await openMarket(api, chain, { endpointUrl: hook.url });
    const checkout = await checkOut(market, { deliveryDeadlineSeconds: 86_400 });
    await chain.moveClockTo(Date.parse(checkout.paymentInstructions.quoteExpiresAt) / 1000 + 60);
    const { transactionHash } = await createEscrow(market, checkout);
    const answer = await fund(market, checkout, transactionHash);
    assert.deepEqual([answer.status, answer.body.data.status, answer.body.data.late], [200, "funded", true]);
    const post = await until("the seller is told", () =>
      Promise.resolve(hook.received.find(({ body }) => body.transactionId === checkout.transactionId)),
    );
    assert.strictEqual(post.body.late, true);
    assert.match(post.body.notice, /refund/);
  });

  it("[D15] expires when nobody funds it", async () => {
    const market = await openMarket(api, chain);
    const { transactionId, paymentInstructions } = await checkOut(market);
    await chain.moveClockTo(Date.parse(paymentInstructions.quoteExpiresAt) / 1000 + 200);
    await reaches(market.buyer, transactionId, "expired");
    const data = await readTransaction(api, market.buyer, transactionId);
    assert.deepEqual([data.expiredBy, data.actions], ["quote", []]);
  });
});
