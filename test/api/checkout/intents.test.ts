// An intentId keeps a purchase to one deal: whatever key sends it, however late, and in whichever process.
import { assert } from "chai";

import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { createEscrow, fund, listService, ONE_USDC, openMarket } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { keyRequestBody } from "../../fixtures/sign-in.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

const HOUR_MS = 3_600_000;
const LATER_HOURS = 25;
const DAY_SECONDS = 86_400;

describe("a checkout with an intentId", () => {
  let api: TestApi;
  /** The same service, 25 hours later. */
  let later: TestApi;
  let chain: TestChain;
  let market: Market;
  let numbers = 0;

  before(async () => {
    api = await startTestApi();
    const databaseName = api.container.connection.name;
    const clock = { now: () => new Date(Date.now() + LATER_HOURS * HOUR_MS) };
    later = await startTestApi({ databaseName, clock });
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
  });
  after(async () => {
    await later.stop();
    await api.close();
  });

  const newIntent = () => `purchase-${(numbers += 1)}`;
  /** No two tests buy the same. */
  const newOrder = (fields: Record<string, unknown> = {}) => ({
    serviceId: market.serviceId,
    paymentMethod: "usdc",
    requestPayload: { test: (numbers += 1) },
    intentId: newIntent(),
    ...fields,
  });
  type AskOptions = { on?: TestApi; as?: Pick<TestAgent, "apiKey">; headers?: Record<string, string> };
  const ask = (body: object, { on = api, as = market.buyer, headers = {} }: AskOptions = {}): Promise<Answer> =>
    on.request("POST", "/api/v1/checkout", { key: as.apiKey, body, headers });
  const buy = async (body: object, options: AskOptions = {}) => {
    const answer = await ask(body, options);
    assert.strictEqual(answer.status, 200, answer.text);
    return answer.body.data as CheckoutData & { status: string };
  };
  const records = () => api.container.features.transactions.models.transactions;
  const dealsOf = (order: { intentId: string }) => records().countDocuments({ intentId: order.intentId });
  const pay = async (deal: CheckoutData) => {
    const { transactionHash } = await createEscrow(market, deal);
    assert.strictEqual((await fund(market, deal, transactionHash)).status, 200);
  };

  describe("repeated", () => {
    it("gets the same deal, escrow and quote", async () => {
      const order = newOrder();
      const first = await buy(order);
      assert.strictEqual(first.status, "pending_funding");
      assert.deepEqual(await buy(order), first);
      assert.strictEqual(await dealsOf(order), 1);
    });

    it("may order the keys of its payload differently, and name the network", async () => {
      const n = (numbers += 1);
      const order = newOrder({ requestPayload: { a: { b: 1, c: [n] }, d: null } });
      const first = await buy(order);
      const reordered = { ...order, network: "base-sepolia", requestPayload: { d: null, a: { c: [n], b: 1 } } };
      assert.strictEqual((await buy(reordered)).transactionId, first.transactionId);
    });

    it("gets the same deal with another API key and with other Idempotency-Keys", async () => {
      const buyer = await api.registerAgent();
      await chain.endow(buyer.account, { usdc: 10n * ONE_USDC });
      const order = newOrder();
      const first = await buy(order, { as: buyer, headers: { "Idempotency-Key": newIntent() } });
      const body = { ...(await keyRequestBody(buyer.account)), revokeOthersAfterSeconds: 3_600 };
      const { body: signedIn } = await api.request("POST", "/api/v1/auth/keys", { body });
      const other = { apiKey: signedIn.apiKey as string };
      assert.notStrictEqual(other.apiKey, buyer.apiKey);
      for (const as of [buyer, other]) {
        assert.deepEqual(await buy(order, { as, headers: { "Idempotency-Key": newIntent() } }), first);
        assert.deepEqual(await buy(order, { as }), first);
      }
    });

    it("after 25 hours gets the same deal, which can still be funded by its calls alone", async () => {
      const order = newOrder();
      const headers = { "Idempotency-Key": newIntent() };
      const first = await buy(order, { headers });
      // The database deletes them after a day.
      await api.container.connection.collection("idempotency_keys").deleteMany({});
      const repeat = await buy(order, { on: later, headers });
      assert.deepEqual(
        { ...repeat.paymentInstructions, gasless: null, gaslessReason: null },
        { ...first.paymentInstructions, gasless: null, gaslessReason: null },
      );
      assert.deepEqual(
        [repeat.transactionId, repeat.paymentInstructions.gasless, repeat.paymentInstructions.gaslessReason],
        [first.transactionId, null, "no_open_quote"],
      );
      await pay(repeat);
      assert.strictEqual((await buy(order)).status, "funded");
    });

    it("gets a funded deal with its status and without anything to pay", async () => {
      const order = newOrder();
      const first = await buy(order);
      await pay(first);
      for (const on of [api, later]) {
        const { transactionId, status, paymentInstructions: terms } = await buy(order, { on });
        assert.deepEqual([transactionId, status], [first.transactionId, "funded"]);
        assert.strictEqual(terms.escrowId, first.paymentInstructions.escrowId);
        assert.deepEqual([terms.calls, terms.gasless, terms.gaslessReason], [[], null, "no_open_quote"]);
      }
    });

    it("knows of a funding that nobody has reported", async () => {
      const order = newOrder();
      await createEscrow(market, await buy(order));
      const { status, paymentInstructions } = await buy(order);
      assert.deepEqual([status, paymentInstructions.calls], ["funded", []]);
    });

    it("gets its deal at its price when the listing's price has changed, or the listing is paused", async () => {
      const serviceId = await listService(api, market.seller);
      const order = newOrder({ serviceId });
      const first = await buy(order);
      for (const change of [{ price: 7 }, { status: "paused" }]) {
        const path = `/api/v1/services/${serviceId}`;
        const changed = await api.request("PATCH", path, { key: market.seller.apiKey, body: change });
        assert.strictEqual(changed.status, 200, changed.text);
        assert.deepEqual(await buy(order), first);
      }
    });

    it("gets its deal when the deposit has left no money for another", async () => {
      const buyer = await api.registerAgent();
      await chain.endow(buyer.account, { usdc: (5n * ONE_USDC) / 2n });
      const order = newOrder();
      const first = await buy(order, { as: buyer });
      await createEscrow({ chain, buyer }, first);
      assert.strictEqual((await buy(order, { as: buyer })).transactionId, first.transactionId);
      assertError(await ask(newOrder(), { as: buyer }), 402, "insufficient_token_balance");
    });
  });

  describe("whose terms the chain refuses for ever", () => {
    /** Moves a deal's deadline back, as if that time had passed. */
    const age = (deal: CheckoutData) =>
      records().updateOne({ _id: deal.transactionId }, { $inc: { deadline: -30 * DAY_SECONDS } });

    it("gets a fresh quote in place of the unfunded one, and one alone", async () => {
      const order = newOrder();
      const first = await buy(order);
      await age(first);
      const repeats = await Promise.all([1, 2, 3, 4].map((n) => buy(order, { on: n % 2 === 0 ? api : later })));
      const [second] = repeats;
      assert.ok(second !== undefined);
      assert.notStrictEqual(second.transactionId, first.transactionId);
      assert.notStrictEqual(second.paymentInstructions.escrowId, first.paymentInstructions.escrowId);
      assert.deepEqual([...new Set(repeats.map(({ transactionId }) => transactionId))], [second.transactionId]);
      assert.strictEqual(await dealsOf(order), 1);
      assert.strictEqual((await buy(order)).transactionId, second.transactionId);
    });

    it("gets a fresh quote when another wallet has taken the escrow's id", async () => {
      const thief = await api.registerAgent();
      await chain.endow(thief.account, { usdc: 10n * ONE_USDC });
      const order = newOrder();
      const first = await buy(order);
      await createEscrow({ chain, buyer: thief }, first);
      const taken = await buy(order);
      assert.deepEqual([taken.transactionId, taken.status], [first.transactionId, "expired"]);
      assert.isEmpty(taken.paymentInstructions.calls);
      await age(first);
      assert.notStrictEqual((await buy(order)).transactionId, first.transactionId);
    });

    it("keeps a deal whose escrow exists", async () => {
      const order = newOrder();
      const first = await buy(order);
      await createEscrow(market, first);
      await age(first);
      const repeat = await buy(order);
      assert.deepEqual([repeat.transactionId, repeat.paymentInstructions.calls], [first.transactionId, []]);
      assert.strictEqual(await dealsOf(order), 1);
    });
  });

  describe("with other arguments", () => {
    for (const [name, change] of Object.entries({
      quantity: 2,
      requestPayload: { test: "another" },
      disputeWindow: 7_200,
      deliveryDeadlineSeconds: 7_200,
      paymentMethod: "weth",
      callbackUrl: "https://agent.example/hook",
      criteria: { checks: ["says why"] },
      network: "base",
    })) {
      it(`is a conflict that names the deal and ${name}`, async () => {
        const order = newOrder();
        const first = await buy(order);
        const answer = await ask({ ...order, [name]: change });
        assertError(answer, 409, "intent_conflict");
        assert.deepEqual(answer.body.details, {
          intentId: order.intentId,
          kind: "deal",
          id: first.transactionId,
          escrowId: first.paymentInstructions.escrowId,
          differs: [name],
        });
        assert.strictEqual(await dealsOf(order), 1);
      });
    }

    it("names everything that differs", async () => {
      const order = newOrder();
      await buy(order);
      const { body } = await ask({ ...order, quantity: 3, serviceId: "lst_other" });
      assert.deepEqual(body.details.differs, ["quantity", "serviceId"]);
    });

    it("is another purchase for another agent", async () => {
      const order = newOrder();
      const first = await buy(order);
      const other = await api.registerAgent();
      await chain.endow(other.account, { usdc: 10n * ONE_USDC });
      assert.notStrictEqual((await buy({ ...order, quantity: 2 }, { as: other })).transactionId, first.transactionId);
    });
  });

  describe("for the same service and payload as an open deal under another intentId", () => {
    it("looks like a repeat, unless the body says again", async () => {
      const order = newOrder();
      const first = await buy(order);
      const other = { ...order, intentId: newIntent(), quantity: 2 };
      const answer = await ask(other);
      assertError(answer, 409, "looks_like_a_repeat");
      assert.deepEqual(answer.body.details, {
        transactionId: first.transactionId,
        escrowId: first.paymentInstructions.escrowId,
        intentId: order.intentId,
        status: "pending_funding",
      });
      assertError(await ask({ ...other, again: false }), 409, "looks_like_a_repeat");
      const second = await buy({ ...other, again: true });
      assert.notStrictEqual(second.transactionId, first.transactionId);
      assert.deepEqual(await buy(other), second, "the retry needs no `again`");
      assert.deepEqual(await buy(order), first);
    });

    it("is bought once that deal has ended", async () => {
      const order = newOrder();
      const { transactionId } = await buy(order);
      await records().updateOne({ _id: transactionId }, { $set: { status: "released" } });
      await buy({ ...order, intentId: newIntent() });
    });

    it("is bought by another buyer, and by requests without an intentId", async () => {
      const { intentId, ...order } = newOrder();
      const plain = await buy(order);
      assert.isFalse("status" in plain);
      await buy({ ...order, intentId });
      await buy(order);
      const other = await api.registerAgent();
      await chain.endow(other.account, { usdc: 10n * ONE_USDC });
      await buy({ ...order, intentId: newIntent() }, { as: other });
    });
  });

  describe("is stored on the deal", () => {
    it("for its buyer, who finds it by that", async () => {
      const order = newOrder();
      const deal = await buy(order);
      await pay(deal);
      const read = async ({ apiKey: key }: TestAgent, path: string) =>
        api.request("GET", `/api/v1/transactions${path}`, { key });
      const byIntent = `?intentId=${order.intentId}`;
      const { body: listed } = await read(market.buyer, byIntent);
      assert.deepEqual(
        listed.data.map(({ id, intentId }: Record<string, string>) => [id, intentId]),
        [[deal.transactionId, order.intentId]],
      );
      const { body: seen } = await read(market.seller, `/${deal.transactionId}`);
      assert.isFalse("intentId" in seen.data);
      assert.deepEqual((await read(market.seller, byIntent)).body.data, []);
      assertInvalid(await read(market.seller, `${byIntent}&role=seller`), "query.intentId");
    });
  });

  for (const intentId of ["", " ", "two words", "a".repeat(129), "ümlaut", "line\n", 7, null]) {
    it(`refuses ${JSON.stringify(intentId).slice(0, 20)}, and names the field`, async () => {
      const answer = await ask(newOrder({ intentId }));
      assertInvalid(answer, "body.intentId");
      if (typeof intentId === "string") assert.include(answer.text, "1 to 128 printable");
    });
  }

  it("takes 128 characters", async () => {
    await buy(newOrder({ intentId: "~".repeat(128) }));
  });
});
