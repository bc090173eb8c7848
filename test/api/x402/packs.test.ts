// Prepaid packs of calls (decision 46).
import { isDeepStrictEqual } from "node:util";

import { wrapFetchWithPayment } from "x402-fetch";
import { assert } from "chai";

import { startFacilitator } from "../../fixtures/facilitator.ts";
import {
  CALL_UNITS,
  headerOfTransfer,
  headerV1,
  headerV2,
  pay,
  signTransfer,
  startPaidApi,
} from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import { until } from "../../fixtures/until.ts";

const PACKS = "/api/v1/x402/packs";
const API_PACK = `${PACKS}/api-10`;
const SERVICES = "/api/v1/services";
const PACK_UNITS = 10n * CALL_UNITS.api;

describe("prepaid packs", () => {
  let paid: PaidApi;
  let agent: TestAgent;

  before(async () => {
    paid = await startPaidApi();
  });
  beforeEach(async () => {
    agent = await paid.richAgent();
  });
  after(() => paid.close());

  const buy = (headers: Record<string, string> = {}) =>
    paid.api.request("POST", API_PACK, { key: agent.apiKey, body: {}, headers });
  const usage = async () => (await paid.api.request("GET", "/api/v1/auth/usage", { key: agent.apiKey })).body.data;
  const prepaid = async (): Promise<Record<string, number>> => (await usage()).prepaid;
  const read = () => paid.api.request("GET", SERVICES, { key: agent.apiKey });

  it("are listed with class, calls and price, without a discount [D23] [D46]", async () => {
    const { body } = await paid.api.request("GET", PACKS);
    assert.deepEqual(body.data, [
      { id: "api-10", packId: "api-10", class: "api", calls: 10, price: "$0.001" },
      { id: "message-10", packId: "message-10", class: "message", calls: 10, price: "$0.001" },
      { id: "search-10", packId: "search-10", class: "search", calls: 10, price: "$0.1" },
      { id: "transaction-10", packId: "transaction-10", class: "transaction", calls: 10, price: "$0.001" },
    ]);
    assert.isNull(body.nextCursor);
  });

  it("ask for their price, and an unknown one doesn't exist", async () => {
    const { status, body } = await buy();
    assert.strictEqual(status, 402);
    assert.strictEqual(body.payment.price, "$0.001");
    assert.strictEqual(body.accepts[0].maxAmountRequired, String(PACK_UNITS));
    assert.isUndefined(body.budget);
    const unknown = await paid.api.request("POST", `${PACKS}/api-11`, { key: agent.apiKey, body: {} });
    assert.strictEqual(unknown.status, 404);
  });

  it("are bought by an official client, appear in the usage and are drawn before any 402 [D46]", async () => {
    const call = wrapFetchWithPayment(fetch, paid.chain.walletOf(agent.account) as never);
    const headers = { "x-api-key": agent.apiKey };
    const answer = await call(paid.url + API_PACK, { method: "POST", headers });
    assert.strictEqual(answer.status, 200);
    assert.deepEqual(await prepaid(), { api: 10, message: 0, search: 0, transaction: 0 });
    const statuses = [];
    for (let index = 0; index < 11; index += 1) statuses.push((await read()).status);
    assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 200), 402]);
    // The usage is read from a majority of the members, and the door's writes are confirmed by one.
    await until("the usage shows no prepaid call", async () => (await prepaid())["api"] === 0);
    assert.strictEqual(1_000_000_000n - (await paid.chain.usdcOf(agent.walletAddress)), PACK_UNITS);
  });

  it("are counted in the usage call by call, as are calls paid one by one [S4.207] [D35]", async () => {
    /** A served call isn't shown while its write is under way. */
    const shows = (...expected: [daily: number, monthly: number, used: number]) =>
      until(`the usage shows ${expected.join(", ")}`, async () => {
        const { abuse, budgets } = await usage();
        return isDeepStrictEqual([abuse.dailyUsage, abuse.monthlyUsage, budgets.api.used], expected);
      });
    const payment = await pay(paid, agent.account, { value: CALL_UNITS.api });
    const single = { key: agent.apiKey, headers: headerOfTransfer(payment, agent.walletAddress) };
    assert.strictEqual((await read()).status, 402);
    await shows(0, 0, 0);
    assert.strictEqual((await paid.api.request("GET", SERVICES, single)).status, 200);
    await shows(1, 1, 0);
    const pack = headerOfTransfer(await pay(paid, agent.account, { value: PACK_UNITS }), agent.walletAddress);
    assert.strictEqual((await buy(pack)).status, 200);
    await shows(1, 1, 0);
    for (let index = 0; index < 10; index += 1) assert.strictEqual((await read()).status, 200);
    await shows(11, 11, 0);
    assert.strictEqual((await read()).status, 402);
    await shows(11, 11, 0);
  });

  it("take every kind of proof, for the exact price, once", async () => {
    const few = await signTransfer(paid, agent.account, { value: PACK_UNITS - 1n });
    assert.strictEqual((await buy(headerV1(few))).body.details.reason, "wrong_amount");
    const proofs = [
      headerOfTransfer(await pay(paid, agent.account, { value: PACK_UNITS }), agent.walletAddress),
      headerV1(await signTransfer(paid, agent.account, { value: PACK_UNITS })),
      headerV2(paid, await signTransfer(paid, agent.account, { value: PACK_UNITS })),
    ];
    for (const proof of proofs) {
      // While the first one pays, the others are told to wait; afterwards they get its answer.
      const answers = await Promise.all([buy(proof), buy(proof), buy(proof)]);
      assert.include(
        answers.map(({ status }) => status),
        200,
      );
      const refused = answers.filter(({ status }) => status !== 200);
      for (const { body } of refused) {
        assert.include(["proof_in_use", "settlement_pending"], body.details.reason ?? body.code);
      }
      assert.strictEqual((await buy(proof)).status, 200);
    }
    assert.strictEqual((await prepaid())["api"], 30);
  });

  it("are credited once by the worker, if the settlement was pending and the buyer didn't come back", async () => {
    const facilitator = await startFacilitator("base-sepolia");
    facilitator.intercept = (path) => Promise.resolve(path === "/settle" ? null : undefined);
    const other = await startPaidApi({ x402: { facilitatorUrl: facilitator.url } });
    try {
      const buyer = await other.richAgent();
      const proof = headerV1(await signTransfer(other, buyer.account, { value: PACK_UNITS }));
      const request = () => other.api.request("POST", API_PACK, { key: buyer.apiKey, body: {}, headers: proof });
      const credited = async (): Promise<number> =>
        (await other.api.request("GET", "/api/v1/auth/usage", { key: buyer.apiKey })).body.data.prepaid.api;
      assert.strictEqual((await request()).body.code, "settlement_pending");
      assert.strictEqual(await credited(), 0);
      facilitator.intercept = undefined;
      const { finish } = other.api.container.features.x402;
      await Promise.all([finish(), finish()]);
      assert.strictEqual(await credited(), 10);
      assert.strictEqual((await request()).status, 200);
      assert.strictEqual(await credited(), 10);
    } finally {
      await other.close();
      await facilitator.close();
    }
  });
});
