// A dispute about an escrow that was created on chain without a checkout.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Hex } from "viem";

import { approveCall, createEscrowCall } from "../../../api/chain/calldata.ts";
import { hashCriteria } from "../../../api/features/criteria/document.ts";
import type { CriteriaDocument } from "../../../api/features/criteria/document.ts";
import { assertError, assertInvalid } from "../../fixtures/api.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import { deliverDeal, ONE_USDC } from "../../fixtures/deals.ts";
import { BAD, Court, DECIDED } from "../../fixtures/disputes.ts";
import type { Disputed } from "../../fixtures/disputes.ts";
import { until } from "../../fixtures/until.ts";

const DAY_SECONDS = 86_400;

describe("a dispute about an escrow without a checkout", () => {
  let court: Court;
  before(async () => {
    court = await Court.open();
  });
  after(() => court.close());

  const document = (): CriteriaDocument => ({
    serviceId: court.market.serviceId,
    sellerAgentId: court.seller.agentId,
    title: "Agreed by chat",
    description: "A summary of three words",
    category: "research",
    price: 1,
    priceUnit: "flat",
    currency: "USDC",
    quantity: 1,
    requestPayload: { topic: "bridges" },
    criteria: DECIDED,
  });

  /** An escrow of 1 USDC whose seller hands over a payload that breaks the criteria. */
  async function disputed(criteriaHash: Hex): Promise<Disputed> {
    const { chain, buyer, seller, api } = court;
    const usdc = chain.deployment.tokens.find(({ symbol }) => symbol === "USDC");
    assert.ok(usdc !== undefined);
    const target = { chainId: chain.deployment.chainId, escrowContract: chain.deployment.escrow };
    const { timestamp } = await chain.client.getBlock();
    const escrowId: Hex = `0x${randomBytes(32).toString("hex")}`;
    await chain.send(buyer.account, approveCall(target, usdc.address, ONE_USDC));
    const terms = {
      escrowId,
      seller: seller.walletAddress,
      amount: ONE_USDC,
      token: usdc.address,
      criteriaHash,
      deadline: Number(timestamp) + DAY_SECONDS,
      disputeWindow: 3_600,
      abandonmentGrace: DAY_SECONDS,
    };
    await chain.send(buyer.account, createEscrowCall(target, terms));
    const seenBy = ({ apiKey }: TestAgent) =>
      until("the escrow is announced", async () => {
        const { body } = await api.request("GET", "/api/v1/transactions?limit=100", { key: apiKey });
        const own = body.data as { escrowId: string; transactionId: string }[];
        return own.find((transaction) => transaction.escrowId === escrowId)?.transactionId;
      });
    // An agent that has just registered gets escrows without a checkout in its turn, so one party may see it earlier.
    const [transactionId] = await Promise.all([seenBy(buyer), seenBy(seller)]);
    await deliverDeal(court.market, transactionId, BAD);
    const deal = { transactionId } as Disputed;
    await court.openDispute(deal);
    const { disputeId } = await until("the dispute is indexed", async () => {
      const { status, body } = await court.complain(deal);
      return status === 201 && (body.data as { disputeId: string });
    });
    return { ...deal, disputeId };
  }
  const rulingOf = async (deal: Disputed) => {
    await court.complete(deal);
    await court.until("ruled", deal);
    const path = `/api/v1/disputes/${deal.disputeId}/ruling`;
    return (await court.api.request("GET", path, { key: court.buyer.apiKey })).body.data.document;
  };

  it("[D26] is judged by the criteria document that a party supplies, if it has the escrow's hash", async () => {
    const agreed = document();
    const deal = await disputed(hashCriteria(agreed));
    const other = { ...agreed, description: "Anything at all" };
    assertError(await court.submit(deal, { criteria: other }, court.seller), 409, "criteria_hash_mismatch");
    assertInvalid(await court.submit(deal, { criteria: { title: "Anything" } }), "body.criteria.serviceId");
    assert.strictEqual((await court.submit(deal, { criteria: agreed })).status, 201);
    const ruling = await rulingOf(deal);
    assert.deepEqual([ruling.outcome, ruling.judge, ruling.checks[0].result], ["BuyerRefund", "facts", "fail"]);
  });

  it("[D26] is split without it, when the buyer has complained", async () => {
    const deal = await disputed(hashCriteria(document()));
    const ruling = await rulingOf(deal);
    assert.deepEqual([ruling.outcome, ruling.checks], ["Split", []]);
  });

  it("[D5] takes no other document for a checkout", async () => {
    const deal = await court.disputed();
    assertInvalid(await court.submit(deal, { criteria: document() }), "body.criteria");
  });
});
