import { createHash } from "node:crypto";

import { assert } from "chai";

import { submitDeliveryCall } from "../../../api/chain/calldata.ts";
import { verifyWebhookSignature } from "../../../api/features/webhooks/secrets/signature.ts";
import { canonicalJson } from "../../../api/lib/canonical-json.ts";
import { sha256Hex } from "../../../api/lib/ids.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import {
  act,
  checkOut,
  createEscrow,
  deliverDeal,
  fundedDeal,
  openMarket,
  readTransaction,
} from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { ReceivedPost, TestReceiver } from "../../fixtures/receiver.ts";
import { openChain, tokenFlows, treasuryOf } from "../../fixtures/stack.ts";
import type { PreparedCall, TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const isoDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe("the events of a deal", () => {
  let api: TestApi;
  let chain: TestChain;
  let sellerHook: TestReceiver;
  let buyerHook: TestReceiver;
  let market: Market;

  before(async () => {
    api = await startTestApi({ runsLoops: true });
    chain = await openChain("base-sepolia");
    [sellerHook, buyerHook] = await Promise.all([startReceiver(), startReceiver()]);
    market = await openMarket(api, chain, { endpointUrl: sellerHook.url, callbackRequired: true });
  });
  after(async () => {
    await api.close();
    await Promise.all([sellerHook.close(), buyerHook.close()]);
  });

  const get = (agent: TestAgent, path: string) => api.request("GET", path, { key: agent.apiKey });
  const secretOf = async (agent: TestAgent) => (await get(agent, "/api/v1/webhooks/secret")).body.data.secret as string;
  const arrived = (hook: TestReceiver, event: string, transactionId: string) =>
    until(`${event} arrives`, () =>
      Promise.resolve(hook.received.find(({ body }) => body.event === event && body.transactionId === transactionId)),
    );
  const holds = async (agent: TestAgent, post: ReceivedPost) =>
    verifyWebhookSignature(
      await secretOf(agent),
      String(post.headers["x-service-signature"]),
      post.rawBody,
      Math.floor(Date.now() / 1000),
    );

  /** Waits until the worker has processed another whole deal, so it has sent everything before that. */
  const passAnotherDeal = async () => {
    const { transactionId } = await fundedDeal(market, { callbackUrl: buyerHook.url });
    await arrived(sellerHook, "escrow.funded", transactionId);
  };
  /** Event types of the posts about a transaction. The backup of escrow.funded doesn't count separately. */
  const eventsOf = (hook: TestReceiver, transactionId: string) => {
    const posts = hook.received.filter(({ body }) => body.transactionId === transactionId);
    return [...new Set(posts.map(({ body }) => body.event as string))];
  };

  describe("from the funding to the release", () => {
    const [amount, fee, locked] = [2_500_000n, 50_000n, 2_450_000n]; // the price, 2% and 98% of it
    let transactionId: string;
    let treasury: `0x${string}`;
    /** What each step transferred of the token, and what had been sent before it. */
    const steps: Record<"funding" | "release", Map<`0x${string}`, bigint>> = { funding: new Map(), release: new Map() };
    const sentBefore: Record<"funding" | "submission" | "acceptance", string[]> = {
      funding: [],
      submission: [],
      acceptance: [],
    };
    let [funded, delivered, released]: ReceivedPost[] = [];

    before(async () => {
      const checkout = await checkOut(market, { callbackUrl: buyerHook.url, requestPayload: { token: "0x42" } });
      const terms = checkout.paymentInstructions;
      transactionId = checkout.transactionId;
      assert.deepEqual([terms.amount, terms.platformFee, terms.refundableAmount].map(BigInt), [amount, fee, locked]);
      treasury = await treasuryOf(chain);

      await passAnotherDeal();
      sentBefore.funding = eventsOf(sellerHook, transactionId);
      steps.funding = tokenFlows(await createEscrow(market, checkout));
      funded = await arrived(sellerHook, "escrow.funded", transactionId);

      const handedOver = await api.request("POST", `/api/v1/transactions/${transactionId}/deliver`, {
        key: market.seller.apiKey,
        body: { responsePayload: { report: ["clean"], score: 0.5 } },
      });
      await passAnotherDeal();
      sentBefore.submission = eventsOf(buyerHook, transactionId);
      await chain.send(market.seller.account, handedOver.body.data.submitDelivery as PreparedCall);
      delivered = await arrived(buyerHook, "service.delivered", transactionId);

      sentBefore.acceptance = eventsOf(sellerHook, transactionId);
      steps.release = tokenFlows(await act(api, chain, market.buyer, transactionId, "accept"));
      released = await arrived(sellerHook, "escrow.released", transactionId);
    });

    it("[S3.2.03] [S3.2.04] [S3.2.05] the buyer pays the amount, the treasury gets 2% and the escrow contract holds the rest", () => {
      const { buyer } = market;
      const expected = new Map([
        [buyer.walletAddress, -amount],
        [chain.deployment.escrow, locked],
        [treasury, fee],
      ]);
      assert.deepEqual(steps.funding, expected);
    });

    it("[S1.03] [S3.2.19] [S8.1.06] only the contract holds the funds until it pays them to the seller, and it takes no second fee", () => {
      const expected = new Map([
        [chain.deployment.escrow, -locked],
        [market.seller.walletAddress, locked],
      ]);
      assert.deepEqual(steps.release, expected);
    });

    it("[S6.05] [S6.06] the seller gets escrow.funded at its endpointUrl once the deposit is on chain", () => {
      assert.deepEqual(sentBefore.funding, []);
      assert.deepEqual(eventsOf(sellerHook, transactionId), ["escrow.funded", "escrow.released"]);
    });

    it("[S6.03] [S6.04] the buyer gets service.delivered at its callbackUrl once the delivery is submitted", () => {
      assert.deepEqual(sentBefore.submission, []);
      assert.deepEqual(eventsOf(buyerHook, transactionId), ["service.delivered"]);
    });

    it("[S6.07] [S6.08] the seller gets escrow.released at its endpointUrl once the funds are transferred", () => {
      assert.deepEqual(sentBefore.acceptance, ["escrow.funded"]);
      assert.deepEqual(eventsOf(sellerHook, transactionId), ["escrow.funded", "escrow.released"]);
    });

    it("each is signed with its receiver's secret", async () => {
      for (const [agent, post] of [
        [market.seller, funded],
        [market.buyer, delivered],
        [market.seller, released],
      ] as const) {
        assert.ok(post !== undefined);
        assert.ok(await holds(agent, post), String(post.body.event));
        assert.match(String(post.headers["x-service-event-id"]), /^evt_[0-9a-f]+$/);
      }
      assert.ok(funded !== undefined && !(await holds(market.buyer, funded)), "another agent's secret verifies it");
    });

    it("the seller's log has what was sent to it, with the same ids", async () => {
      const log = (await get(market.seller, `/api/v1/events?transactionId=${transactionId}`)).body.data;
      assert.deepEqual(
        log.map(({ id, event }: { id: string; event: string }) => [id, event]),
        [funded, released].map((post) => [post?.headers["x-service-event-id"], post?.body.event]),
      );
      assert.deepEqual(log[0].payload, funded?.body);
    });
  });

  describe("in their fields", () => {
    const requestPayload = { question: "?" };
    const responsePayload = { z: 1, a: { b: [true, null, "ü"] } };
    let checkout: CheckoutData;
    let funded: ReceivedPost;
    let delivered: ReceivedPost;

    before(async () => {
      checkout = await fundedDeal(market, { callbackUrl: buyerHook.url, requestPayload, quantity: 3 });
      funded = await arrived(sellerHook, "escrow.funded", checkout.transactionId);
      await deliverDeal(market, checkout.transactionId, responsePayload);
      delivered = await arrived(buyerHook, "service.delivered", checkout.transactionId);
    });

    it("[S6.12] [S6.18] [D37] escrow.funded has the deal, its terms and the job", () => {
      const { transactionId, paymentInstructions: terms } = checkout;
      assert.deepEqual(funded.body, {
        event: "escrow.funded",
        transactionId,
        escrowId: terms.escrowId,
        serviceId: market.serviceId,
        serviceTitle: "Token risk report",
        lockedAmount: terms.refundableAmount,
        platformFee: terms.platformFee,
        currency: "USDC",
        token: terms.tokenAddress,
        buyer: market.buyer.walletAddress,
        seller: market.seller.walletAddress,
        network: "base-sepolia",
        requestPayload,
        quantity: 3,
        deadline: terms.deadline,
        deadlineAt: terms.deadlineAt,
        criteriaHash: terms.criteriaHash,
        unsolicited: false,
        late: false,
      });
    });

    it("[S6.19] [S6.22] escrow.funded has a bytes32 escrow id and addresses of token, buyer and seller", () => {
      const { escrowId, token, buyer, seller } = funded.body;
      assert.match(escrowId, /^0x[0-9a-f]{64}$/);
      assert.deepEqual(
        [token, buyer, seller],
        [chain.deployment.tokens[0]?.address, market.buyer.walletAddress, market.seller.walletAddress],
      );
      for (const address of [token, buyer, seller]) assert.match(address, /^0x[0-9a-fA-F]{40}$/);
    });

    it("[S6.20] [S6.21] escrow.funded has the amount after the fee, and the fee, as strings in token units", () => {
      assert.deepEqual([funded.body.lockedAmount, funded.body.platformFee], ["7350000", "150000"]);
    });

    it("[S6.13] [S6.14] service.delivered has the deal and the delivered payload", () => {
      const { event, transactionId, serviceId, escrowId, network, ...rest } = delivered.body;
      assert.deepEqual(
        [event, transactionId, serviceId, escrowId, network],
        [
          ...["service.delivered", checkout.transactionId, market.serviceId],
          ...[checkout.paymentInstructions.escrowId, "base-sepolia"],
        ],
      );
      assert.deepEqual(Object.keys(rest).sort(), ["deliveredAt", "deliveryProof", "responsePayload"]);
      assert.deepEqual(rest.responsePayload, responsePayload);
    });

    it("[S6.15] service.delivered has the time of the delivery in ISO 8601", () => {
      assert.match(delivered.body.deliveredAt, isoDate);
    });

    it("[S6.16] [S6.17] service.delivered has the payload's SHA-256 as on chain, which isn't the signature", async () => {
      const hash = createHash("sha256").update('{"a":{"b":[true,null,"ü"]},"z":1}').digest("hex");
      const { proofHash } = await readTransaction(api, market.buyer, checkout.transactionId);
      assert.deepEqual([delivered.body.deliveryProof, proofHash], [`0x${hash}`, `0x${hash}`]);
      assert.ok(!String(delivered.headers["x-service-signature"]).includes(hash));
    });
  });

  it("[S2.2.20] deliver the incoming job to the listing's current endpointUrl", async () => {
    const moved = await startReceiver();
    try {
      const own = await openMarket(api, chain, { endpointUrl: sellerHook.url });
      const checkout = await checkOut(own, { requestPayload: { job: 7 } });
      await api.request("PATCH", `/api/v1/services/${own.serviceId}`, {
        key: own.seller.apiKey,
        body: { endpointUrl: moved.url },
      });
      await createEscrow(own, checkout);
      const [post] = await moved.waitFor("escrow.funded");
      assert.deepEqual(post.body.requestPayload, { job: 7 });
      assert.ok(!sellerHook.received.some(({ body }) => body.transactionId === checkout.transactionId));
    } finally {
      await moved.close();
    }
  });

  it("[D17] send delivery.submitted at once and service.delivered when the payload follows", async () => {
    const checkout = await fundedDeal(market, { callbackUrl: buyerHook.url });
    const { transactionId } = checkout;
    const responsePayload = { late: "payload" };
    const proof = `0x${sha256Hex(canonicalJson(responsePayload))}` as const;
    const target = { chainId: 84_532, escrowContract: chain.deployment.escrow };
    await chain.send(market.seller.account, submitDeliveryCall(target, checkout.paymentInstructions.escrowId, proof));
    const submitted = await arrived(buyerHook, "delivery.submitted", transactionId);
    assert.strictEqual(submitted.body.proofHash, proof);
    const delivered = await api.request("POST", `/api/v1/transactions/${transactionId}/deliver`, {
      key: market.seller.apiKey,
      body: { responsePayload },
    });
    assert.strictEqual(delivered.status, 200, delivered.text);
    assert.deepEqual(
      (await arrived(buyerHook, "service.delivered", transactionId)).body.responsePayload,
      responsePayload,
    );
  });

  it("[S6.23] give escrow.released service and buyer", async () => {
    const checkout = await fundedDeal(market, { callbackUrl: buyerHook.url });
    const { transactionId } = checkout;
    await deliverDeal(market, transactionId);
    await act(api, chain, market.buyer, transactionId, "accept");
    const { body } = await arrived(sellerHook, "escrow.released", transactionId);
    const { event, serviceId, serviceTitle, buyerAgentId } = body;
    assert.deepEqual(
      [event, body.transactionId, serviceId, serviceTitle, buyerAgentId],
      ["escrow.released", transactionId, market.serviceId, "Token risk report", market.buyer.agentId],
    );
  });

  it("[S6.02] [S6.44] [D39] are only informative: a deal settles even if every receiver fails or is forbidden", async () => {
    const broken = await startReceiver(() => 500);
    try {
      const own = await openMarket(api, chain, { endpointUrl: "http://10.0.0.1/hook" });
      const checkout = await fundedDeal(own, { callbackUrl: broken.url });
      const { transactionId } = checkout;
      await deliverDeal(own, transactionId);
      await act(api, chain, own.buyer, transactionId, "accept");
      const confirmed = await api.request("POST", `/api/v1/transactions/${transactionId}/confirm`, {
        key: own.buyer.apiKey,
      });
      assert.strictEqual(confirmed.body.data.status, "released");
      // Only their owners' logs show the one retry of a failing receiver, and the dropped target.
      const failed = await until("the retry is over", async () => {
        const { body } = await get(own.buyer, `/api/v1/webhooks/deliveries?transactionId=${transactionId}`);
        return body.data[0]?.status === "failed" ? body.data[0] : undefined;
      });
      assert.deepEqual(
        failed.attempts.map(({ outcome, statusCode }: { outcome: string; statusCode: number }) => [
          outcome,
          statusCode,
        ]),
        [
          ["refused", 500],
          ["refused", 500],
        ],
      );
      assert.strictEqual(broken.received.length, 2);
      const { body } = await get(own.seller, `/api/v1/webhooks/deliveries?status=dropped`);
      assert.ok(body.data.length >= 1);
      assert.strictEqual(body.data[0].attempts[0].error, "the address is private, loopback or internal");
      assert.deepEqual(
        (await get(market.buyer, `/api/v1/webhooks/deliveries?transactionId=${transactionId}`)).body.data,
        [],
      );
    } finally {
      await broken.close();
    }
  });

  it("[S5.12] [D38] are verified by the webhook secret and not by the API key", async () => {
    const checkout = await fundedDeal(market, { callbackUrl: buyerHook.url });
    const post = await arrived(sellerHook, "escrow.funded", checkout.transactionId);
    const header = String(post.headers["x-service-signature"]);
    const now = Math.floor(Date.now() / 1000);
    assert.ok(verifyWebhookSignature(await secretOf(market.seller), header, post.rawBody, now));
    assert.ok(!verifyWebhookSignature(market.seller.apiKey, header, post.rawBody, now));
  });

  it("[D38] are signed with the next secret once it is activated", async () => {
    const own = await openMarket(api, chain, { endpointUrl: sellerHook.url });
    const post = (path: string) => api.request("POST", path, { key: own.seller.apiKey });
    const old = await secretOf(own.seller);
    const rotated = await post("/api/v1/webhooks/secret/rotate");
    assert.strictEqual(rotated.body.data.secret, old);
    const next = rotated.body.data.next.secret as string;
    const activated = await post("/api/v1/webhooks/secret/activate");
    assert.deepEqual([activated.body.data.secret, activated.body.data.next], [next, null]);
    const checkout = await fundedDeal(own);
    const hook = await arrived(sellerHook, "escrow.funded", checkout.transactionId);
    const header = String(hook.headers["x-service-signature"]);
    const now = Math.floor(Date.now() / 1000);
    assert.ok(verifyWebhookSignature(next, header, hook.rawBody, now));
    assert.ok(!verifyWebhookSignature(old, header, hook.rawBody, now));
  });

  it("[S6.26] have the header X-Service-Signature, for every type", () => {
    // A buyer's own request to the seller of an api_response service isn't a webhook and has no event.
    const posts = [...sellerHook.received, ...buyerHook.received].filter(({ body }) => body.event !== undefined);
    const kinds = new Set(posts.map(({ body }) => body.event as string));
    for (const kind of ["escrow.funded", "delivery.submitted", "service.delivered", "escrow.released"]) {
      assert.ok(kinds.has(kind), `${kind} was sent by the tests before this one`);
    }
    for (const { headers, body } of posts) {
      assert.match(String(headers["x-service-signature"]), /^t=\d+,v1=[0-9a-f]{64}$/, body.event);
    }
  });
});
