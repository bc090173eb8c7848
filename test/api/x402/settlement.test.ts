// Settlements whose outcome is unknown (decision 49), and facilitators and chains that don't answer.
import { randomUUID } from "node:crypto";

import { assert } from "chai";

import { assertError, listingBody } from "../../fixtures/api.ts";
import type { Answer, TestAgent } from "../../fixtures/api.ts";
import { startFacilitator } from "../../fixtures/facilitator.ts";
import type { RunningFacilitator } from "../../fixtures/facilitator.ts";
import { doorTo } from "../../fixtures/outage.ts";
import {
  CALL_UNITS,
  cancel,
  headerV1,
  headerV2,
  pay,
  headerOfTransfer,
  signTransfer,
  startPaidApi,
} from "../../fixtures/payments.ts";
import type { PaidApi, SignedTransfer } from "../../fixtures/payments.ts";
import { openChain } from "../../fixtures/stack.ts";

const SERVICES = "/api/v1/services";
const THOUSAND_USDC = 1_000_000_000n;

describe("a settlement without a clear outcome", () => {
  let paid: PaidApi;
  let facilitator: RunningFacilitator;
  let agent: TestAgent;

  before(async () => {
    facilitator = await startFacilitator("base-sepolia");
    paid = await startPaidApi({ x402: { facilitatorUrl: facilitator.url, timeoutMs: 5_000 } });
  });
  beforeEach(async () => {
    agent = await paid.richAgent();
  });
  afterEach(() => {
    facilitator.intercept = undefined;
  });
  after(async () => {
    await paid.close();
    await facilitator.close();
  });

  const create = (headers: Record<string, string> = {}): Promise<Answer> =>
    paid.api.request("POST", SERVICES, { key: agent.apiKey, body: listingBody(), headers });
  const listings = () =>
    paid.api.container.connection.collection("listings").countDocuments({ sellerAgentId: agent.agentId });
  const spent = async () => THOUSAND_USDC - (await paid.chain.usdcOf(agent.walletAddress));
  const proofs = async (): Promise<Record<string, Record<string, string>>> => ({
    v1: headerV1(await signTransfer(paid, agent.account)),
    v2: headerV2(paid, await signTransfer(paid, agent.account)),
  });

  /** Answers settlements in a way of its own. */
  function onSettle(answer: (settle: () => Promise<unknown>) => Promise<unknown>): void {
    facilitator.intercept = async (path, settle) => {
      if (path !== "/settle") return undefined;
      const body = await answer(settle);
      return body === null ? null : { status: 200, body };
    };
  }

  function assertPending(answer: Answer): void {
    assert.strictEqual(answer.status, 402, answer.text);
    assert.strictEqual(answer.body.code, "settlement_pending");
    assert.isUndefined(answer.body.accepts, "no other payment is asked for");
    assert.isNull(answer.headers.get("payment-required"));
    assert.strictEqual(answer.headers.get("retry-after"), "2");
  }

  for (const version of ["v1", "v2"] as const) {
    it(`counts as settled if the chain shows the transfer, though the facilitator's answer was lost (${version})`, async () => {
      onSettle(async (settle) => {
        await settle();
        return null;
      });
      const answer = await create((await proofs())[version]);
      assert.strictEqual(answer.status, 201, answer.text);
      assert.strictEqual(await spent(), CALL_UNITS.api);
    });

    it(`is pending until it is confirmed; then the same proof gets the answer, and the call ran once (${version}) [D49]`, async () => {
      onSettle(() => Promise.resolve(null));
      const proof = (await proofs())[version];
      assertPending(await create(proof));
      assertPending(await create(proof));
      assert.strictEqual(await listings(), 1);
      assert.strictEqual(await spent(), 0n);
      facilitator.intercept = undefined;
      const answer = await create(proof);
      assert.strictEqual(answer.status, 201, answer.text);
      assert.strictEqual(await listings(), 1);
      assert.strictEqual(await spent(), CALL_UNITS.api);
      const again = await create(proof);
      assert.deepEqual([again.status, again.body], [201, answer.body]);
      assert.strictEqual(await listings(), 1);
    });

    it(`is found again by the request itself, without a proof (${version}) [D49]`, async () => {
      onSettle(() => Promise.resolve(null));
      assertPending(await create((await proofs())[version]));
      assertPending(await create());
      facilitator.intercept = undefined;
      assert.strictEqual((await create()).status, 201);
      assert.strictEqual((await create()).body.code, "payment_required");
      assert.strictEqual(await listings(), 1);
      assert.strictEqual(await spent(), CALL_UNITS.api);
    });
  }

  it("answers already_processed once the kept answer is gone, and runs the call once", async () => {
    onSettle(() => Promise.resolve(null));
    const proof = (await proofs())["v1"] ?? {};
    assertPending(await create(proof));
    await paid.api.container.connection.collection("x402_answers").deleteMany({});
    facilitator.intercept = undefined;
    assertError(await create(proof), 409, "already_processed");
    assert.strictEqual((await create(proof)).body.details.reason, "proof_already_used");
    assert.strictEqual(await listings(), 1);
    assert.strictEqual(await spent(), CALL_UNITS.api);
  });

  it("with an Idempotency-Key takes no other payment until it is confirmed, and then gives its answer [D49]", async () => {
    const key = { "idempotency-key": randomUUID() };
    const signed = async () => headerV1(await signTransfer(paid, agent.account));
    onSettle(() => Promise.resolve(null));
    assertPending(await create({ ...key, ...(await signed()) }));
    assertPending(await create({ ...key, ...(await signed()) }));
    facilitator.intercept = undefined;
    const answer = await create({ ...key, ...(await signed()) });
    assert.strictEqual(answer.status, 201, answer.text);
    assert.strictEqual(await listings(), 1);
    assert.strictEqual(await spent(), CALL_UNITS.api);
    // Another claim would be settled later.
    const claims = paid.api.container.connection.collection("x402_claims");
    assert.strictEqual(await claims.countDocuments({ agentId: agent.agentId }), 1);
  });

  for (const kind of ["v1", "v2", "transfer"] as const) {
    it(`that fails later doesn't block another payment for the same operation (${kind}) [D36] [D43]`, async () => {
      const key = { "idempotency-key": randomUUID() };
      const first = await signTransfer(paid, agent.account);
      onSettle(() => Promise.resolve(null));
      assertPending(await create({ ...key, ...headerV1(first) }));
      facilitator.intercept = undefined;
      await cancel(paid, agent.account, first);
      const transfer = async () => headerOfTransfer(await pay(paid, agent.account), agent.walletAddress);
      const fresh = kind === "transfer" ? await transfer() : (await proofs())[kind];
      const answer = await create({ ...key, ...fresh });
      assert.strictEqual(answer.status, 201, answer.text);
      assert.strictEqual(await listings(), 1);
      assert.strictEqual(await spent(), CALL_UNITS.api);
    });
  }

  it("that fails is followed by the demand for a payment, if the request carries none [D49]", async () => {
    const payment = await signTransfer(paid, agent.account);
    onSettle(() => Promise.resolve(null));
    assertPending(await create(headerV1(payment)));
    await cancel(paid, agent.account, payment);
    assert.strictEqual((await create()).body.code, "payment_required");
    assert.strictEqual(await spent(), 0n);
  });

  it("isn't over because the facilitator refuses to send it a second time [D49]", async () => {
    onSettle(() => Promise.resolve(null));
    const proof = (await proofs())["v1"] ?? {};
    assertPending(await create(proof));
    // Of what a facilitator says that has settled it before, and sees a block more than this service.
    for (const errorReason of ["invalid_exact_evm_nonce_already_used", "invalid_exact_evm_insufficient_balance"]) {
      onSettle(() => Promise.resolve({ success: false, errorReason, transaction: "", network: "base-sepolia" }));
      assertPending(await create(proof));
    }
    facilitator.intercept = undefined;
    assert.strictEqual((await create(proof)).status, 201);
    assert.strictEqual(await listings(), 1);
    assert.strictEqual(await spent(), CALL_UNITS.api);
  });

  it("names the transaction if the facilitator tells it [D49]", async () => {
    const transaction = `0x${"ab".repeat(32)}`;
    onSettle(() =>
      Promise.resolve({ success: false, errorReason: "settlement_pending", transaction, network: "eip155:84532" }),
    );
    const answer = await create((await proofs())["v2"]);
    assertPending(answer);
    assert.deepEqual(answer.body.details, { txHash: transaction });
  });

  it("doesn't open another request, nor one of another agent", async () => {
    onSettle(() => Promise.resolve(null));
    const proof = (await proofs())["v1"] ?? {};
    assertPending(await create(proof));
    const other = await paid.api.request("GET", SERVICES, { key: agent.apiKey, headers: proof });
    assert.strictEqual(other.body.details.reason, "proof_already_used");
    const stranger = await paid.api.registerAgent();
    const foreign = await paid.api.request("POST", SERVICES, {
      key: stranger.apiKey,
      body: listingBody(),
      headers: proof,
    });
    assert.strictEqual(foreign.body.details.reason, "wrong_sender");
  });

  it("is finished by the worker for a caller who doesn't come back, who gets the answer if he does, however often", async () => {
    onSettle(() => Promise.resolve(null));
    const proof = (await proofs())["v2"];
    assertPending(await create(proof));
    facilitator.intercept = undefined;
    await paid.api.container.features.x402.finish();
    assert.strictEqual(await spent(), CALL_UNITS.api);
    const answers = await Promise.all([create(proof), create(proof), create(proof)]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201, 201],
    );
    assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1);
    assert.strictEqual(await listings(), 1);
    assert.strictEqual(await spent(), CALL_UNITS.api);
  });

  it("of a killed process is finished by the worker, however many others stay without an outcome", async () => {
    const STUCK = 20;
    const claims = paid.api.container.connection.collection("x402_claims");
    const get = async (payload: SignedTransfer) =>
      paid.api.request("GET", SERVICES, { key: agent.apiKey, headers: headerV1(payload) });
    onSettle(() => Promise.resolve(null));
    for (let index = 0; index < STUCK; index += 1) assertPending(await get(await signTransfer(paid, agent.account)));
    onSettle(async (settle) => {
      await settle();
      return null;
    });
    const payload = await signTransfer(paid, agent.account);
    const { nonce } = payload.authorization;
    assert.strictEqual((await get(payload)).status, 200);
    // As a process leaves it that was killed before it saw the transfer.
    const killed = { state: "settling", responsePending: true, owner: "a killed process", leaseEndsAt: new Date() };
    const { modifiedCount } = await claims.updateOne(
      { nonce },
      { $set: killed, $unset: { txHash: 1, position: 1, spentAt: 1 } },
    );
    assert.strictEqual(modifiedCount, 1);
    onSettle(() => Promise.resolve(null));
    // Every look has room for twenty claims; each of them is looked at once before any is looked at again.
    const waiting = await claims.countDocuments({ state: "settling" });
    for (let looks = Math.ceil(waiting / STUCK); looks > 0; looks -= 1) {
      await paid.api.container.features.x402.finish();
    }
    assert.strictEqual((await claims.findOne({ nonce }))?.["state"], "settled");
  });

  it("isn't refused because the facilitator doesn't show yet what the wallet has been paid [D36]", async () => {
    let asked = 0;
    facilitator.intercept = (path) => {
      if (path !== "/verify") return Promise.resolve(undefined);
      asked += 1;
      const behind = { isValid: false, invalidReason: "invalid_exact_evm_insufficient_balance" };
      return Promise.resolve(asked === 1 ? { status: 200, body: behind } : undefined);
    };
    assert.strictEqual((await create((await proofs())["v1"])).status, 201);
    assert.strictEqual(asked, 2);
    assert.strictEqual(await spent(), CALL_UNITS.api);
  });

  it("that the facilitator refuses for certain takes no money and frees the authorisation", async () => {
    const refusal = { success: false, errorReason: "invalid_exact_evm_insufficient_balance", transaction: "" };
    onSettle(() => Promise.resolve({ ...refusal, network: "base-sepolia" }));
    const proof = (await proofs())["v1"];
    const answer = await create(proof);
    assert.strictEqual(answer.body.message, "x402 payment verification failed");
    assert.strictEqual(answer.body.details.reason, "settlement_failed");
    facilitator.intercept = undefined;
    assert.strictEqual((await create(proof)).status, 201);
    assert.strictEqual(await spent(), CALL_UNITS.api);
  });

  it("that the facilitator refuses for a reason of its own may still happen: pending", async () => {
    onSettle(() =>
      Promise.resolve({ success: false, errorReason: "unexpected_settle_error", transaction: "", network: "base" }),
    );
    const proof = (await proofs())["v1"];
    assertPending(await create(proof));
    facilitator.intercept = undefined;
    assert.strictEqual((await create(proof)).status, 201);
    assert.strictEqual(await listings(), 1);
    assert.strictEqual(await spent(), CALL_UNITS.api);
  });

  it("isn't believed if the facilitator claims a success that the chain doesn't show", async () => {
    const transaction = `0x${"cd".repeat(32)}`;
    onSettle(() => Promise.resolve({ success: true, transaction, network: "base-sepolia" }));
    assertPending(await create((await proofs())["v1"]));
  });

  it("doesn't begin without a facilitator: 503, and nothing is reserved", async () => {
    facilitator.intercept = () => Promise.resolve(null);
    const proof = (await proofs())["v1"];
    const answer = await create(proof);
    assert.strictEqual(answer.status, 503, answer.text);
    assert.strictEqual(answer.body.code, "facilitator_unavailable");
    assert.strictEqual(await listings(), 0);
    facilitator.intercept = undefined;
    assert.strictEqual((await create(proof)).status, 201);
  });
});

describe("payments while the chain is unreachable", () => {
  it("are answered 503 and remain usable, with every kind of proof", async () => {
    const { rpcUrl } = await openChain("base-sepolia");
    const door = await doorTo(rpcUrl);
    const paid = await startPaidApi({ rpcUrl: door.url });
    try {
      const agent = await paid.richAgent();
      const txHash = await pay(paid, agent.account);
      const proofs = [
        headerOfTransfer(txHash, agent.walletAddress),
        headerV1(await signTransfer(paid, agent.account)),
        headerV2(paid, await signTransfer(paid, agent.account)),
      ];
      const get = (headers: Record<string, string>) =>
        paid.api.request("GET", SERVICES, { key: agent.apiKey, headers });
      door.isOpen = false;
      for (const proof of proofs) {
        const answer = await get(proof);
        assert.strictEqual(answer.status, 503, answer.text);
        assert.strictEqual(answer.body.code, "chain_unavailable");
      }
      door.isOpen = true;
      for (const proof of proofs) assert.strictEqual((await get(proof)).status, 200);
    } finally {
      await paid.close();
      await door.close();
    }
  });
});
