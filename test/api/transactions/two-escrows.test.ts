// Escrows on chain that aren't what a checkout asked for, and what both parties see of them (decision 16).
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Hex } from "viem";

import { approveCall, createEscrowCall } from "../../../api/chain/calldata.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, checkOut, fundedDeal, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { pathOf, transactionCalls } from "../../fixtures/transactions.ts";
import { until } from "../../fixtures/until.ts";

interface Entry {
  transactionId: string;
  escrowId: string;
  status: string;
  unsolicited: boolean;
}

describe("an escrow that no checkout asked for", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;

  before(async () => {
    api = await startTestApi({ runsLoops: true });
    chain = await openChain("base-sepolia");
  });
  after(() => api.close());
  beforeEach(async () => {
    market = await openMarket(api, chain);
  });

  const { call } = transactionCalls(() => api);

  /** Creates an escrow with the terms of a checkout, but for these. */
  async function createLike({ paymentInstructions }: CheckoutData, changed: { escrowId?: Hex; amount?: bigint }) {
    const { escrowId, sellerAddress: seller, tokenAddress: token, amount, deadline } = paymentInstructions;
    const { disputeWindow, abandonmentGrace, criteriaHash } = paymentInstructions;
    const target = { chainId: chain.deployment.chainId, escrowContract: chain.deployment.escrow };
    const terms = { escrowId, seller, amount: BigInt(amount), token, ...changed };
    await chain.send(market.buyer.account, approveCall(target, token, terms.amount));
    const create = createEscrowCall(target, { ...terms, deadline, disputeWindow, abandonmentGrace, criteriaHash });
    return chain.send(market.buyer.account, create);
  }

  async function listOf({ apiKey }: TestAgent): Promise<Entry[]> {
    return (await api.request("GET", "/api/v1/transactions?limit=100", { key: apiKey })).body.data as Entry[];
  }

  /** Waits until a party has an unsolicited transaction of an escrow, and returns its list, oldest first. */
  const seenBy = (agent: TestAgent, escrowId: string): Promise<Entry[]> =>
    until("the party sees the escrow", async () => {
      const list = await listOf(agent);
      return list.some((entry) => entry.escrowId === escrowId && entry.unsolicited) && list.toReversed();
    });

  const factsOf = (entries: Entry[]) =>
    entries.map(({ escrowId, status, unsolicited }) => [escrowId, status, unsolicited]);
  const fundedEvents = async ({ apiKey }: TestAgent): Promise<unknown[]> => {
    const { body } = await api.request("GET", "/api/v1/events?type=escrow.funded", { key: apiKey });
    const events = body.data as { payload: { escrowId: string; unsolicited: boolean } }[];
    return events.map(({ payload }) => [payload.escrowId, payload.unsolicited]);
  };

  it("[D10] [D16] with the terms of a funded checkout is a second transaction, which its seller can decline", async () => {
    const deal = await fundedDeal(market);
    const { escrowId } = deal.paymentInstructions;
    const second: Hex = `0x${randomBytes(32).toString("hex")}`;
    const { transactionHash } = await createLike(deal, { escrowId: second });

    for (const agent of [market.buyer, market.seller]) {
      const entries = await seenBy(agent, second);
      assert.deepEqual(
        factsOf(entries).toSorted(),
        [
          [escrowId, "funded", false],
          [second, "funded", true],
        ].toSorted(),
      );
    }
    const announced = (await fundedEvents(market.seller)).toSorted();
    assert.deepEqual(
      announced,
      [
        [escrowId, false],
        [second, true],
      ].toSorted(),
    );
    const answer = await call(market.buyer, "POST", pathOf(deal, "/fund"), { txHash: transactionHash });
    assertError(answer, 409, "funding_other_escrow");

    const entries = await listOf(market.seller);
    const unsolicited = entries.find((entry) => entry.unsolicited);
    assert.ok(unsolicited !== undefined);
    await act(api, chain, market.seller, unsolicited.transactionId, "refund");
    for (const agent of [market.buyer, market.seller]) {
      const statuses = await until("the refund is shown", async () => {
        const found = (await listOf(agent)).map(({ unsolicited: is, status }) => [is, status]);
        return found.some(([, status]) => status === "refunded") && found;
      });
      assert.sameDeepMembers(statuses, [
        [true, "refunded"],
        [false, "funded"],
      ]);
    }
  });

  it("[D16] with other terms under a checkout's id takes the id, and both see the escrow instead of the checkout", async () => {
    const checkout = await checkOut(market);
    const { escrowId, amount } = checkout.paymentInstructions;
    await createLike(checkout, { amount: BigInt(amount) - 1n });

    const ofBuyer = await seenBy(market.buyer, escrowId);
    assert.sameDeepMembers(factsOf(ofBuyer), [
      [escrowId, "expired", false],
      [escrowId, "funded", true],
    ]);
    const lost = await readTransaction(api, market.buyer, checkout.transactionId);
    assert.deepEqual([lost.status, lost.expiredBy], ["expired", "escrow_id_taken"]);
    assert.deepEqual(factsOf(await seenBy(market.seller, escrowId)), [[escrowId, "funded", true]]);
    assertError(await call(market.seller, "GET", pathOf(checkout)), 404, "not_found");
  });
});
