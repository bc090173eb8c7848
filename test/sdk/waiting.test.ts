import { assert } from "chai";

import { collect, DealEndedError, Marketplace, TimeoutError } from "../../sdk/src/index.ts";
import type { Deal } from "../../sdk/src/index.ts";
import { rejectionOf } from "../fixtures/rejection.ts";
import { startScriptedServer } from "../fixtures/scripted-server.ts";
import type { ScriptedAnswer, ScriptedServer } from "../fixtures/scripted-server.ts";

const ZERO = `0x${"0".repeat(64)}`;
const ADDRESS = `0x${"1".repeat(40)}`;
const RECORD = {
  transactionId: "txn_1",
  network: "base-sepolia",
  chainId: 84_532,
  escrowId: ZERO,
  escrowContract: ADDRESS,
  buyerAddress: ADDRESS,
  sellerAddress: ADDRESS,
  token: ADDRESS,
  amount: "2500000",
  lockedAmount: "2450000",
  platformFee: "50000",
  buyerAmount: null,
  deadline: 1,
  disputeWindow: 300,
  abandonmentGrace: 3_600,
  criteriaHash: ZERO,
  quoteExpiresAt: null,
  actions: [],
};
const transaction = (status: string): ScriptedAnswer => ({
  status: 200,
  body: { success: true, data: { ...RECORD, status } },
});
const behind: ScriptedAnswer = {
  status: 503,
  headers: { "retry-after": "0" },
  body: { success: false, error: "behind", code: "indexer_unavailable" },
};

describe("waiting for a deal", () => {
  let server: ScriptedServer | undefined;
  afterEach(() => server?.close());

  const dealOn = async (...answers: ScriptedAnswer[]): Promise<Deal> => {
    server = await startScriptedServer(transaction("pending_funding"), ...answers);
    return new Marketplace({ url: server.url }).agent({ apiKey: "svc_x" }).deal("txn_1");
  };

  it("ends with the status, with amounts as bigint", async () => {
    const deal = await dealOn(transaction("pending_funding"), behind, transaction("funded"));
    const found = await deal.waitForStatus("funded");
    assert.deepEqual([found.status, found.amount, found.buyerAmount], ["funded", 2_500_000n, null]);
    assert.strictEqual(deal.terms.refundableAmount, 2_450_000n);
    assert.strictEqual(server?.seen.length, 4);
  });

  it("ends with one of several statuses", async () => {
    const deal = await dealOn(transaction("delivered"));
    assert.strictEqual((await deal.waitForStatus(["funded", "delivered"])).status, "delivered");
  });

  it("fails at once when the deal has ended otherwise", async () => {
    const deal = await dealOn(transaction("refunded"));
    assert.strictEqual((await rejectionOf(deal.waitForStatus("delivered"), DealEndedError)).status, "refunded");
  });

  it("fails at once when a stranger's escrow has taken the deal's id, but not when only its quote has ended", async () => {
    const expired = (expiredBy: string): ScriptedAnswer => ({
      status: 200,
      body: { success: true, data: { ...RECORD, status: "expired", expiredBy } },
    });
    const taken = await dealOn(expired("escrow_id_taken"));
    assert.strictEqual((await rejectionOf(taken.waitForStatus("funded"), DealEndedError)).status, "expired");
    await server?.close();
    const late = await dealOn(expired("quote"), transaction("funded"));
    assert.strictEqual((await late.waitForStatus("funded")).status, "funded");
  });

  it("fails with TimeoutError, which carries the last failure", async () => {
    const deal = await dealOn(behind);
    const error = await rejectionOf(deal.waitForStatus("funded", { timeoutMs: 2_000 }), TimeoutError);
    assert.match(error.message, /^the status funded of transaction txn_1 took longer than 2000 ms/);
    assert.include(String(error.cause), "indexer_unavailable");
  });

  it("ends with the signal's reason", async () => {
    const abort = new AbortController();
    const reason = new Error("no longer wanted");
    const deal = await dealOn((response) => {
      response.end();
      abort.abort(reason);
    });
    assert.strictEqual(await rejectionOf(deal.waitForStatus("funded", { signal: abort.signal })), reason);
  });
});

describe("a list", () => {
  let server: ScriptedServer | undefined;
  afterEach(() => server?.close());

  const page = (ids: string[], nextCursor: string | null): ScriptedAnswer => ({
    status: 200,
    body: { success: true, data: ids.map((id) => ({ id })), nextCursor },
  });

  it("asks for a page when the items before are used up, and for none that nobody wants", async () => {
    server = await startScriptedServer(page(["a", "b"], "c1"), page([], "c2"), page(["c"], null));
    const { listings } = new Marketplace({ url: server.url }).agent({ apiKey: "svc_x" });
    assert.strictEqual((await collect(listings.list(), 2)).length, 2);
    assert.strictEqual(server.seen.length, 1);
    await server.close();

    server = await startScriptedServer(page(["a", "b"], "c1"), page([], "c2"), page(["c"], null));
    const again = new Marketplace({ url: server.url }).agent({ apiKey: "svc_x" }).listings;
    assert.deepEqual(
      (await collect(again.list())).map(({ id }) => id),
      ["a", "b", "c"],
    );
    assert.deepEqual(
      server.seen.map(({ path }) => path),
      ["/api/v1/services", "/api/v1/services?cursor=c1", "/api/v1/services?cursor=c2"],
    );
  });

  it("of events goes on after the last one seen", async () => {
    server = await startScriptedServer(page(["evt_2"], "evt_2"), page(["evt_3"], null));
    const agent = new Marketplace({ url: server.url }).agent({ apiKey: "svc_x" });
    await collect(agent.events.list({ after: "evt_1" }));
    assert.deepEqual(
      server.seen.map(({ path }) => path),
      ["/api/v1/events?cursor=evt_1", "/api/v1/events?cursor=evt_2"],
    );
  });
});
