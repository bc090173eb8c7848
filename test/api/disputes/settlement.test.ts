import { assert } from "chai";
import type { Hex } from "viem";

import { AGREEMENT_TYPES, agreementDomain } from "../../../api/chain/agreement.ts";
import { assertError, assertInvalid } from "../../fixtures/api.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import { Court } from "../../fixtures/disputes.ts";
import type { Disputed } from "../../fixtures/disputes.ts";

interface Terms {
  buyerPercent: number;
  deadline: number;
}

const inAnHour = () => Math.floor(Date.now() / 1_000) + 3_600;

describe("a settlement by agreement", () => {
  let court: Court;
  before(async () => {
    court = await Court.open();
  });
  after(() => court.close());

  function sign(agent: TestAgent, { paymentInstructions }: Disputed, { buyerPercent, deadline }: Terms): Promise<Hex> {
    const { chainId } = paymentInstructions;
    return agent.account.signTypedData({
      domain: agreementDomain({ chainId, resolverContract: court.chain.deployment.resolver }),
      types: AGREEMENT_TYPES,
      primaryType: "ResolutionAgreement",
      message: {
        escrowId: paymentInstructions.escrowId,
        buyerPercent: BigInt(buyerPercent),
        deadline: BigInt(deadline),
      },
    });
  }
  const post = (agent: TestAgent, { disputeId }: Disputed, body: object) =>
    court.api.request("POST", `/api/v1/disputes/${disputeId}/settlement`, { key: agent.apiKey, body });
  const offer = async (agent: TestAgent, deal: Disputed, terms: Terms) =>
    post(agent, deal, { ...terms, signature: await sign(agent, deal, terms) });

  it("[D44] is offered by one party, answered by the other, and paid by the ready call", async () => {
    const deal = await court.disputed();
    const terms = { buyerPercent: 30, deadline: inAnHour() };
    const first = await offer(court.seller, deal, terms);
    assert.strictEqual(first.status, 200, first.text);
    const seen = (await court.read(deal.disputeId)).body.data.settlement;
    assert.include(seen.offers.seller, { ...terms, status: "open" });
    assert.deepEqual([seen.offers.buyer, seen.calls], [null, []]);
    const { calls } = (await offer(court.buyer, deal, terms)).body.data.settlement;
    assert.lengthOf(calls, 1);
    const before = await court.chain.usdcOf(court.buyer.walletAddress);
    assert.strictEqual((await court.chain.send(court.buyer.account, calls[0])).status, "success");
    const paid = (await court.chain.usdcOf(court.buyer.walletAddress)) - before;
    assert.strictEqual(paid, (BigInt(deal.paymentInstructions.refundableAmount) * 30n) / 100n);
    const resolved = await court.until("resolved", deal);
    assert.include(resolved, { outcome: "Split", buyerPercent: 30, sellerPercent: 70 });
    assert.include(resolved, { resolutionMethod: "agreement", resolvedBy: "system", rationale: null });
    const late = await offer(court.buyer, deal, terms);
    assertError(late, 409, "dispute_not_open_on_chain");
    assert.isNull(late.body.details.openDispute);
    assert.isAtLeast(late.body.details.indexedBlock, resolved.indexedBlock);
  });

  it("[D44] different terms aren't an agreement; a newer offer replaces the party's earlier one", async () => {
    const deal = await court.disputed();
    const deadline = inAnHour();
    await offer(court.seller, deal, { buyerPercent: 30, deadline });
    const other = (await offer(court.buyer, deal, { buyerPercent: 40, deadline })).body.data.settlement;
    assert.deepEqual(other.calls, []);
    const agreed = (await offer(court.seller, deal, { buyerPercent: 40, deadline })).body.data.settlement;
    assert.deepEqual([agreed.offers.seller.buyerPercent, agreed.calls.length], [40, 1]);
  });

  it("[D44] keeps no signature that the contract would refuse", async () => {
    const deal = await court.disputed();
    const terms = { buyerPercent: 30, deadline: inAnHour() };
    const signature = await sign(court.seller, deal, terms);
    assertError(await post(court.buyer, deal, { ...terms, signature }), 400, "signature_invalid");
    assertError(await post(court.seller, deal, { ...terms, buyerPercent: 31, signature }), 400, "signature_invalid");
    assertError(await post(court.seller, deal, { ...terms, signature: "0x1234" }), 400, "signature_invalid");
    // The equivalent signature with the other s, which ecrecover would accept.
    const s =
      0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n - BigInt(`0x${signature.slice(66, 130)}`);
    const v = signature.endsWith("1b") ? "1c" : "1b";
    const malleable = `${signature.slice(0, 66)}${s.toString(16).padStart(64, "0")}${v}`;
    assertError(await post(court.seller, deal, { ...terms, signature: malleable }), 400, "signature_invalid");
    assert.isNull((await court.read(deal.disputeId)).body.data.settlement.offers.seller);
  });

  it("[D44] ends a dispute whose ruling isn't on chain yet, and the ruling has no hash there", async () => {
    const deal = await court.disputed();
    const terms = { buyerPercent: 60, deadline: inAnHour() };
    await offer(court.seller, deal, terms);
    const { calls } = (await offer(court.buyer, deal, terms)).body.data.settlement;
    await court.complete(deal);
    const ruled = await court.until("ruled", deal);
    assert.include(ruled, { outcome: "SellerPaid", resolutionMethod: "ruling", resolutionTxHash: null });
    assert.strictEqual((await court.chain.send(court.buyer.account, calls[0])).status, "success");
    const resolved = await court.until("resolved", deal);
    assert.include(resolved, { outcome: "Split", buyerPercent: 60, resolutionMethod: "agreement", rationale: null });
    const path = `/api/v1/disputes/${deal.disputeId}/ruling`;
    const { data } = (await court.api.request("GET", path, { key: court.buyer.apiKey })).body;
    assert.deepEqual([data.document.outcome, data.onChain], ["SellerPaid", null]);
  });

  it("[D44] ends with its deadline, which lies ahead and within 30 days", async () => {
    const deal = await court.disputed();
    for (const deadline of [0, Math.floor(Date.now() / 1_000) - 1, inAnHour() + 2_592_000]) {
      assertInvalid(await offer(court.buyer, deal, { buyerPercent: 10, deadline }), "body.deadline");
    }
    assertInvalid(
      await post(court.buyer, deal, { buyerPercent: 101, deadline: inAnHour(), signature: "0x12" }),
      "body.buyerPercent",
    );
    const { disputes } = court.api.container.features.disputes.models;
    const terms = { buyerPercent: 10, deadline: inAnHour() };
    await offer(court.buyer, deal, terms);
    await offer(court.seller, deal, terms);
    const past = { "offers.buyer.deadline": 1_700_000_000, "offers.seller.deadline": 1_700_000_000 };
    await disputes.updateOne({ _id: deal.disputeId }, { $set: past });
    const { offers, calls } = (await court.read(deal.disputeId)).body.data.settlement;
    assert.deepEqual([offers.buyer.status, offers.seller.status, calls], ["expired", "expired", []]);
  });
});
