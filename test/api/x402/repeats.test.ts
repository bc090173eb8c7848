// Payments that have paid for a call and come again (decision 36): no client is asked to pay a second time.
import { randomUUID } from "node:crypto";

import { assert } from "chai";

import { paymentRequiredOutput } from "../../../api/http/payment-required.ts";
import { listingBody } from "../../fixtures/api.ts";
import type { Answer, TestAgent } from "../../fixtures/api.ts";
import { paidCalls } from "../../fixtures/paid-calls.ts";
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
import { keyRequestBody } from "../../fixtures/sign-in.ts";

const SERVICES = "/api/v1/services";
const KINDS = ["transfer", "v1", "v2"] as const;

describe("a payment that has paid for a call", () => {
  let paid: PaidApi;
  let agent: TestAgent;

  before(async () => {
    paid = await startPaidApi();
  });
  beforeEach(async () => {
    agent = await paid.richAgent();
  });
  after(() => paid.close());

  async function proofOf(kind: (typeof KINDS)[number], value = CALL_UNITS.api): Promise<Record<string, string>> {
    if (kind === "transfer") return headerOfTransfer(await pay(paid, agent.account, { value }), agent.walletAddress);
    const payload = await signTransfer(paid, agent.account, { value });
    return kind === "v1" ? headerV1(payload) : headerV2(paid, payload);
  }
  const { create, listings, spent } = paidCalls(() => ({ paid, agent }));
  const receiptOf = ({ headers }: Answer) => headers.get("x-payment-response") ?? headers.get("payment-response");

  /** Asserts the 402 that asks for nothing, and that nothing was paid for it. */
  async function assertAlreadyUsed(answer: Answer): Promise<void> {
    assert.strictEqual(answer.status, 402, answer.text);
    const body = paymentRequiredOutput.parse(answer.body);
    assert.strictEqual(body.code, "payment_verification_failed");
    assert.strictEqual(body.message, "x402 payment verification failed");
    assert.deepEqual(body.details, { reason: "proof_already_used" });
    assert.notProperty(answer.body, "accepts");
    assert.notProperty(answer.body, "x402Version");
    assert.isFalse(answer.headers.has("payment-required"));
    assert.notMatch(body.payment.instructions, /send exactly/i);
    assert.strictEqual(await spent(), CALL_UNITS.api);
  }

  for (const kind of KINDS) {
    it(`gets the stored answer with its receipt for the same call, which runs once (${kind}) [D36]`, async () => {
      const proof = await proofOf(kind);
      const first = await create(proof);
      assert.strictEqual(first.status, 201, first.text);
      for (let repeat = 1; repeat <= 2; repeat += 1) {
        const again = await create(proof);
        assert.deepEqual([again.status, again.text], [201, first.text]);
        assert.isNotNull(receiptOf(first));
        assert.strictEqual(receiptOf(again), receiptOf(first));
      }
      assert.strictEqual(await listings(), 1);
      assert.strictEqual(await spent(), CALL_UNITS.api);
    });

    it(`asks for no other payment for another call, or for one of another price (${kind}) [D36]`, async () => {
      const proof = await proofOf(kind);
      assert.strictEqual((await create(proof)).status, 201);
      await assertAlreadyUsed(await create(proof, "Another title"));
      const search = { key: agent.apiKey, headers: proof };
      await assertAlreadyUsed(await paid.api.request("GET", `${SERVICES}?q=invoices`, search));
      await assertAlreadyUsed(await paid.api.request("POST", "/api/v1/x402/packs/api-10", { ...search, body: {} }));
      assert.strictEqual(await listings(), 1);
    });

    it(`gives its answer to no other key of the same agent (${kind}) [D36]`, async () => {
      const proof = await proofOf(kind);
      assert.strictEqual((await create(proof)).status, 201);
      const body = { ...(await keyRequestBody(agent.account)), revokeOthersAfterSeconds: 3_600 };
      const issued = await paid.api.request("POST", "/api/v1/auth/keys", { body });
      await assertAlreadyUsed(await create(proof, undefined, issued.body.apiKey as string));
      assert.strictEqual((await create(proof)).status, 201);
      assert.strictEqual(await listings(), 1);
    });

    it(`counts for nothing once the answer's day is over (${kind}) [D36]`, async () => {
      const proof = await proofOf(kind);
      assert.strictEqual((await create(proof)).status, 201);
      const { connection } = paid.api.container;
      const claim = await connection.collection("x402_claims").findOne({ agentId: agent.agentId });
      const answers = connection.collection("x402_answers");
      const kept = await answers.findOne({ _id: claim?._id });
      assert.strictEqual(Math.round(((kept?.["expiresAt"] as Date).getTime() - Date.now()) / 3_600_000), 24);
      // MongoDB removes it up to a minute later.
      await answers.updateMany({}, { $set: { expiresAt: new Date(Date.now() - 1_000) } });
      await assertAlreadyUsed(await create(proof));
      assert.strictEqual(await listings(), 1);
    });

    it(`never gives a secret again, and rotates once (${kind}) [D43]`, async () => {
      const rotate = (headers: Record<string, string>) =>
        paid.api.request("POST", "/api/v1/webhooks/secret/rotate", { key: agent.apiKey, body: {}, headers });
      const proof = await proofOf(kind);
      const first = await rotate(proof);
      assert.strictEqual(first.status, 200, first.text);
      await assertAlreadyUsed(await rotate(proof));
      const read = async () =>
        paid.api.request("GET", "/api/v1/webhooks/secret", { key: agent.apiKey, headers: await proofOf(kind) });
      assert.strictEqual((await read()).body.data.version, first.body.data.version);
    });
  }

  it("gets its answer even if its authorisation has ended since [D36]", async () => {
    const later = await startPaidApi({
      clock: { now: () => new Date(Date.now() + 3_600_000) },
      databaseName: paid.api.container.connection.name,
      x402: { payTo: paid.payTo },
    });
    try {
      const proof = await proofOf("v2");
      const first = await create(proof);
      const repeat = { key: agent.apiKey, body: listingBody(), headers: proof };
      const again = await later.api.request("POST", SERVICES, repeat);
      assert.deepEqual([again.status, again.text], [201, first.text]);
      const unused = await later.api.request("POST", SERVICES, { ...repeat, headers: await proofOf("v2") });
      assert.strictEqual(unused.body.details.reason, "expired");
    } finally {
      await later.api.stop();
    }
  });

  it("is another one with another signature or other times, although its nonce is the same [D36]", async () => {
    const payload = await signTransfer(paid, agent.account);
    const first = await create(headerV2(paid, payload));
    assert.strictEqual(first.status, 201, first.text);
    const { nonce, validBefore } = payload.authorization;
    const longer = await signTransfer(paid, agent.account, { nonce, validBefore: Number(validBefore) + 1 });
    const later = await signTransfer(paid, agent.account, { nonce, validAfter: 1, validBefore: Number(validBefore) });
    const forged = { ...payload, signature: longer.signature };
    const changed = [longer, later].map(({ authorization }) => ({ ...payload, authorization }));
    for (const other of [longer, later, forged, ...changed])
      await assertAlreadyUsed(await create(headerV2(paid, other)));
    await assertAlreadyUsed(await create(headerV1(payload)));
    assert.strictEqual((await create(headerV2(paid, payload))).text, first.text);
    assert.strictEqual(await listings(), 1);
  });

  it("doesn't pay for another Idempotency-Key [D36] [D43]", async () => {
    const proof = await proofOf("v1");
    const first = await create({ ...proof, "idempotency-key": randomUUID() });
    assert.strictEqual(first.status, 201, first.text);
    await assertAlreadyUsed(await create({ ...proof, "idempotency-key": randomUUID() }));
    assert.strictEqual((await create(proof)).text, first.text);
    assert.strictEqual(await listings(), 1);
  });

  it("isn't the same call under another If-Match [D36] [D48]", async () => {
    const body = { key: "plan", value: { step: 1 } };
    const write = (headers: Record<string, string>) =>
      paid.api.request("POST", "/api/v1/memory", { key: agent.apiKey, body, headers });
    const proof = await proofOf("v1");
    const first = await write(proof);
    assert.strictEqual(first.status, 201, first.text);
    await assertAlreadyUsed(await write({ ...proof, "if-match": '"1"' }));
    const again = await write(proof);
    assert.deepEqual([again.status, again.text], [201, first.text]);
  });

  it("gets its answer, and the call isn't run again, once the day's budget is back [D36]", async () => {
    const open = await startPaidApi({
      dailyCalls: 3,
      databaseName: paid.api.container.connection.name,
      x402: { payTo: paid.payTo },
    });
    try {
      for (const kind of KINDS) {
        const proof = await proofOf(kind);
        const first = await create(proof, `Paid by ${kind}`);
        assert.strictEqual(first.status, 201, first.text);
        const repeat = { key: agent.apiKey, body: listingBody({ title: `Paid by ${kind}` }), headers: proof };
        const again = await open.api.request("POST", SERVICES, repeat);
        assert.deepEqual([again.status, again.text], [201, first.text]);
      }
      assert.strictEqual(await listings(), KINDS.length);
      assert.strictEqual(await spent(), BigInt(KINDS.length) * CALL_UNITS.api);
    } finally {
      await open.api.stop();
    }
  });

  it("says when to come back while it pays, and asks for no other payment [D36]", async () => {
    const proof = await proofOf("transfer");
    assert.strictEqual((await create(proof)).status, 201);
    // As a process leaves it that runs the call.
    await paid.api.container.connection.collection("x402_claims").updateMany(
      { agentId: agent.agentId },
      {
        $set: { state: "reserved", owner: "another process", leaseEndsAt: new Date(Date.now() + 60_000) },
        $unset: { spentAt: 1, responsePending: 1 },
      },
    );
    const answer = await create(proof);
    assert.deepEqual(answer.body.details, { reason: "proof_in_use" });
    assert.strictEqual(answer.headers.get("retry-after"), "1");
    assert.notProperty(answer.body, "accepts");
    assert.isFalse(answer.headers.has("payment-required"));
  });
});
