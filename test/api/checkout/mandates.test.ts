// What a key's mandate lets it buy: each bound, two processes at once, kills, expiry and late funding (decision 57).
import { assert } from "chai";

import { RATE_LIMITS } from "../../../api/config/constants.ts";
import type { RateClass } from "../../../api/config/constants.ts";
import { expireCounted, EXPIRY_MARGIN_SECONDS } from "../../../api/features/transactions/expiry.ts";
import { createMandateLedger } from "../../../api/features/mandates/ledger.ts";
import { mandateModel } from "../../../api/features/mandates/model.ts";
import { assertError, readStack, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { createEscrow, fund, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { killAtEachWrite } from "../../fixtures/failpoints.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { limitsWith, movedClock } from "../../fixtures/limits.ts";
import { withMandate } from "../../fixtures/mandates.ts";
import type { MandateFields } from "../../fixtures/mandates.ts";
import { signIn } from "../../fixtures/page-session.ts";
import { openChain } from "../../fixtures/stack.ts";
import { startSecondProcess } from "../../fixtures/two-processes.ts";
import { until } from "../../fixtures/until.ts";

/** Price of the market's service. */
const PRICE = 2.5;
const DAY_MS = 86_400_000;
const ENOUGH = Object.fromEntries(Object.keys(RATE_LIMITS).map((name) => [name, 10_000])) as Record<RateClass, number>;

describe("a checkout under a mandate", () => {
  const oneProcess = "the second process is the test's own";
  let api: TestApi;
  let second: { url: string; stop(): Promise<void> };
  let route: FaultyRoute;
  let victim: TestApi;
  let market: Market;

  before(async () => {
    const limits = limitsWith(ENOUGH);
    api = await startTestApi({ oneProcess, runsLoops: false, env: { limits } });
    const { env, connection } = api.container;
    const timings = { indexWaitMs: 60_000, answerLimitMs: 120_000 };
    second = await startSecondProcess({ env, databaseName: connection.name, timings, search: false });
    route = await faultyDatabase((await readStack()).mongodbUri);
    victim = await startTestApi({ oneProcess, databaseName: connection.name, env: { limits, mongodbUri: route.url } });
    market = await openMarket(api, await openChain("base-sepolia"), { price: PRICE });
  });
  after(async () => {
    await victim.stop();
    await second.stop();
    await api.close();
    await route.close();
  });

  const buyerWith = (terms: Partial<MandateFields>) => withMandate(api, market.buyer, terms);
  const ask = (buyer: Pick<TestAgent, "apiKey">, fields: object = {}, on = api.ownUrl) =>
    fetch(`${on}/api/v1/checkout`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": buyer.apiKey },
      body: JSON.stringify({ serviceId: market.serviceId, paymentMethod: "usdc", ...fields }),
    }).then(async (answer) => ({ status: answer.status, body: (await answer.json()) as any }));
  const processOf = (n: number) => (n % 2 === 0 ? api.ownUrl : second.url);
  const transactions = () => api.container.features.transactions.models.transactions;
  const mandates = () => mandateModel(api.container.connection);
  const spentOf = async ({ keyId }: { keyId: string }) => Number((await mandates().findById(keyId))?.spentUsd) / 1e6;
  const spentToday = async ({ keyId }: { keyId: string }) =>
    Number((await mandates().findById(keyId))?.spentTodayUsd) / 1e6;
  const dealsOf = ({ keyId }: { keyId: string }, fields: object = {}) =>
    transactions().countDocuments({ "mandate.id": keyId, ...fields });

  function assertExceeded({ status, body }: Pick<Answer, "status" | "body">, bound: string): void {
    assert.deepEqual([status, body.code, body.details?.bound], [403, "mandate_exceeded", bound], JSON.stringify(body));
  }

  /** Expires what its quote's end has passed, as the follower does. */
  const expire = (headTimestamp: number) => {
    const { connection } = api.container;
    const parts = { connection, transactions: transactions(), ledger: createMandateLedger(connection) };
    return expireCounted(parts, "base-sepolia", headTimestamp, new Date());
  };
  const quoteEndOf = async (transactionId: string) =>
    ((await transactions().findById(transactionId))?.quoteExpiresAt ?? 0) + EXPIRY_MARGIN_SECONDS + 1;

  it("doesn't bind a page's session, whose every spend the wallet signs", async () => {
    const page = await signIn(api, market.buyer);
    const body = { serviceId: market.serviceId, paymentMethod: "usdc" };
    const bought = await page.request("POST", "/api/v1/checkout", { body });
    assert.strictEqual(bought.status, 200, bought.text);
    const record = await transactions().findById(bought.body.data.transactionId).lean();
    assert.isUndefined(record?.mandate);
    const reading = await signIn(api, market.buyer, { scopes: "read" });
    assertError(await reading.request("POST", "/api/v1/checkout", { body }), 403, "scope_not_granted");
  });

  it("is allowed up to each bound of money and refused above it, with what is left and when", async () => {
    const perDeal = await buyerWith({ perDealUsd: "2.5" });
    assert.strictEqual((await ask(perDeal)).status, 200);
    assertExceeded(await ask(perDeal, { quantity: 2 }), "perDealUsd");
    assert.strictEqual((await ask(perDeal)).status, 200);

    const total = await buyerWith({ totalUsd: "7.499999" });
    assert.strictEqual((await ask(total, { quantity: 2 })).status, 200);
    const refused = await ask(total);
    assertExceeded(refused, "totalUsd");
    assert.deepEqual(refused.body.details.left, { perDealUsd: "2.499999", todayUsd: "2.499999", totalUsd: "2.499999" });
    assert.strictEqual(refused.body.details.askedUsd, "2.5");
    assert.strictEqual(refused.body.details.dayEndsAt, new Date(Math.ceil(Date.now() / DAY_MS) * DAY_MS).toISOString());

    const perDay = await buyerWith({ perDayUsd: "5" });
    assert.strictEqual((await ask(perDay)).status, 200);
    assert.strictEqual((await ask(perDay)).status, 200);
    assertExceeded(await ask(perDay), "perDayUsd");
    assert.strictEqual(await spentOf(perDay), 5);
    assert.strictEqual(await dealsOf(perDay), 2);
    assert.strictEqual((await ask(market.buyer)).status, 200, "a key without a mandate can do what it could");
  });

  it("is held to categories, sellers, networks and criteria", async () => {
    const { walletAddress: seller } = market.seller;
    const { walletAddress: other } = market.buyer;
    const cases: [Partial<MandateFields>, object, string | undefined][] = [
      [{ categories: ["risk_assessment", "accounting"] }, {}, undefined],
      [{ categories: ["accounting"] }, {}, "categories"],
      [{ sellers: [other, seller] }, {}, undefined],
      [{ sellers: [other] }, {}, "sellers"],
      [{ networks: ["base-sepolia"] }, {}, undefined],
      [{ networks: ["base"] }, {}, "networks"],
      [{ requireCriteria: true }, { criteria: { checks: ["It has a title."] } }, undefined],
      [{ requireCriteria: true }, { criteria: { schema: { type: "object" } } }, undefined],
      [{ requireCriteria: true }, { criteria: { checks: [] } }, "requireCriteria"],
      [{ requireCriteria: true }, {}, "requireCriteria"],
    ];
    for (const [terms, fields, bound] of cases) {
      const buyer = await buyerWith(terms);
      const answer = await ask(buyer, fields);
      if (bound === undefined) assert.strictEqual(answer.status, 200, JSON.stringify([terms, answer.body]));
      else assertExceeded(answer, bound);
      assert.strictEqual(await spentOf(buyer), bound === undefined ? PRICE : 0);
    }
  });

  it("needs the scope to buy", async () => {
    const reader = await buyerWith({ scopes: ["read"] });
    const answer = await api.request("POST", "/api/v1/checkout", {
      key: reader.apiKey,
      body: { serviceId: market.serviceId, paymentMethod: "usdc" },
    });
    assertError(answer, 403, "scope_not_granted");
  });

  for (const [bound, terms] of [
    ["perDayUsd", { perDayUsd: "12.5" }],
    ["totalUsd", { totalUsd: "14.9" }],
  ] as const) {
    it(`raced twenty times over two processes against room for five, is bought five times (${bound})`, async () => {
      const buyer = await buyerWith(terms);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          ask(buyer, n % 4 < 2 ? {} : { intentId: `race-${bound}-${n}`, again: true }, processOf(n)),
        ),
      );
      const bought = answers.filter(({ status }) => status === 200);
      for (const answer of answers) if (answer.status !== 200) assertExceeded(answer, bound);
      assert.lengthOf(bought, 5);
      assert.deepEqual([await spentOf(buyer), await dealsOf(buyer)], [12.5, 5]);
    });
  }

  it("killed at any of its writes, is counted with its deal or not at all", async () => {
    const buyer = await buyerWith({ totalUsd: "1000" });
    let number = 0;
    await killAtEachWrite({
      route,
      prepare: () => Promise.resolve((number += 1)),
      work: () => ask(buyer, { intentId: `killed-${number}`, again: true }, victim.ownUrl),
      finish: async (what) => {
        assert.strictEqual(await spentOf(buyer), PRICE * (await dealsOf(buyer)), what);
        const answer = await ask(buyer, { intentId: `killed-${number}`, again: true });
        assert.strictEqual(answer.status, 200, `${what}: ${JSON.stringify(answer.body)}`);
        assert.strictEqual(await dealsOf(buyer), number, what);
        assert.strictEqual(await spentOf(buyer), PRICE * number, what);
      },
    });
  });

  it("is released once when it expires, whoever expires it", async () => {
    const buyer = await buyerWith({ totalUsd: "5" });
    const first = await ask(buyer);
    assert.strictEqual((await ask(buyer)).status, 200);
    assertExceeded(await ask(buyer), "totalUsd");
    const end = await quoteEndOf(first.body.data.transactionId);
    await transactions().updateOne({ _id: first.body.data.transactionId }, { $inc: { quoteExpiresAt: -10_000 } });
    await Promise.all([expire(end - 10_000), expire(end - 10_000), expire(end - 10_000)]);
    assert.deepEqual([await spentOf(buyer), await spentToday(buyer)], [PRICE, PRICE]);
    const record = await transactions().findById(first.body.data.transactionId).lean();
    assert.deepEqual([record?.status, record?.expiredBy, record?.mandate?.counted], ["expired", "quote", false]);
    assert.strictEqual((await ask(buyer)).status, 200);
    assertExceeded(await ask(buyer), "totalUsd");
  });

  it("that is funded after its release counts again, above the bound, and closes the mandate", async () => {
    const buyer = await buyerWith({ totalUsd: "2.5" });
    const late = await ask(buyer);
    assert.strictEqual(late.status, 200);
    const { transactionId } = late.body.data;
    const receipt = await createEscrow({ ...market, buyer }, late.body.data);
    // As if the chain had been read late: the quote's end has passed, and no funding was seen.
    const end = await quoteEndOf(transactionId);
    await transactions().updateOne({ _id: transactionId }, { $inc: { quoteExpiresAt: -10_000 } });
    await expire(end - 10_000);
    assert.strictEqual(await spentOf(buyer), 0);
    assert.strictEqual((await ask(buyer)).status, 200);
    assert.strictEqual(await spentOf(buyer), PRICE);
    await transactions().updateOne({ _id: transactionId }, { $inc: { quoteExpiresAt: 10_000 } });
    await fund({ ...market, buyer }, late.body.data, receipt.transactionHash);
    const follower = api.container.features.chainFollower.followers["base-sepolia"];
    await until("the follower has read the funding", async () => {
      await follower.step();
      return (await transactions().findById(transactionId).lean())?.status === "funded";
    });
    assert.strictEqual(await spentOf(buyer), 2 * PRICE);
    assertExceeded(await ask(buyer), "closed");
    const { body } = await api.request("GET", "/api/v1/auth/keys", { key: market.buyer.apiKey });
    const listed = body.data.find(({ keyId }: { keyId: string }) => keyId === buyer.keyId);
    assert.deepEqual([listed.mandate.closed, listed.mandate.left.totalUsd], [true, "0"]);
    await follower.step();
    assert.strictEqual(await spentOf(buyer), 2 * PRICE, "once");
  });

  it("is refused once its key was revoked, even if it was admitted before", async () => {
    const buyer = await buyerWith({});
    await mandates().updateOne({ _id: buyer.keyId }, { endedAt: new Date() });
    assertExceeded(await ask(buyer), "ended");
    assert.strictEqual(await dealsOf(buyer), 0);
  });
});

describe("a mandate's day", () => {
  const clock = movedClock();
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ clock, env: { limits: limitsWith(ENOUGH) } });
  });
  after(() => api.close());

  it("ends at midnight UTC: the next one has the whole amount again, within the total", async () => {
    const market = await openMarket(
      { ...api, registerAgent: () => api.registerAgent({ message: { issuedAt: clock.now() } }) },
      await openChain("base-sepolia"),
      { price: PRICE },
    );
    const terms = { perDayUsd: "5", totalUsd: "7.5", notAfter: Math.floor(clock.now().getTime() / 1_000) + 3 * 86_400 };
    const buyer = await withMandate(api, market.buyer, terms, clock.now());
    const { serviceId } = market;
    const ask = () =>
      api.request("POST", "/api/v1/checkout", { key: buyer.apiKey, body: { serviceId, paymentMethod: "usdc" } });
    const codes = async () => [(await ask()).body?.details?.bound, (await ask()).body?.details?.bound];
    assert.deepEqual(await codes(), [undefined, undefined]);
    assert.deepEqual(await codes(), ["perDayUsd", "perDayUsd"]);
    clock.set(new Date(Math.ceil(clock.now().getTime() / DAY_MS) * DAY_MS - 1));
    assert.deepEqual(await codes(), ["perDayUsd", "perDayUsd"]);
    clock.pass(1);
    assert.deepEqual(await codes(), [undefined, "totalUsd"]);
  });
});
