// What a party reads about its transactions in each state: whether a job can be reclaimed, and whether it has criteria.
// The chain's clock doesn't move. The second API's clock is ahead of it, past every deadline.
import { randomBytes } from "node:crypto";

import { assert } from "chai";

import { approveCall, createEscrowCall, moveCall } from "../../../api/chain/calldata.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, checkOut, deliverDeal, fundedDeal, ONE_USDC, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { changesNothing } from "../../fixtures/stored.ts";
import { until } from "../../fixtures/until.ts";

const YEAR_MS = 365 * 24 * 3_600 * 1_000;
const STATES = ["pending_funding", "funded", "delivered", "released", "refunded", "disputed"] as const;

describe("the states of a transaction", () => {
  /** One with the current time and one a year ahead. Neither runs its loops, so only requests change what is stored. */
  let api: TestApi;
  let ahead: TestApi;
  let chain: TestChain;
  let market: Market;
  let unsolicitedId: string;
  let laterMs = () => Date.now() + YEAR_MS;
  const deals = {} as Record<(typeof STATES)[number], CheckoutData>;
  const target = () => ({ chainId: 84_532, escrowContract: chain.deployment.escrow });

  before(async () => {
    chain = await openChain("base-sepolia");
    const databaseName = `test_states_${randomBytes(6).toString("hex")}`;
    const working = await startTestApi({ runsLoops: true, databaseName });
    market = await openMarket(working, chain);
    for (const state of STATES) {
      deals[state] = await (state === "pending_funding" ? checkOut(market) : fundedDeal(market));
    }
    for (const state of ["delivered", "released", "disputed"] as const)
      await deliverDeal(market, deals[state].transactionId);
    await act(working, chain, market.buyer, deals.released.transactionId, "accept");
    await act(working, chain, market.buyer, deals.disputed.transactionId, "openDispute");
    await act(working, chain, market.seller, deals.refunded.transactionId, "refund");
    unsolicitedId = await announceUnsolicited(working);
    for (const state of STATES) {
      await until(`the copy is ${state}`, async () => {
        const { transactions } = working.container.features.transactions.models;
        return (await transactions.findById(deals[state].transactionId).lean())?.status === state;
      });
    }
    await working.stop();
    api = await startTestApi({ databaseName });
    ahead = await startTestApi({ databaseName, clock: { now: () => new Date(laterMs()) } });
  });
  after(async () => {
    await ahead.stop();
    await api.close();
  });

  /** The buyer creates an escrow without a checkout. Returns its transaction id for the seller. */
  async function announceUnsolicited(working: TestApi): Promise<string> {
    const token = deals.funded.paymentInstructions.tokenAddress;
    const { timestamp } = await chain.client.getBlock();
    await chain.send(market.buyer.account, approveCall(target(), token, ONE_USDC));
    const escrowId = `0x${randomBytes(32).toString("hex")}` as const;
    const terms = {
      escrowId,
      seller: market.seller.walletAddress,
      amount: ONE_USDC,
      token,
      deadline: Number(timestamp) + 10_000,
      disputeWindow: 300,
      abandonmentGrace: 3_600,
      criteriaHash: `0x${"5c".repeat(32)}` as const,
    };
    const { status } = await chain.send(market.buyer.account, createEscrowCall(target(), terms));
    assert.strictEqual(status, "success");
    return until("the seller is told", async () => {
      const { body } = await working.request("GET", "/api/v1/transactions?role=seller", { key: market.seller.apiKey });
      const entries = body.data as { escrowId: string; transactionId: string }[];
      return entries.find((entry) => entry.escrowId === escrowId)?.transactionId;
    });
  }

  const get = (on: TestApi, agent: TestAgent, transactionId: string, operation: string): Promise<Answer> =>
    on.request("GET", `/api/v1/transactions/${transactionId}${operation}`, { key: agent.apiKey });
  const unchanged = (requests: () => Promise<void>) =>
    changesNothing(api, [unsolicitedId, ...Object.values(deals).map(({ transactionId }) => transactionId)], requests);

  /** The answers of claimAbandoned and finalize in a state, now and a year later. */
  const openings: Record<
    (typeof STATES)[number],
    { claim: [string, string | null]; finalize: [string, string | null] }
  > = {
    pending_funding: { claim: ["not_funded", "not_funded"], finalize: ["not_funded", "not_funded"] },
    funded: { claim: ["too_early", null], finalize: ["not_delivered", "not_delivered"] },
    delivered: { claim: ["delivered", "delivered"], finalize: ["too_early", null] },
    released: { claim: ["settled", "settled"], finalize: ["settled", "settled"] },
    refunded: { claim: ["settled", "settled"], finalize: ["settled", "settled"] },
    disputed: { claim: ["disputed", "disputed"], finalize: ["disputed", "disputed"] },
  };
  const years = (): [TestApi, 0 | 1][] => [
    [api, 0],
    [ahead, 1],
  ];

  for (const state of STATES) {
    it(`[S4.r11] [D19] claimAbandoned of a ${state} one returns the calldata, and a time only if the move is possible`, () =>
      unchanged(async () => {
        const { transactionId, paymentInstructions: terms } = deals[state];
        const opensAt = new Date((terms.deadline + terms.abandonmentGrace + 1) * 1_000).toISOString();
        const call = moveCall(target(), "claimAbandoned", terms.escrowId);
        for (const [on, year] of years()) {
          const { status, body, text } = await get(on, market.buyer, transactionId, "/claimAbandoned");
          assert.strictEqual(status, 200, text);
          const { to, data, chainId, claimable, claimableAt, reason } = body.data;
          assert.deepEqual([to, data, chainId], [call.to, call.data, 84_532]);
          assert.deepEqual([reason, claimable], [openings[state].claim[year], openings[state].claim[year] === null]);
          assert.strictEqual(claimableAt, state === "funded" ? opensAt : null);
        }
      }));

    it(`[D19] finalize of a ${state} one returns the calldata, and a time only if the move is possible`, () =>
      unchanged(async () => {
        const { transactionId, paymentInstructions: terms } = deals[state];
        const call = moveCall(target(), "finalize", terms.escrowId);
        for (const [on, year] of years()) {
          const { status, body, text } = await get(on, market.buyer, transactionId, "/finalize");
          assert.strictEqual(status, 200, text);
          const { to, data, finalizable, finalizableAt, reason } = body.data;
          assert.deepEqual([to, data], [call.to, call.data]);
          const expected = openings[state].finalize[year];
          assert.deepEqual([reason, finalizable], [expected, expected === null]);
          assert.strictEqual(finalizableAt !== null, state === "delivered");
        }
      }));
  }

  it("[D18] confirm hands out accept only while the chain would take it, and the caller's actions in every state", () =>
    unchanged(async () => {
      for (const state of STATES.filter((each) => each !== "released")) {
        for (const [on, year] of years()) {
          const { transactionId, paymentInstructions: terms } = deals[state];
          const answer = await on.request("POST", `/api/v1/transactions/${transactionId}/confirm`, {
            key: market.buyer.apiKey,
          });
          assertError(answer, 409, "not_accepted_on_chain");
          const { accept, actions } = answer.body.details;
          const { data } = moveCall(target(), "accept", terms.escrowId);
          const expected = state === "delivered" && year === 0 ? data : undefined;
          assert.strictEqual(accept?.data, expected, `${state}, year ${year}`);
          assert.deepEqual(actions, (await readTransaction(on, market.buyer, transactionId)).actions);
        }
      }
    }));

  it("[D5] the criteria of a checkout are available in every state, to each party that sees it", () =>
    unchanged(async () => {
      for (const state of STATES) {
        const { transactionId, paymentInstructions } = deals[state];
        const agents = state === "pending_funding" ? [market.buyer] : [market.buyer, market.seller];
        for (const agent of agents) {
          const { status, body, text } = await get(api, agent, transactionId, "/criteria");
          assert.strictEqual(status, 200, text);
          assert.strictEqual(body.data.criteriaHash, paymentInstructions.criteriaHash);
        }
      }
    }));

  it("[D5] [D10] the criteria of an escrow without a checkout are a 404 criteria_not_available, but its other reads work", () =>
    unchanged(async () => {
      for (const agent of [market.seller, market.buyer]) {
        assertError(await get(api, agent, unsolicitedId, "/criteria"), 404, "criteria_not_available");
        const { unsolicited, status } = await readTransaction(api, agent, unsolicitedId);
        assert.deepEqual([unsolicited, status], [true, "funded"]);
      }
    }));

  it("[D7] [D17] a payload for an undelivered job is refused from the second after its deadline", async () => {
    const { transactionId, paymentInstructions } = deals.funded;
    const earlier = laterMs;
    laterMs = () => (paymentInstructions.deadline + 1) * 1_000;
    await changesNothing(ahead, [transactionId], async () => {
      const answer = await ahead.request("POST", `/api/v1/transactions/${transactionId}/deliver`, {
        key: market.seller.apiKey,
        body: { responsePayload: { late: true } },
      });
      assertError(answer, 409, "escrow_state_conflict");
      assert.strictEqual(answer.body.details.reason, "deadline_passed");
    }).finally(() => {
      laterMs = earlier;
    });
  });
});
