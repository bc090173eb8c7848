// Payments that come again as another proof, for another call, at once, or while their first request runs.
import { assert } from "chai";

import { createMandateLedger } from "../../../api/features/mandates/ledger.ts";
import { CLAIM_TIMINGS, Claims } from "../../../api/features/x402/settling/claims.ts";
import { listingBody } from "../../fixtures/api.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import { paidCalls, PAYS_ALREADY } from "../../fixtures/paid-calls.ts";
import {
  CALL_UNITS,
  headerOfTransfer,
  headerV1,
  headerV2,
  pay,
  signTransfer,
  startPaidApi,
  THOUSAND_USDC,
} from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";

const PATH = "/api/v1/services";
const OTHER_PATH = `${PATH}?limit=7`;

describe("an x402 proof that was used before", () => {
  let paid: PaidApi;
  let agent: TestAgent;

  before(async () => {
    paid = await startPaidApi();
    agent = await paid.richAgent();
  });
  after(() => paid.close());

  const { call, assertRefused } = paidCalls(() => ({ paid, agent }));

  /** Of requests with one payment, those that come while it pays are refused, and later ones get the same answer. */
  async function assertServedOnce(answers: readonly Response[]): Promise<void> {
    const served = answers.filter(({ status }) => status === 200);
    assert.isNotEmpty(served);
    assert.strictEqual(new Set(await Promise.all(served.map((answer) => answer.text()))).size, 1);
    for (const answer of answers.filter((each) => !served.includes(each))) {
      assert.strictEqual(answer.status, 402);
      const { code, details } = (await answer.json()) as { code: string; details: { reason?: string } };
      assert.include([...PAYS_ALREADY, "settlement_pending"], details.reason ?? code);
    }
  }

  it("is refused for another call, one after the other, and asks for no other payment [D36]", async () => {
    const hash = await pay(paid, agent.account);
    const first = await signTransfer(paid, agent.account);
    const second = await signTransfer(paid, agent.account);
    const proofs = [headerOfTransfer(hash, agent.walletAddress), headerV1(first), headerV2(paid, second)];
    for (const headers of proofs) {
      assert.strictEqual((await call(headers)).status, 200);
      await assertRefused(headers, "proof_already_used", undefined, OTHER_PATH);
      // A call of another price.
      await assertRefused(headers, "proof_already_used", undefined, `${PATH}?q=invoices`, "$0.01");
    }
  });

  for (const [version, other] of [
    ["v1", "v2"],
    ["v2", "v1"],
  ] as const) {
    it(`is refused in another form: an authorisation paid as ${version}, as ${other} and by its transaction [D36]`, async () => {
      const payload = await signTransfer(paid, agent.account);
      const forms = { v1: headerV1(payload), v2: headerV2(paid, payload) };
      const answer = await call(forms[version]);
      assert.strictEqual(answer.status, 200);
      const receipt = answer.headers.get(version === "v1" ? "x-payment-response" : "payment-response") ?? "";
      const { transaction } = JSON.parse(Buffer.from(receipt, "base64").toString()) as { transaction: string };
      await assertRefused(forms[other], "proof_already_used");
      await assertRefused(headerOfTransfer(transaction, agent.walletAddress), "proof_already_used");
      const upper = `0x${transaction.slice(2).toUpperCase()}`;
      await assertRefused(
        headerOfTransfer(upper, agent.walletAddress, { network: "eip155:84532" }),
        "proof_already_used",
      );
    });
  }

  it("opens one call of many at once with both versions of one authorisation, and takes the money once [D36]", async () => {
    const payer = await paid.richAgent();
    const payload = await signTransfer(paid, payer.account);
    const forms = [headerV1(payload), headerV2(paid, payload)];
    const answers = await Promise.all([...forms, ...forms, ...forms].map((headers) => call(headers, payer.apiKey)));
    await assertServedOnce(answers);
    assert.strictEqual(THOUSAND_USDC - (await paid.chain.usdcOf(payer.walletAddress)), CALL_UNITS.api);
  });

  it("opens one call of many at once, and takes the money once", async () => {
    const payer = await paid.richAgent();
    const hash = await pay(paid, payer.account);
    const [one, two] = [await signTransfer(paid, payer.account), await signTransfer(paid, payer.account)];
    const had = await paid.chain.usdcOf(payer.walletAddress);
    const proofs = [headerOfTransfer(hash, payer.walletAddress), headerV1(one), headerV2(paid, two)];
    for (const headers of proofs) {
      await assertServedOnce(await Promise.all(Array.from({ length: 6 }, () => call(headers, payer.apiKey))));
    }
    assert.strictEqual(had - (await paid.chain.usdcOf(payer.walletAddress)), 2n * CALL_UNITS.api);
  });

  describe("by a request whose process still runs or was killed", () => {
    const create = (proof: Record<string, string>, title: string) =>
      paid.api.request("POST", PATH, { key: agent.apiKey, headers: proof, body: listingBody({ title }) });
    /** Leaves a used payment as a process does that has run the call and hasn't marked the payment as spent. */
    const unmark = (txHash: string, leaseEndsAt: Date) =>
      paid.api.container.connection
        .collection("x402_claims")
        .updateOne(
          { txHash },
          { $set: { state: "reserved", owner: "another process", leaseEndsAt }, $unset: { spentAt: 1 } },
        );
    const claimOf = (txHash: string) => paid.api.container.connection.collection("x402_claims").findOne({ txHash });
    const inAMinute = () => new Date(Date.now() + 60_000);
    const NOW_FREE = new Date(0);

    it("is refused while that runs, and free once its lease has ended", async () => {
      const txHash = await pay(paid, agent.account);
      const proof = headerOfTransfer(txHash, agent.walletAddress);
      assert.strictEqual((await call(proof)).status, 200);
      await unmark(txHash, inAMinute());
      await assertRefused(proof, "proof_in_use");
      await unmark(txHash, NOW_FREE);
      assert.strictEqual((await call(proof)).status, 200);
      await assertRefused(proof, "proof_already_used", undefined, OTHER_PATH);
    });

    it("isn't confirmed by a process that has lost it to another", async () => {
      const txHash = await pay(paid, agent.account);
      assert.strictEqual((await call(headerOfTransfer(txHash, agent.walletAddress))).status, 200);
      await unmark(txHash, inAMinute());
      const { connection, features } = paid.api.container;
      const claims = new Claims({
        connection,
        ...features.x402.models,
        ledger: createMandateLedger(connection),
        credit: () => assert.fail("no pack was bought"),
        timings: CLAIM_TIMINGS,
        onPaid: () => undefined,
        now: () => new Date(),
      });
      const [taken] = await claims.findByTransfer("base-sepolia", txHash);
      assert.ok(taken !== undefined);
      const place = { txHash, position: taken.position ?? 0 };
      assert.isFalse(await claims.confirm({ ...taken, owner: "a slow process" }, "spent", place));
      assert.strictEqual((await claimOf(txHash))?.["state"], "reserved");
      await unmark(txHash, NOW_FREE);
      await claims.renew(taken);
      assert.isFalse(await claims.confirm(taken, "spent", place), "its lease has ended");
      await unmark(txHash, inAMinute());
      assert.isTrue(await claims.confirm(taken, "spent", place));
      assert.isFalse(await claims.confirm(taken, "spent", place));
    });

    it("runs the same request as a repeat, and another request as a new one", async () => {
      const txHash = await pay(paid, agent.account);
      const proof = headerOfTransfer(txHash, agent.walletAddress);
      const first = await create(proof, "First of two");
      assert.strictEqual(first.status, 201, first.text);
      await unmark(txHash, NOW_FREE);
      const repeat = await create(proof, "First of two");
      assert.deepEqual([repeat.status, repeat.body.data], [201, first.body.data]);
      assert.strictEqual((await claimOf(txHash))?.["runs"], 2);
      await unmark(txHash, NOW_FREE);
      const other = await create(proof, "Second of two");
      assert.strictEqual(other.status, 201, other.text);
      assert.notStrictEqual(other.body.data.id, first.body.data.id);
      assert.strictEqual(other.body.data.title, "Second of two");
      assert.strictEqual((await claimOf(txHash))?.["runs"], 1);
    });
  });

  it("by another agent with the same transaction is refused", async () => {
    const hash = await pay(paid, agent.account);
    const other = await paid.api.registerAgent();
    await assertRefused(headerOfTransfer(hash, agent.walletAddress), "wrong_sender", other.apiKey);
  });
});
