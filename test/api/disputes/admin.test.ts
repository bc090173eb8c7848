import { assert } from "chai";

import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, assertInvalid } from "../../fixtures/api.ts";
import { bsonOf, startBehindDatabaseRoute } from "../../fixtures/api-process.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import { Court, resolverKey, settingsWithKey } from "../../fixtures/disputes.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import { tokenFlows } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const SPLIT = { outcome: "Split", buyerPercent: 25, sellerPercent: 75, rationale: "Half of the work was usable." };
const UNKNOWN = "dsp_0123456789abcdef0123456789abcdef";

describe("an admin's ruling", () => {
  let court: Court;
  before(async () => {
    court = await Court.open({ env: { adminApiKey: ADMIN_KEY, disputes: settingsWithKey("admin") } });
  });
  after(() => court.close());

  const rule = (
    disputeId: string,
    body: object = SPLIT,
    as: { headers?: Record<string, string>; key?: string } = AS_ADMIN,
  ) => court.api.request("POST", `/api/v1/admin/disputes/${disputeId}/ruling`, { body, ...as });
  const scoreOf = async ({ walletAddress }: TestAgent) =>
    Number(await court.api.container.chains["base-sepolia"].scoreOf(walletAddress));

  it("[D8] [S2.6.04] [S2.6.05] is put on chain with its percentages and its rationale's hash", async () => {
    const deal = await court.disputed();
    const { status, body, text } = await rule(deal.disputeId);
    assert.strictEqual(status, 202, text);
    assert.include(body.data, { status: "ruled", resolvedBy: "admin", rationale: SPLIT.rationale });
    const resolved = await court.until("resolved", deal);
    assert.include(resolved, { outcome: "Split", buyerPercent: 25, sellerPercent: 75 });
    assert.include(resolved, { resolvedBy: "admin", resolutionMethod: "ruling", rationale: SPLIT.rationale });
    assert.strictEqual(resolved.rationaleHash, body.data.rationaleHash);
    const path = `/api/v1/disputes/${deal.disputeId}/ruling`;
    const ruling = (await court.api.request("GET", path, { key: court.seller.apiKey })).body.data;
    assert.strictEqual(ruling.onChain, resolved.rationaleHash);
    assert.include(ruling.document, { ruledBy: "admin", judge: null, buyerPercent: 25 });
  });

  const { rationale } = SPLIT;
  for (const { body, buyerPercent, scores, ids } of [
    { body: SPLIT, buyerPercent: 25n, scores: [0, 0], ids: "[S3.2.35]" },
    { body: { outcome: "BuyerRefund", rationale }, buyerPercent: 100n, scores: [1, -3], ids: "[S3.2.33]" },
    { body: { outcome: "SellerPaid", rationale }, buyerPercent: 0n, scores: [-3, 1], ids: "[S3.2.34]" },
  ]) {
    it(`${ids} pays and scores both parties: ${body.outcome}`, async () => {
      const parties = [court.buyer, court.seller] as const;
      const deal = await court.disputed();
      const before = await Promise.all(parties.map(scoreOf));
      assert.strictEqual((await rule(deal.disputeId, body)).status, 202);
      const { outcome, resolutionTxHash } = await court.until("resolved", deal);
      assert.strictEqual(outcome, body.outcome);
      const after = await Promise.all(parties.map(scoreOf));
      assert.deepEqual(
        after.map((score, index) => score - (before[index] ?? 0)),
        scores,
      );
      const { body: transaction } = await court.api.request("GET", `/api/v1/transactions/${deal.transactionId}`, {
        key: court.buyer.apiKey,
      });
      const locked = BigInt(transaction.data.lockedAmount);
      const toBuyer = (locked * buyerPercent) / 100n;
      const receipt = await court.chain.client.getTransactionReceipt({ hash: resolutionTxHash });
      const flows = tokenFlows(receipt);
      assert.deepEqual(
        parties.map(({ walletAddress }) => flows.get(walletAddress) ?? 0n),
        [toBuyer, locked - toBuyer],
      );
    });
  }

  /** An open dispute as an operator reads it. */
  const openDispute = async (disputeId: string) => {
    const { status, body, text } = await court.api.request(
      "GET",
      "/api/v1/admin/disputes?network=base-sepolia&limit=100",
      AS_ADMIN,
    );
    assert.strictEqual(status, 200, text);
    return (body.data as { disputeId: string; [field: string]: any }[]).find((one) => one.disputeId === disputeId);
  };

  it("replaces the system's that is held, and the list of open disputes says what holds it", async () => {
    const deal = await court.disputed();
    const opened = await openDispute(deal.disputeId);
    assert.include(opened, { transactionId: deal.transactionId, attempts: 0, lastError: null, ruling: null });
    const read = async (id: string) => court.api.request("GET", `/api/v1/admin/disputes/${id}`, AS_ADMIN);
    const { status, body, text } = await read(deal.disputeId);
    assert.strictEqual(status, 200, text);
    assert.include(body.data.dispute, { disputeId: deal.disputeId, status: "open" });
    const key = court.buyer.apiKey;
    const seen = await court.api.request("GET", `/api/v1/transactions/${deal.transactionId}`, { key });
    assert.isObject(seen.body.data.responsePayload);
    assert.deepEqual(body.data.payload, seen.body.data.responsePayload);
    assert.isObject(body.data.criteria);
    assertError(await read(UNKNOWN), 404, "not_found");
    assertError(
      await court.api.request("GET", `/api/v1/admin/disputes/${deal.disputeId}`, { key }),
      401,
      "invalid_api_key",
    );
    await court.complete(deal);
    const held = await until("the system's ruling is held", async () => {
      const found = await openDispute(deal.disputeId);
      return found?.["ruling"]?.state === "held" && found["ruling"];
    });
    assert.include(held, { ruledBy: "system", problem: "no_key" });
    assert.match(held.detail, /key/);
    assert.strictEqual((await rule(deal.disputeId)).status, 202);
    await court.until("resolved", deal);
    await until("the list has it no longer", async () => (await openDispute(deal.disputeId)) === undefined);
    assertInvalid(await court.api.request("GET", "/api/v1/admin/disputes", AS_ADMIN), "query.network");
    const asAgent = { key: court.buyer.apiKey };
    assertError(await court.api.request("GET", "/api/v1/admin/disputes", asAgent), 401, "invalid_api_key");
  });

  it("[D8] two admins at once rule once", async () => {
    const deal = await court.disputed();
    const other = { outcome: "BuyerRefund", rationale: "Nothing was usable." };
    const answers = await Promise.all([rule(deal.disputeId), rule(deal.disputeId, other)]);
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [202, 409]);
    const [won] = answers.filter(({ status }) => status === 202);
    const lost = answers.find(({ status }) => status === 409);
    assert.strictEqual(lost?.body.code, "dispute_already_ruled");
    const resolved = await court.until("resolved", deal);
    assert.strictEqual(resolved.rationaleHash, won?.body.data.rationaleHash);
  });

  it("[D8] names all evidence that was taken before it, also what comes at the same moment", async () => {
    const deal = await court.disputed();
    const item = { type: "other", description: "It is usable" };
    const submissions = [court.buyer, court.seller, court.buyer, court.seller].map((agent) =>
      court.submit(deal, item, agent),
    );
    const [ruled] = await Promise.all([rule(deal.disputeId), ...submissions]);
    assert.strictEqual(ruled.status, 202, ruled.text);
    const ids = (items: { evidenceId: string }[]) => items.map(({ evidenceId }) => evidenceId).toSorted();
    const { evidence } = (await court.read(deal.disputeId)).body.data;
    const path = `/api/v1/disputes/${deal.disputeId}/ruling`;
    const { document } = (await court.api.request("GET", path, { key: court.seller.apiKey })).body.data;
    assert.deepEqual(ids(document.evidence), ids(evidence));
    await court.until("resolved", deal);
  });

  it("[D8] can't rule what is ruled or resolved", async () => {
    const deal = await court.disputed();
    assert.strictEqual((await rule(deal.disputeId)).status, 202);
    assertError(await rule(deal.disputeId), 409, "dispute_already_ruled");
    await court.until("resolved", deal);
    const { disputes } = court.api.container.features.disputes.models;
    // The subgraph may show the resolution before the follower has copied it.
    await until("the follower has closed the dispute", async () => {
      const dispute = await disputes.findById(deal.disputeId).lean();
      return dispute?.isOpen === false;
    });
    assertError(await rule(deal.disputeId), 409, "dispute_not_open_on_chain");
  });

  describe("with an Idempotency-Key", () => {
    const keyed = (disputeId: string, body: object = SPLIT) =>
      rule(disputeId, body, { headers: { ...AS_ADMIN.headers, "Idempotency-Key": disputeId } });
    const requests = () => court.api.container.connection.collection("idempotency_keys");
    const ruled = { resolvedBy: "admin", outcome: "Split", buyerPercent: 25, rationale };

    it("[D43] has the same answer when it is repeated, and is refused with another outcome", async () => {
      const deal = await court.disputed();
      const first = await keyed(deal.disputeId);
      assert.strictEqual(first.status, 202, first.text);
      await court.until("resolved", deal);
      const repeat = await keyed(deal.disputeId);
      assert.deepEqual([repeat.status, repeat.text], [202, first.text]);
      assert.strictEqual(repeat.headers.get("idempotency-replayed"), "true");
      const other = { outcome: "BuyerRefund", rationale: "Nothing was usable." };
      assertError(await keyed(deal.disputeId, other), 409, "idempotency_key_reused");
    });

    /** Starts the same request in a process that gets no further than its message with this text. */
    async function stalledAt(moment: string, disputeId: string) {
      const { api, route } = await startBehindDatabaseRoute(court.api.container.connection.name, {
        ADMIN_API_KEY: ADMIN_KEY,
        ADMIN_RESOLVER_KEY_BASE_SEPOLIA: resolverKey("admin"),
      });
      const reached = route.stallAt(moment);
      const answering = fetch(`${api.url}/api/v1/admin/disputes/${disputeId}/ruling`, {
        method: "POST",
        headers: { ...AS_ADMIN.headers, "content-type": "application/json", "idempotency-key": disputeId },
        body: JSON.stringify(SPLIT),
      });
      answering.catch(() => undefined);
      await reached;
      await requests().updateMany({}, { $set: { leaseEndsAt: new Date(0) } });
      return { api, route, answering };
    }

    for (const [moment, resolves] of [
      ["before it is on chain", false],
      ["once it is on chain", true],
    ] as const) {
      it(`[D8] [D43] isn't told that the dispute is ruled when its process was killed, and it is repeated ${moment}`, async () => {
        const deal = await court.disputed();
        const { api, route, answering } = await stalledAt(bsonOf("state", "done"), deal.disputeId);
        api.kill();
        await assert.isRejected(answering);
        await route.close();
        if (resolves) await court.until("resolved", deal);
        const again = await keyed(deal.disputeId);
        assert.strictEqual(again.status, 202, again.text);
        assert.include(again.body.data, ruled);
        assert.strictEqual((await rule(deal.disputeId)).status, 409, "another request rules nothing");
      });
    }

    it("[D8] [D43] has the same answer when a repeat has overtaken it", async () => {
      const deal = await court.disputed();
      const { api, route, answering } = await stalledAt("ruling_transactions", deal.disputeId);
      try {
        const repeat = await keyed(deal.disputeId);
        assert.strictEqual(repeat.status, 202, repeat.text);
        route.resume();
        const late = await answering;
        assert.strictEqual(late.status, 202);
        const { data } = (await late.json()) as { data: { rationaleHash: string } };
        assert.strictEqual(data.rationaleHash, repeat.body.data.rationaleHash);
      } finally {
        api.kill();
        await route.close();
      }
    });
  });

  it("[S2.6.04] needs percentages that add up to 100 for a Split, and takes no others for the rest", async () => {
    const wrong: [object, string][] = [
      [{ outcome: "Split", rationale }, "body.buyerPercent"],
      [{ outcome: "Split", buyerPercent: 50, rationale }, "body.sellerPercent"],
      [{ outcome: "Split", buyerPercent: 50, sellerPercent: 51, rationale }, "body.sellerPercent"],
      [{ outcome: "Split", buyerPercent: -1, sellerPercent: 101, rationale }, "body.buyerPercent"],
      [{ outcome: "BuyerRefund", buyerPercent: 99, rationale }, "body.buyerPercent"],
      [{ outcome: "SellerPaid", sellerPercent: 99, rationale }, "body.sellerPercent"],
      [{ outcome: "Nobody", rationale }, "body.outcome"],
      [{ outcome: "SellerPaid" }, "body.rationale"],
    ];
    for (const [body, path] of wrong) assertInvalid(await rule(UNKNOWN, body), path);
    for (const body of [
      { outcome: "BuyerRefund", buyerPercent: 100, sellerPercent: 0, rationale },
      { outcome: "SellerPaid", rationale },
    ]) {
      assertError(await rule(UNKNOWN, body), 404, "not_found");
    }
  });

  it("[D8] needs the admin key, and leaves an audit entry", async () => {
    const deal = await court.disputed();
    assertError(await rule(deal.disputeId, SPLIT, { key: court.buyer.apiKey }), 401, "invalid_api_key");
    assertError(await rule(deal.disputeId, SPLIT, {}), 401, "invalid_api_key");
    assert.strictEqual((await rule(deal.disputeId)).status, 202);
    const uses = court.api.container.connection.model("AdminUse");
    const entries = await uses
      .find({ path: `/api/v1/admin/disputes/${deal.disputeId}/ruling` })
      .lean<{ status: number }[]>();
    assert.deepEqual(
      entries.map(({ status }) => status),
      [202],
    );
  });
});
