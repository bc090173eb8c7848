import { randomBytes } from "node:crypto";

import { assert } from "chai";

import { PAGE_BYTES } from "../../../api/db/pages.ts";
import { createListReader } from "../../../api/features/transactions/list-reader.ts";
import { assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, checkOut, createEscrow, deliverDeal, fundedDeal, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

/** No follower runs by itself here: the tests step it. */
describe("lists of transactions", () => {
  let api: TestApi;
  let chain: TestChain;
  let own: Market;

  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
  });
  beforeEach(async () => {
    own = await openMarket(api, chain);
  });
  after(() => api.close());

  const get = (agent: TestAgent, query: string) =>
    api.request("GET", `/api/v1/transactions?${query}`, { key: agent.apiKey });
  async function listed(agent: TestAgent, query = ""): Promise<string[]> {
    const { status, body, text } = await get(agent, query);
    assert.strictEqual(status, 200, text);
    assert.strictEqual(body.nextCursor, null);
    return body.data.map((entry: { transactionId: string }) => entry.transactionId);
  }
  /** All ids of a list, page by page. Each page but the last has a cursor, and none is longer than requested. */
  async function paged(agent: TestAgent, query: string, limit: number): Promise<string[]> {
    const ids: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const { body } = await get(agent, `${query}&limit=${limit}${cursor === "" ? "" : `&cursor=${cursor}`}`);
      assert.ok(body.data.length <= limit);
      ids.push(...body.data.map((entry: { transactionId: string }) => entry.transactionId));
      cursor = body.nextCursor;
    }
    return ids;
  }

  it("[D15] come in pages, newest first, filtered by status, role, network and service", async () => {
    const made = [await checkOut(own), await checkOut(own), await checkOut(own)];
    const first = await get(own.buyer, "limit=2");
    assert.strictEqual(first.body.data.length, 2);
    const rest = await get(own.buyer, `limit=2&cursor=${first.body.nextCursor}`);
    assert.strictEqual(rest.body.nextCursor, null);
    const ids = [...first.body.data, ...rest.body.data].map((entry: { transactionId: string }) => entry.transactionId);
    assert.deepEqual(ids, made.map(({ transactionId }) => transactionId).reverse());
    assert.strictEqual((await listed(own.buyer, "status=pending_funding")).length, 3);
    assert.strictEqual((await listed(own.buyer, "status=funded")).length, 0);
    assert.strictEqual((await listed(own.buyer, "role=seller")).length, 0);
    assert.strictEqual(
      (await listed(own.buyer, `serviceId=${own.serviceId}&role=buyer&network=base-sepolia`)).length,
      3,
    );
    assert.strictEqual((await listed(own.buyer, "network=base")).length, 0);
    assertInvalid(
      await get(own.buyer, "status=paid&limit=0&cursor=x&page=2"),
      ...["query.status", "query.limit", "query.cursor", "query.page"],
    );
  });

  it("[D41] aren't older than what a party has reported: a funded deal has its new status for both", async () => {
    const { transactionId } = await fundedDeal(own);
    const { body } = await get(own.buyer, "");
    assert.deepEqual([body.data[0].transactionId, body.data[0].status], [transactionId, "funded"]);
    for (const agent of [own.buyer, own.seller]) {
      assert.deepEqual(await listed(agent), [transactionId]);
      assert.deepEqual(await listed(agent, "status=funded&network=base-sepolia"), [transactionId]);
      assert.deepEqual(await listed(agent, "status=pending_funding"), []);
      assert.deepEqual(await listed(agent, "network=base"), []);
    }
    assert.deepEqual(await listed(own.seller, "role=buyer"), []);
    assert.deepEqual(await listed(own.buyer, `role=buyer&serviceId=${own.serviceId}`), [transactionId]);
    assert.deepEqual(await listed(own.buyer, `serviceId=srv_other`), []);
  });

  /** Both parties' lists show the deal only with this status. */
  async function assertListed(transactionId: string, status: string, before: string): Promise<void> {
    for (const agent of [own.buyer, own.seller]) {
      const { body } = await get(agent, "");
      assert.deepEqual([body.data[0].transactionId, body.data[0].status], [transactionId, status]);
      assert.deepEqual(await listed(agent, `status=${status}`), [transactionId]);
      assert.deepEqual(await listed(agent, `status=${before}`), []);
    }
  }
  async function followTo(transactionId: string, status: string): Promise<void> {
    const { transactions, chainFollower } = api.container.features;
    const isReached = async () =>
      (await transactions.models.transactions.findById(transactionId).lean())?.status === status;
    while (!(await isReached())) await chainFollower.followers["base-sepolia"].step();
  }

  it("[D18] [D41] show a deal as released right after its buyer's confirm, even if the copy is still older", async () => {
    const { transactionId } = await fundedDeal(own);
    await deliverDeal(own, transactionId);
    await followTo(transactionId, "delivered");
    await act(api, chain, own.buyer, transactionId, "accept");
    const confirmed = await api.request("POST", `/api/v1/transactions/${transactionId}/confirm`, {
      key: own.buyer.apiKey,
      body: {},
    });
    assert.equal(confirmed.body.data.status, "released", confirmed.text);
    await assertListed(transactionId, "released", "delivered");
  });

  it("[D17] [D41] show a deal as delivered right after a deliver that saw the delivery on chain", async () => {
    const { transactionId } = await fundedDeal(own);
    await followTo(transactionId, "funded");
    const { blockNumber } = await deliverDeal(own, transactionId);
    await api.container.indexers["base-sepolia"].escrows([], { minBlock: Number(blockNumber), waitMs: 60_000 });
    const again = await api.request("POST", `/api/v1/transactions/${transactionId}/deliver`, {
      key: own.seller.apiKey,
      body: { responsePayload: { answer: 42 } },
    });
    assert.deepEqual([again.status, again.body.data.status], [200, "delivered"], again.text);
    await assertListed(transactionId, "delivered", "funded");
  });

  it("[D41] show the state that a read at a block given by the party has shown", async () => {
    const { transactionId } = await fundedDeal(own);
    await followTo(transactionId, "funded");
    const { blockNumber } = await deliverDeal(own, transactionId);
    const read = await api.request("GET", `/api/v1/transactions/${transactionId}?minBlock=${blockNumber}`, {
      key: own.buyer.apiKey,
    });
    assert.equal(read.body.data.status, "delivered", read.text);
    await assertListed(transactionId, "delivered", "funded");
  });

  it("[D41] have an indexedBlock that isn't below the last move of the state they show", async () => {
    const checkout = await checkOut(own);
    const { blockNumber } = await createEscrow(own, checkout);
    await followTo(checkout.transactionId, "funded");
    const { transactions } = api.container.features;
    // What a list reads after the follower has written a page's copies, but before it has moved its cursor past the
    // page.
    const list = createListReader({
      transactions: transactions.models.transactions,
      progress: { reached: () => Promise.resolve(new Map([["base-sepolia", Number(blockNumber) - 1]])) },
      indexers: api.container.indexers,
      waitMs: 0,
    });
    for (const [agent, role] of [
      [own.buyer, "buyer"],
      [own.seller, "seller"],
    ] as const) {
      const { entries } = await list(agent.agentId, { role, limit: 20 });
      assert.deepEqual(
        entries.map(({ record, indexedBlock }) => [record._id, record.status, indexedBlock]),
        [[checkout.transactionId, "funded", Number(blockNumber)]],
      );
    }
  });

  it("[D41] lose and repeat nothing between pages, whether the follower has reached a deal or not", async () => {
    const deals: { id: string; isFunded: boolean }[] = [];
    for (const kind of ["followed", "pending", "followed", "told", "pending", "told", "told", "pending"]) {
      const { transactionId } = kind === "pending" ? await checkOut(own) : await fundedDeal(own);
      deals.unshift({ id: transactionId, isFunded: kind !== "pending" });
      if (kind === "followed") await followTo(transactionId, "funded");
    }
    const all = deals.map(({ id }) => id);
    const funded = deals.flatMap(({ id, isFunded }) => (isFunded ? [id] : []));
    const pending = deals.flatMap(({ id, isFunded }) => (isFunded ? [] : [id]));
    for (const limit of [1, 2, 3, 7, 8, 20]) {
      assert.deepEqual(await paged(own.buyer, "role=buyer", limit), all, `${limit} a page`);
      assert.deepEqual(await paged(own.buyer, "status=funded", limit), funded, `${limit} a page`);
      assert.deepEqual(await paged(own.buyer, "status=pending_funding", limit), pending, `${limit} a page`);
      assert.deepEqual(await paged(own.seller, "role=seller", limit), funded, `${limit} a page`);
    }
  });

  it("[D15] have pages of about 1 MB of what they return, however large the payloads are, and every deal once", async () => {
    const { transactionId } = await checkOut(own);
    const { transactions } = api.container.features.transactions.models;
    const template = await transactions.findById(transactionId).lean().orFail();
    const payload = JSON.stringify({ text: "x".repeat(250_000) });
    const made = Array.from({ length: 12 }, () => ({
      ...template,
      _id: `txn_${randomBytes(16).toString("hex")}`,
      escrowId: `0x${randomBytes(32).toString("hex")}` as const,
      requestPayloadJson: payload,
      responsePayloadJson: payload,
      criteriaJson: payload,
      status: "funded" as const,
    }));
    await transactions.insertMany(made);
    const ids = made.map(({ _id }) => _id).toSorted((one, other) => (one < other ? 1 : -1));
    // Four payloads fit. A transaction has two of its three texts, a job only the request.
    for (const [agent, path, fitting] of [
      [own.seller, "/api/v1/transactions?status=funded&limit=100", 2],
      [own.seller, "/api/v1/jobs?limit=100", 4],
    ] as const) {
      const found: string[] = [];
      for (let cursor: string | null = ""; cursor !== null;) {
        const page = await api.request("GET", `${path}${cursor === "" ? "" : `&cursor=${cursor}`}`, {
          key: agent.apiKey,
        });
        assert.strictEqual(page.status, 200, page.text.slice(0, 1_000));
        assert.isAtMost(page.text.length, PAGE_BYTES);
        assert.lengthOf(page.body.data, fitting, path);
        found.push(...page.body.data.map((entry: { transactionId: string }) => entry.transactionId));
        cursor = page.body.nextCursor;
      }
      assert.deepEqual(found, ids, path);
    }
  });
});
