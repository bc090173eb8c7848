import { assert } from "chai";

import { Marketplace, RefusedError } from "../../../sdk/src/index.ts";
import type { Deal } from "../../../sdk/src/index.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { checkOut, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

const ENDED = "2026-01-01T00:00:00.000Z";
const PATIENT = { timeoutMs: 60_000 };

describe("the client's funding", () => {
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

  const sentCount = () => chain.client.getTransactionCount({ address: own.buyer.walletAddress });
  async function newDeal(): Promise<Deal> {
    const { transactionId } = await checkOut(own);
    const parts = { apiKey: own.buyer.apiKey, wallet: chain.walletOf(own.buyer.account) };
    return new Marketplace({ url: api.url }).agent(parts).deal(transactionId);
  }

  it("[D16] sends nothing after the quote's end, unless it is told to pay late", async () => {
    const deal = await newDeal();
    deal.terms.quoteExpiresAt = ENDED;
    const before = await sentCount();
    const error = await rejectionOf(deal.fund(PATIENT), RefusedError);
    assert.include(error.message, ENDED);
    assert.strictEqual(await sentCount(), before);
    assert.strictEqual((await deal.fund({ ...PATIENT, allowLate: true })).status, "funded");
    assert.strictEqual(await sentCount(), before + 2);
  });

  it("[D16] creates no escrow if the quote ends while the approval waits for its block", async () => {
    const deal = await newDeal();
    const before = await sentCount();
    const onReceipt = () => {
      deal.terms.quoteExpiresAt = ENDED;
    };
    await rejectionOf(deal.fund({ ...PATIENT, onReceipt }), RefusedError);
    assert.strictEqual(await sentCount(), before + 1);
    assert.strictEqual((await deal.escrow.get(deal.terms.escrowId)).state, "None");
  });
});
