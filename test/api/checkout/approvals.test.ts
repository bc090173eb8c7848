// Checkouts above a mandate that the wallet approves: every refusal (decision 57).
import { assert } from "chai";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { RATE_LIMITS } from "../../../api/config/constants.ts";
import type { RateClass } from "../../../api/config/constants.ts";
import { createMandateLedger } from "../../../api/features/mandates/ledger.ts";
import { canonicalJson } from "../../../api/lib/canonical-json.ts";
import { sha256Hex } from "../../../api/lib/ids.ts";
import { ApprovalRequiredError, collect, Marketplace, RefusedError } from "../../../sdk/src/index.ts";
import { callerSigner } from "../../../tools/src/index.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestApi } from "../../fixtures/api.ts";
import { approvalRequests } from "../../fixtures/approval-requests.ts";
import { grantBody } from "../../fixtures/approvals.ts";
import { openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { PUBLIC_URL } from "../../fixtures/environment.ts";
import { limitsWith, movedClock } from "../../fixtures/limits.ts";
import type { MandateFields } from "../../fixtures/mandates.ts";
import { signIn } from "../../fixtures/page-session.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { openChain } from "../../fixtures/stack.ts";
import { Caller } from "../../fixtures/tools.ts";
import { startSecondProcess } from "../../fixtures/two-processes.ts";

/** Price of the market's service. */
const PRICE = 2.5;
const DAY_SECONDS = 86_400;
const ENOUGH = Object.fromEntries(Object.keys(RATE_LIMITS).map((name) => [name, 10_000])) as Record<RateClass, number>;
const OTHER_HASH = `0x${"12".repeat(32)}` as const;

describe("an approval", () => {
  const oneProcess = "the second process is the test's own";
  const clock = movedClock();
  let api: TestApi;
  let second: { url: string; stop(): Promise<void> };
  let market: Market;

  before(async () => {
    const limits = limitsWith(ENOUGH);
    api = await startTestApi({ oneProcess, runsLoops: false, clock, env: { limits } });
    const { env, connection } = api.container;
    const timings = { indexWaitMs: 60_000, answerLimitMs: 120_000 };
    second = await startSecondProcess({ env, databaseName: connection.name, timings, search: false });
    market = await openMarket(api, await openChain("base-sepolia"), { price: PRICE });
  });
  after(async () => {
    await second.stop();
    await api.close();
  });
  beforeEach(() => {
    clock.set(new Date());
  });

  const requests = approvalRequests(() => ({ api, market }));
  const { buyerWith, call, ask, owner, grant, decline, list, statusOf } = requests;
  const { records, mandates, spentOf, dealsOf, eventsOf, asked, granted } = requests;

  function assertExceeded({ status, body }: Pick<Answer, "status" | "body">, bound: string): void {
    assert.deepEqual([status, body.code, body.details?.bound], [403, "mandate_exceeded", bound], JSON.stringify(body));
  }

  for (const [bound, terms] of [
    ["perDealUsd", { perDealUsd: "2.499999" }],
    ["perDayUsd", { perDealUsd: "5", perDayUsd: "2.499999" }],
    ["totalUsd", { perDealUsd: "5", totalUsd: "2" }],
  ] as const) {
    it(`is asked for above ${bound}, granted by the wallet, used once, and counted`, async () => {
      const buyer = await buyerWith(terms);
      const headers = { "idempotency-key": `approval-${bound}` };
      const first = await ask(buyer, {}, undefined, headers);
      assert.strictEqual(first.status, 202, first.text);
      const { approval, left, dayEndsAt } = first.body.data;
      assert.deepInclude(approval, {
        status: "open",
        keyId: buyer.keyId,
        network: "base-sepolia",
        serviceTitle: "Token risk report",
        sellerAddress: market.seller.walletAddress,
        bound,
        askedUsd: "2.5",
        maxUsd: null,
        transactionId: null,
        decidedAt: null,
      });
      assert.strictEqual(approval.request.serviceId, market.serviceId);
      assert.strictEqual(approval.requestHash, `0x${sha256Hex(canonicalJson(approval.request))}`);
      assert.strictEqual(left.perDealUsd, bound === "totalUsd" ? "2" : "2.499999");
      assert.isAbove(Date.parse(dayEndsAt), Date.now());
      const repeated = await ask(buyer, {}, second.url, headers);
      assert.deepEqual([repeated.status, repeated.body.data.approval.id], [202, approval.id]);
      assert.strictEqual(await dealsOf(buyer), 0);

      const answer = await grant(approval.id, await grantBody(owner().account, approval));
      assert.deepInclude(answer.body.data, { status: "granted", maxUsd: "2.5" }, answer.text);
      const bought = await ask(buyer, {}, undefined, headers);
      assert.strictEqual(bought.status, 200, bought.text);
      const replayed = await ask(buyer, {}, undefined, headers);
      assert.strictEqual(replayed.text, bought.text);
      assert.strictEqual(replayed.headers.get("idempotency-replayed"), "true");
      assert.deepEqual([await spentOf(buyer), await dealsOf(buyer)], [PRICE, 1]);
      const [listed] = await list(buyer.apiKey);
      assert.deepInclude(listed, { id: approval.id, status: "used", transactionId: bought.body.data.transactionId });
      const again = await asked(buyer);
      assert.notStrictEqual(again.id, approval.id, "one checkout alone");
      assert.deepEqual(await eventsOf(approval.id), ["approval.requested", "approval.granted"]);
    });
  }

  it("lifts the amounts alone: category, seller, network and criteria still refuse, as everything does with `refuse`", async () => {
    for (const [terms, bound] of [
      [{ categories: ["accounting"] }, "categories"],
      [{ sellers: [market.buyer.walletAddress] }, "sellers"],
      [{ networks: ["base"] }, "networks"],
      [{ requireCriteria: true }, "requireCriteria"],
      [{ onExceeded: "refuse" }, "perDealUsd"],
    ] as const) {
      assertExceeded(await ask(await buyerWith(terms as Partial<MandateFields>)), bound);
    }
    const buyer = await buyerWith();
    await granted(buyer);
    await mandates().updateOne({ _id: buyer.keyId }, { "terms.requireCriteria": true });
    assertExceeded(await ask(buyer), "requireCriteria");
  });

  it("is for the same arguments of the same key alone", async () => {
    const buyer = await buyerWith();
    const other = await buyerWith();
    const { id } = await granted(buyer, { intentId: "one-purchase" });
    for (const answer of [
      await ask(buyer),
      await ask(buyer, { intentId: "another-purchase" }),
      await ask(buyer, { intentId: "one-purchase", quantity: 2 }),
      await ask(other, { intentId: "one-purchase" }),
    ]) {
      assert.strictEqual(answer.status, 202, answer.text);
      assert.notStrictEqual(answer.body.data.approval.id, id);
    }
    const bought = await ask(buyer, { intentId: "one-purchase" });
    assert.strictEqual(bought.status, 200, bought.text);
    const repeated = await ask(buyer, { intentId: "one-purchase" });
    assert.strictEqual(repeated.body.data.transactionId, bought.body.data.transactionId, "the intent's deal");
  });

  it("takes the wallet's signature of exactly this, and names what is wrong", async () => {
    const buyer = await buyerWith();
    const approval = await asked(buyer);
    const wallet = owner().account;
    const latest = Math.floor(Date.parse(approval.expiresAt) / 1_000);
    const wrong: [field: string, changed: object][] = [
      ["host", { host: "elsewhere.example" }],
      ["keyId", { keyId: "key_of_another" }],
      ["network", { network: "base" }],
      ["requestHash", { requestHash: OTHER_HASH }],
      ["expiresAt", { expiresAt: Math.floor(Date.now() / 1_000) - 1 }],
      ["expiresAt", { expiresAt: latest + 1 }],
    ];
    for (const [field, changed] of wrong) {
      assertInvalid(await grant(approval.id, await grantBody(wallet, approval, changed)), `body.${field}`);
    }
    const signed: object[] = [
      { id: "apr_another" },
      { host: "elsewhere.example" },
      { keyId: "key_of_another" },
      { network: "base" },
      { requestHash: OTHER_HASH },
      { maxUsd: "2.499999" },
      { expiresAt: latest - 1 },
    ];
    for (const fields of signed) {
      const body = await grantBody(wallet, approval, {}, fields);
      assertError(await grant(approval.id, body), 400, "signature_invalid");
    }
    const stranger = privateKeyToAccount(generatePrivateKey());
    const bodies = [
      await grantBody(stranger, approval),
      await grantBody(market.seller.account, approval),
      { ...(await grantBody(wallet, approval)), signature: `0x${"00".repeat(65)}` },
    ];
    for (const body of bodies) assertError(await grant(approval.id, body), 400, "signature_invalid");
    const right = await grantBody(wallet, approval);
    assertError(await grant(approval.id, right, market.seller.apiKey), 404, "not_found");
    assertError(await grant(approval.id, right, buyer.apiKey), 403, "scope_not_granted");
    assertError(await decline(approval.id, buyer.apiKey), 403, "scope_not_granted");
    assert.strictEqual(await statusOf(approval.id), "open");
    assert.strictEqual((await ask(buyer)).status, 202);
    assert.deepEqual(await eventsOf(approval.id), ["approval.requested"]);
  });

  it("is granted on a page by the wallet's signature alone, and declined by a session that acts", async () => {
    const approval = await asked(await buyerWith());
    const path = `/api/v1/approvals/${approval.id}`;
    const [reading, acting] = [await signIn(api, owner(), { scopes: "read" }), await signIn(api, owner())];
    const refused = await reading.request("DELETE", path);
    assertError(refused, 403, "scope_not_granted");
    assert.deepEqual(refused.body.details, { accepted: ["buy"], granted: ["read"] });
    const foreign = await grantBody(market.seller.account, approval);
    assertError(await acting.request("POST", path, { body: foreign }), 400, "signature_invalid");
    assert.strictEqual(await statusOf(approval.id), "open");
    const body = await grantBody(owner().account, approval);
    const answers = [await reading.request("POST", path, { body }), await acting.request("DELETE", path)];
    assert.deepEqual(
      answers.map((answer) => answer.body.data?.status),
      ["granted", "declined"],
    );
  });

  it("can't be granted again by a replayed signature, neither this one nor the next of the same request", async () => {
    const buyer = await buyerWith();
    const approval = await asked(buyer);
    const body = await grantBody(owner().account, approval);
    assert.strictEqual((await grant(approval.id, body)).status, 200);
    const replayed = await grant(approval.id, body);
    assertError(replayed, 409, "approval_not_open");
    assert.strictEqual(replayed.body.details.status, "granted");
    assert.strictEqual((await ask(buyer)).status, 200);
    assertError(await grant(approval.id, body), 409, "approval_not_open");
    const next = await asked(buyer);
    const refused = await grant(next.id, { ...body, expiresAt: body.expiresAt });
    assertError(refused, 400, "signature_invalid");
    assert.strictEqual((await ask(buyer)).status, 202);
    assert.strictEqual(await spentOf(buyer), PRICE);
  });

  it("of less than the price asks again, and lets a cheaper quote through", async () => {
    const buyer = await buyerWith();
    const low = await granted(buyer, {}, { maxUsd: "2.49" });
    const next = await asked(buyer);
    assert.notStrictEqual(next.id, low.id);
    assert.strictEqual(await statusOf(low.id), "replaced");
    await grant(next.id, await grantBody(owner().account, next, { maxUsd: "2.6" }));
    assert.strictEqual((await ask(buyer)).status, 200);
    assert.strictEqual(await spentOf(buyer), PRICE, "the quote counts, not what was approved");
  });

  it("is used by the checkout that fits the mandate after all", async () => {
    const buyer = await buyerWith({ perDealUsd: "5", perDayUsd: "2.5" });
    assert.strictEqual((await ask(buyer)).status, 200);
    const { id } = await granted(buyer);
    await mandates().updateOne({ _id: buyer.keyId }, { "terms.perDayUsd": "7500000" });
    assert.strictEqual((await ask(buyer)).status, 200);
    assert.strictEqual(await statusOf(id), "used");
    assert.strictEqual((await ask(buyer)).status, 200, "the mandate's own room");
    assert.strictEqual((await ask(buyer)).status, 202);
    assert.strictEqual(await spentOf(buyer), 3 * PRICE);
  });

  it("that was declined, or taken back, refuses its request until it ends, and then may be asked for again", async () => {
    const buyer = await buyerWith();
    const approval = await asked(buyer);
    const answer = await decline(approval.id);
    assert.deepEqual([answer.status, answer.body.data?.status], [200, "declined"], answer.text);
    assert.strictEqual((await decline(approval.id)).status, 200, "a repeat changes nothing");
    assertError(await grant(approval.id, await grantBody(owner().account, approval)), 409, "approval_not_open");
    assertExceeded(await ask(buyer), "declined");
    assert.deepEqual(await eventsOf(approval.id), ["approval.requested", "approval.declined"]);

    const other = await buyerWith();
    const { id } = await granted(other);
    assert.strictEqual((await decline(id)).status, 200);
    assertExceeded(await ask(other), "declined");
    assert.deepEqual([await dealsOf(other), await spentOf(other)], [0, 0]);

    await records().updateOne({ _id: approval.id }, { expiresAt: new Date(0) });
    assert.notStrictEqual((await asked(buyer)).id, approval.id);
  });

  it("ends after 24 hours, open or granted", async () => {
    const notAfter = Math.floor(Date.now() / 1_000) + 3 * DAY_SECONDS;
    const buyer = await buyerWith({ notAfter });
    const open = await asked(buyer);
    const { id } = await granted(buyer, { quantity: 2 });
    const body = await grantBody(owner().account, open);
    clock.pass(DAY_SECONDS * 1_000);
    assert.deepEqual([await statusOf(open.id), await statusOf(id)], ["expired", "expired"]);
    assertError(await grant(open.id, body), 409, "approval_not_open");
    assertError(await decline(open.id), 409, "approval_not_open");
    const next = await asked(buyer, { quantity: 2 });
    assert.notStrictEqual(next.id, id);
    const soon = await granted(buyer, {}, { expiresAt: Math.floor(clock.now().getTime() / 1_000) + 60 });
    clock.pass(60_000);
    assert.strictEqual(await statusOf(soon.id), "expired", "the wallet's own end counts");
    assert.strictEqual((await ask(buyer)).status, 202);
  });

  it("is void once its key is revoked or its mandate closed", async () => {
    const [revoked, closed] = [await buyerWith(), await buyerWith()];
    const open = await asked(revoked);
    const kept = await granted(revoked, { quantity: 2 });
    const late = await granted(closed);
    const path = `/api/v1/auth/keys/${revoked.keyId}`;
    assert.strictEqual((await call("DELETE", path, owner().apiKey)).status, 200);
    await mandates().updateOne({ _id: closed.keyId }, { closedAt: new Date() });
    for (const { id } of [open, kept, late]) {
      assert.strictEqual(await statusOf(id), "void");
      assertError(await decline(id), 409, "approval_not_open");
    }
    assertError(await grant(open.id, await grantBody(owner().account, open)), 409, "approval_not_open");
    assertExceeded(await ask(closed), "closed");
    // A checkout that was admitted before the revocation.
    const { connection } = api.container;
    const order = { requestHash: kept.requestHash, transactionId: "txn_late" };
    const session = await connection.startSession();
    const refusal = await createMandateLedger(connection)
      .reserve(revoked.keyId, { usd: 2_500_000n, network: "base-sepolia" }, new Date(), session, order)
      .catch((error: unknown) => error);
    await session.endSession();
    assert.strictEqual((refusal as { details?: { bound: string } }).details?.bound, "ended");
  });

  it("of another agent is hidden; a key with a mandate sees its own, page by page", async () => {
    const [buyer, other] = [await buyerWith(), await buyerWith()];
    const ids = [];
    for (const quantity of [1, 2, 3]) {
      clock.pass(1);
      ids.unshift((await asked(buyer, { quantity })).id);
    }
    const own = (await asked(other)).id;
    assert.deepEqual(
      (await list(other.apiKey)).map(({ id }) => id),
      [own],
    );
    assert.deepEqual(await list(market.seller.apiKey), []);
    assert.includeMembers(
      (await list(owner().apiKey)).map(({ id }) => id),
      [...ids, own],
    );
    const first = await call("GET", "/api/v1/approvals?limit=2", buyer.apiKey);
    const rest = await call("GET", `/api/v1/approvals?cursor=${first.body.nextCursor}`, buyer.apiKey);
    const seen = [...first.body.data, ...rest.body.data].map(({ id }: { id: string }) => id);
    assert.deepEqual([seen, rest.body.nextCursor], [ids, null]);
  });

  it("[D57] is an error of the client and a refusal of `hire` that name it, and the client signs it", async () => {
    const client = new Marketplace({ url: api.ownUrl, publicUrl: PUBLIC_URL });
    const wallet = market.chain.walletOf(owner().account);
    const human = client.agent({ apiKey: owner().apiKey, wallet });
    const mandated = await buyerWith();
    const agent = client.agent({ apiKey: mandated.apiKey, wallet });
    const { serviceId } = market;
    const error = await rejectionOf(agent.checkout({ serviceId }), ApprovalRequiredError);
    assert.deepInclude(error.approval, { askedUsd: "2.5", keyId: mandated.keyId });
    const ofKey = async () => (await collect(human.approvals.list())).filter(({ keyId }) => keyId === mandated.keyId);
    assert.deepEqual(await ofKey(), [error.approval]);
    const forged = { ...error.approval, request: { ...error.approval.request, quantity: 9 } };
    await rejectionOf(human.approvals.grant(forged), RefusedError);
    const until = new Date(Date.now() + 3_600_000);
    const signed = await human.approvals.grant(error.approval, { maxUsd: 2_500_001n, until });
    assert.deepInclude(signed, { status: "granted", maxUsd: "2.500001" });
    await agent.checkout({ serviceId });
    assert.strictEqual(await spentOf(mandated), PRICE);

    clock.pass(1);
    const caller = new Caller({ market: client, agent, signer: callerSigner });
    const order = { intentId: "by-a-tool", serviceId, maxPrice: "2.50", again: true, waitSeconds: 0 };
    const { code, message, whatToDo } = await caller.refusal("hire", order);
    const [newest] = await ofKey();
    assert.ok(newest);
    assert.deepEqual([code, message.split(":")[0]], ["approval_required", newest.id]);
    assert.include(whatToDo, `/api/v1/approvals/${newest.id}`);
    assert.strictEqual((await caller.refusal("hire", order)).message, message, "a repeat asks for nothing else");
    await human.approvals.grant(newest);
    assert.strictEqual((await caller.ask("hire", order))["result"], "signature_required");
    const refused = await rejectionOf(agent.checkout({ serviceId, quantity: 2 }), ApprovalRequiredError);
    const { id } = refused.approval;
    assert.strictEqual((await human.approvals.decline(id)).status, "declined");
  });
});
