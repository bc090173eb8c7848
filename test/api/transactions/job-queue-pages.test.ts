import { randomBytes } from "node:crypto";

import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { checkOut, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";

const JOBS = 5;

describe("a seller's queue with more jobs than a page", () => {
  let api: TestApi;
  let market: Market;
  /** Ids of the seller's funded jobs, newest first. */
  let ids: string[];
  before(async () => {
    api = await startTestApi();
    market = await openMarket(api, await openChain("base-sepolia"));
    const { transactionId } = await checkOut(market);
    const { transactions } = api.container.features.transactions.models;
    const template = await transactions.findById(transactionId).lean().orFail();
    const made = Array.from({ length: JOBS }, () => ({
      ...template,
      _id: `txn_${randomBytes(16).toString("hex")}`,
      status: "funded" as const,
      escrowId: `0x${randomBytes(32).toString("hex")}` as const,
    }));
    await transactions.insertMany(made);
    ids = made.map(({ _id }) => _id).toSorted((one, other) => (one < other ? 1 : -1));
  });
  after(() => api.close());

  const read = async (query: string, { apiKey } = market.seller) => {
    const { status, body, text } = await api.request("GET", `/api/v1/jobs?${query}`, { key: apiKey });
    assert.strictEqual(status, 200, text);
    return {
      found: body.data.map((job: { transactionId: string }) => job.transactionId) as string[],
      next: body.nextCursor as string | null,
    };
  };

  it("[D23] [D25] loses and repeats nothing between pages", async () => {
    for (const limit of [1, 2, JOBS]) {
      const pages: string[][] = [];
      for (let cursor: string | null = ""; cursor !== null && pages.length <= JOBS;) {
        const { found, next } = await read(`limit=${limit}${cursor === "" ? "" : `&cursor=${cursor}`}`);
        pages.push(found);
        cursor = next;
      }
      assert.deepEqual(pages.flat(), ids, `${limit} a page`);
      assert.lengthOf(pages, Math.ceil(JOBS / limit));
    }
  });

  it("[D25] has the jobs of one network where asked", async () => {
    assert.deepEqual((await read("network=base-sepolia")).found, ids);
    assert.deepEqual((await read("network=base")).found, []);
  });

  it("[D25] isn't its buyer's queue", async () => {
    assert.deepEqual((await read("limit=10", market.buyer)).found, []);
  });
});
