import { assert } from "chai";

import { assertError, assertInvalid } from "../../fixtures/api.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import { fundedDeal } from "../../fixtures/deals.ts";
import { Court } from "../../fixtures/disputes.ts";
import type { Disputed } from "../../fixtures/disputes.ts";
import { until } from "../../fixtures/until.ts";

const PROOF = {
  type: "delivery_proof",
  description: "The report as it was sent",
  attachments: ["https://files.example/report.pdf"],
};

describe("the parties of a dispute", () => {
  let court: Court;
  let stranger: TestAgent;

  before(async () => {
    court = await Court.open();
    stranger = await court.api.registerAgent();
  });
  after(() => court.close());

  const read = async (deal: Disputed) => (await court.read(deal.disputeId)).body.data;

  describe("say what is wrong", () => {
    it("[S4.r21] [D26] the buyer adds the reason and evidence to the dispute that it opened on chain", async () => {
      const deal = await court.disputed();
      const silent = await read(deal);
      assert.deepEqual([silent.status, silent.reason, silent.evidence], ["open", null, []]);
      const { status, body, text } = await court.complain(deal, { reason: "It is too short", evidence: [PROOF] });
      assert.strictEqual(status, 201, text);
      const { data } = body;
      assert.deepEqual(
        [data.disputeId, data.transactionId, data.reason, data.openedBy],
        [deal.disputeId, deal.transactionId, "It is too short", "buyer"],
      );
      const [item] = data.evidence;
      assert.include(item, { type: "delivery_proof", description: PROOF.description, submittedBy: "buyer" });
      assert.deepEqual(item.attachments, PROOF.attachments);
      const later = await read(deal);
      assert.isAtLeast(later.indexedBlock, data.indexedBlock);
      assert.deepEqual({ ...later, indexedBlock: data.indexedBlock }, data);
    });

    it("[D26] only once, and only the buyer", async () => {
      const deal = await court.disputed();
      assertError(await court.complain(deal, {}, court.seller), 403, "wrong_role");
      assert.strictEqual((await court.complain(deal)).status, 201);
      assertError(await court.complain(deal, { reason: "And it is late" }), 409, "dispute_reason_given");
      assert.strictEqual((await read(deal)).reason, "The summary is missing");
    });

    it("[D26] gets 409 with the call before the dispute is on chain, and none where it can't be opened", async () => {
      const delivered = await court.delivered();
      const early = await until("the delivery is indexed", async () => {
        const answer = await court.complain(delivered);
        return answer.body.details?.status === "delivered" && answer;
      });
      assertError(early, 409, "dispute_not_open_on_chain");
      const { openDispute, indexedBlock } = early.body.details;
      assert.isAtLeast(indexedBlock, 1);
      assert.strictEqual(openDispute.to, delivered.paymentInstructions.escrowContract);
      const funded = await fundedDeal(court.market);
      const tooEarly = await court.complain(funded);
      assertError(tooEarly, 409, "dispute_not_open_on_chain");
      assert.isNull(tooEarly.body.details.openDispute);
    });

    it("[S4.r21.1] [S5.16] can't name another agent", async () => {
      const deal = await court.disputed();
      const answer = await court.complain(deal, { disputingAgentId: court.seller.agentId });
      assertInvalid(answer, "body.disputingAgentId");
      assert.isNull((await read(deal)).reason);
    });
  });

  describe("submit evidence", () => {
    it("[S4.r23] [S4.r23.1] [S2.6.01] [S2.6.02] by either path, each party its own", async () => {
      const deal = await court.disputed();
      const bySeller = await court.submit(deal, PROOF, court.seller);
      assert.strictEqual(bySeller.status, 201, bySeller.text);
      const path = `/api/v1/transactions/${deal.transactionId}/dispute/evidence`;
      const body = { ...PROOF, type: "communication", description: "What we agreed in the chat" };
      const byBuyer = await court.api.request("POST", path, { key: court.buyer.apiKey, body });
      assert.strictEqual(byBuyer.status, 201, byBuyer.text);
      const { evidence } = await read(deal);
      assert.deepEqual(
        evidence.map(({ submittedBy, type }: { submittedBy: string; type: string }) => [submittedBy, type]),
        [
          ["seller", "delivery_proof"],
          ["buyer", "communication"],
        ],
      );
      assert.strictEqual(new Set(evidence.map(({ evidenceId }: { evidenceId: string }) => evidenceId)).size, 2);
    });

    it("[S2.6.03] attachments are https URLs", async () => {
      const deal = await court.disputed();
      for (const url of ["report.pdf", "http://files.example/report.pdf", "ftp://files.example/a"]) {
        assertInvalid(await court.submit(deal, { ...PROOF, attachments: [url] }), "body.attachments.0");
      }
      const many = Array.from({ length: 11 }, (_, n) => `https://files.example/${n}`);
      assertInvalid(await court.submit(deal, { ...PROOF, attachments: many }), "body.attachments");
      assert.strictEqual((await court.submit(deal, { ...PROOF, attachments: many.slice(1) })).status, 201);
    });

    it("[D26] needs type and description unless it only says that nothing more comes", async () => {
      const deal = await court.disputed();
      assertInvalid(await court.submit(deal, {}), "body.type", "body.description");
      assertInvalid(await court.submit(deal, { type: "other" }), "body.description");
      assertInvalid(await court.submit(deal, { ...PROOF, type: "rumour" }), "body.type");
      assertInvalid(await court.submit(deal, { ...PROOF, description: "x".repeat(5_001) }), "body.description");
      assert.strictEqual((await court.submit(deal, { complete: true })).status, 201);
    });

    it("[D26] at most 20 items a party, also when they come at once", async () => {
      const deal = await court.disputed();
      const evidence = Array.from({ length: 18 }, () => PROOF);
      assert.strictEqual((await court.complain(deal, { evidence })).status, 201);
      const answers = await Promise.all(Array.from({ length: 5 }, () => court.submit(deal, PROOF)));
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 201, 409, 409, 409]);
      const refused = answers.find(({ status }) => status === 409);
      assert.strictEqual(refused?.body.code, "evidence_limit_reached");
      assert.lengthOf((await read(deal)).evidence, 20);
      assert.strictEqual((await court.submit(deal, PROOF, court.seller)).status, 201);
    });

    it("[D26] not after the party has marked its evidence complete", async () => {
      const deal = await court.disputed();
      assert.strictEqual((await court.submit(deal, { ...PROOF, complete: true })).status, 201);
      assertError(await court.submit(deal, PROOF), 409, "evidence_closed");
      assert.deepEqual((await read(deal)).complete, { buyer: true, seller: false });
      assert.strictEqual((await court.submit(deal, PROOF, court.seller)).status, 201);
    });

    it("[D26] makes the ruling due once both have spoken, with a minute for the next item", async () => {
      const deal = await court.disputed();
      const record = async () => {
        const found = await court.api.container.features.disputes.models.disputes.findById(deal.disputeId).lean();
        assert.exists(found);
        return found;
      };
      const minuteAfter = (items: { submittedAt: Date }[]) => new Date(Number(items.at(-1)?.submittedAt) + 60_000);
      const submit = async (body: object, agent: TestAgent) => {
        assert.strictEqual((await court.submit(deal, body, agent)).status, 201);
        return record();
      };
      const bySeller = await submit(PROOF, court.seller);
      assert.deepEqual(bySeller.dueAt, bySeller.evidenceEndsAt);
      const byBoth = await submit(PROOF, court.buyer);
      assert.deepEqual(byBoth.dueAt, minuteAfter(byBoth.evidence.buyer));
      const bySellerAgain = await submit(PROOF, court.seller);
      assert.deepEqual(bySellerAgain.dueAt, minuteAfter(bySellerAgain.evidence.seller));
      const sellerComplete = await submit({ complete: true }, court.seller);
      const buyersEnd = minuteAfter(sellerComplete.evidence.buyer);
      const sellersEnd = sellerComplete.complete.seller;
      assert.exists(sellersEnd);
      assert.deepEqual(sellerComplete.dueAt, sellersEnd > buyersEnd ? sellersEnd : buyersEnd);
    });

    it("[D26] with the criteria document of an escrow without a checkout, within the bounds of a checkout", async () => {
      const deal = await court.disputed();
      const { transactions } = court.api.container.features.transactions.models;
      const { criteriaJson } = (await transactions.findById(deal.transactionId).lean()) ?? {};
      const criteria = JSON.parse(criteriaJson ?? "") as { criteria: object };
      assertInvalid(await court.submit(deal, { criteria }, court.seller), "body.criteria");
      await transactions.updateOne({ _id: deal.transactionId }, { $set: { criteriaJson: null } });
      const withChecks = (checks: string[]) => ({ criteria: { ...criteria, criteria: { checks } } });
      const many = Array.from({ length: 51 }, (_, n) => `Check ${n}`);
      assertInvalid(await court.submit(deal, withChecks(many)), "body.criteria.criteria.checks");
      assertInvalid(await court.submit(deal, withChecks(["x".repeat(501)])), "body.criteria.criteria.checks.0");
      assertError(await court.submit(deal, withChecks(["Another"])), 409, "criteria_hash_mismatch");
      assert.strictEqual((await court.submit(deal, { criteria }, court.seller)).status, 201);
    });

    it("[D43] once for one Idempotency-Key", async () => {
      const deal = await court.disputed();
      const request = { key: court.buyer.apiKey, body: PROOF, headers: { "idempotency-key": "evidence-1" } };
      const path = `/api/v1/disputes/${deal.disputeId}/evidence`;
      const first = await court.api.request("POST", path, request);
      const again = await court.api.request("POST", path, request);
      assert.deepEqual([first.status, again.status], [201, 201]);
      assert.deepEqual(again.body, first.body);
      assert.lengthOf((await read(deal)).evidence, 1);
    });

    it("keeps hostile texts as they are and never as operators", async () => {
      const deal = await court.disputed();
      const description = '$complete.seller {"$set": {"ruling": 1}} $$ROOT';
      assert.strictEqual((await court.complain(deal, { reason: "$reason" })).status, 201);
      assert.strictEqual((await court.submit(deal, { type: "other", description })).status, 201);
      const { reason, evidence, complete } = await read(deal);
      assert.deepEqual([reason, evidence[0].description], ["$reason", description]);
      assert.deepEqual(complete, { buyer: false, seller: false });
      const bidi = await court.submit(deal, { type: "other", description: "pay \u202eme" });
      assertInvalid(bidi, "body.description");
    });
  });

  describe("read it", () => {
    it("[S4.r22] [D33] and nobody else: to a stranger it doesn't exist", async () => {
      const deal = await court.disputed();
      for (const agent of [court.buyer, court.seller]) {
        assert.strictEqual((await court.read(deal.disputeId, agent)).status, 200);
      }
      assertError(await court.read(deal.disputeId, stranger), 404, "not_found");
      assertError(await court.read("dsp_0123456789abcdef0123456789abcdef"), 404, "not_found");
      assertError(await court.submit(deal, PROOF, stranger), 404, "not_found");
      assertError(await court.complain(deal, {}, stranger), 404, "not_found");
      const ruling = await court.api.request("GET", `/api/v1/disputes/${deal.disputeId}/ruling`, {
        key: stranger.apiKey,
      });
      assertError(ruling, 404, "not_found");
    });

    it("[D26] [S8.1.05] with an evidence period of 48 hours from the dispute on chain", async () => {
      const deal = await court.disputed();
      const { createdAt, evidenceDeadline } = await read(deal);
      assert.strictEqual(Date.parse(evidenceDeadline) - Date.parse(createdAt), 172_800_000);
      const none = await court.api.request("GET", `/api/v1/disputes/${deal.disputeId}/ruling`, {
        key: court.buyer.apiKey,
      });
      assertError(none, 404, "ruling_not_available");
    });
  });
});
