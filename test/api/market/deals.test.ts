// What anyone sees of a deal: the chain's facts, and none of the parties' texts.
import { assert } from "chai";

import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { act, deliverDeal, fundedDeal, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const PATH = "/api/v1/market/deals";
/** Texts that only the parties may read. */
const SECRETS = ["secret-request", "secret-result", "secret-hook", "secret-criteria"];

describe("GET /api/v1/market/deals/{escrowId}", () => {
  let api: TestApi;
  let market: Market;
  let deal: CheckoutData;
  before(async () => {
    api = await startTestApi({ timings: { publicBlockMs: 0 } });
    market = await openMarket(api, await openChain("base-sepolia"));
    deal = await fundedDeal(market, {
      requestPayload: { text: "secret-request" },
      callbackUrl: "https://buyer.example/secret-hook",
      criteria: { checks: ["secret-criteria"] },
    });
  });
  after(() => api.close());

  async function readUntil(status: string, query = ""): Promise<any> {
    return until(`the deal is ${status}`, async () => {
      const { body, text } = await api.request("GET", `${PATH}/${deal.paymentInstructions.escrowId}${query}`);
      for (const secret of [...SECRETS, deal.transactionId, market.serviceId, market.buyer.agentId])
        assert.notInclude(text, secret);
      return body.data?.status === status && body.data;
    });
  }

  /** The public words for what a party's own `actions` offer, as moves on chain. */
  async function assertSameAsActions(shown: any): Promise<void> {
    for (const role of ["buyer", "seller"] as const) {
      const { actions } = await readTransaction(api, market[role], deal.transactionId);
      const offered = actions.filter(({ method }: { method?: string }) => method === undefined);
      const open = shown.next.filter(({ by, opensAt }: any) => (by === role || by === "anyone") && opensAt === null);
      const facts = ({ move, action, text, description, availableUntil }: any) => ({
        move: move ?? action,
        text: text ?? description,
        availableUntil,
      });
      assert.deepEqual(offered.map(facts), open.map(facts), role);
    }
  }

  it("shows parties, money, each move and what may happen next, from the funding to the release", async () => {
    const { paymentInstructions: terms } = deal;
    const funded = await readUntil("funded");
    assert.deepInclude(funded, {
      escrowId: terms.escrowId,
      network: "base-sepolia",
      chainId: 84_532,
      escrowContract: terms.escrowContract,
      buyerAddress: market.buyer.walletAddress,
      sellerAddress: market.seller.walletAddress,
      amount: terms.amount,
      platformFee: terms.platformFee,
      lockedAmount: terms.refundableAmount,
      valueUsd: "2.5",
      deadlineAt: terms.deadlineAt,
      criteriaHash: terms.criteriaHash,
      sellerAmount: null,
      settledAt: null,
    });
    assert.deepEqual(funded.token, { symbol: "USDC", address: terms.tokenAddress, decimals: 6 });
    const ahead = ({ next }: any) => next.map(({ move, by }: any) => `${by} ${move}`);
    assert.deepEqual(ahead(funded), ["seller submitDelivery", "seller refund", "buyer claimAbandoned"]);
    const [submit, refund, reclaim] = funded.next;
    assert.strictEqual(submit.availableUntil, terms.deadlineAt);
    assert.strictEqual(Date.parse(refund.availableUntil), (terms.deadline + terms.abandonmentGrace) * 1_000);
    assert.strictEqual(Date.parse(reclaim.opensAt), Date.parse(refund.availableUntil) + 1_000);

    const receipt = await deliverDeal(market, deal.transactionId, { text: "secret-result" });
    const delivered = await readUntil("delivered", "?network=base-sepolia");
    assert.deepEqual(ahead(delivered), ["buyer accept", "buyer openDispute", "anyone finalize"]);
    await assertSameAsActions(delivered);
    const end = Date.parse(delivered.deliveredAt) + terms.disputeWindow * 1_000;
    const times = delivered.next.map(({ availableUntil, opensAt }: any) => Date.parse(availableUntil ?? opensAt));
    assert.deepEqual(times, [end, end, end + 1_000]);
    assert.strictEqual(delivered.moves[1].txHash, receipt.transactionHash);
    assert.strictEqual(delivered.moves[1].blockNumber, Number(receipt.blockNumber));
    assert.isAtLeast(delivered.indexedBlock, delivered.moves[1].blockNumber);

    await act(api, market.chain, market.buyer, deal.transactionId, "accept");
    const released = await readUntil("released");
    assert.deepEqual(
      released.moves.map(({ event }: { event: string }) => event),
      ["EscrowCreated", "DeliverySubmitted", "EscrowReleased"],
    );
    assert.deepEqual(
      [released.next, released.sellerAmount, released.buyerAmount, released.automatic],
      [[], terms.refundableAmount, "0", false],
    );
  });

  it("shows a disputed deal with who decides it, and from when on anyone may end it", async () => {
    deal = await fundedDeal(market);
    await deliverDeal(market, deal.transactionId);
    await act(api, market.chain, market.buyer, deal.transactionId, "openDispute");
    const { next, disputedAt, outcome } = await readUntil("disputed");
    assert.isNull(outcome);
    assert.deepEqual(
      next.map(({ move, by, opensAt, availableUntil }: any) => [move, by, opensAt, availableUntil]),
      [
        ["resolve", "resolver", null, null],
        ["resolveExpired", "anyone", new Date(Date.parse(disputedAt) + 2_592_001_000).toISOString(), null],
      ],
    );
  });

  it("is read by an id in any case, and is 404 elsewhere", async () => {
    const { escrowId } = deal.paymentInstructions;
    const upper = `0x${escrowId.slice(2).toUpperCase()}`;
    assert.strictEqual((await api.request("GET", `${PATH}/${upper}`)).body.data.escrowId, escrowId);
    assertError(await api.request("GET", `${PATH}/${escrowId}?network=base`), 404, "not_found");
    assertError(await api.request("GET", `${PATH}/0x${"12".repeat(32)}`), 404, "not_found");
  });

  it("refuses what is no escrow id or network by name", async () => {
    for (const id of ["unknown", deal.transactionId, `${deal.paymentInstructions.escrowId}0`])
      assertInvalid(await api.request("GET", `${PATH}/${id}`), "params.escrowId");
    assertInvalid(await api.request("GET", `${PATH}/0x${"12".repeat(32)}?network=polygon`), "query.network");
  });
});
