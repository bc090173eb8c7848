import { PAYLOAD_GRACE_SECONDS } from "../../../api/config/constants.ts";
import type { CriteriaDocument } from "../../../api/features/criteria/document.ts";
import type { CriteriaEvaluator } from "../../../api/features/criteria/evaluator.ts";
import { loadCase } from "../../../api/features/disputes/load-case.ts";
import type { DisputeCase, Handover, Side } from "../../../api/features/disputes/judging/case.ts";
import type { DisputeRecord } from "../../../api/features/disputes/model.ts";
import { hashPayload } from "../../../api/features/transactions/delivery.ts";
import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import type { DisputeStory } from "./dispute-case.ts";

/** Chain times of every case, in unix seconds. */
const DELIVERED_AT = Date.UTC(2026, 10, 2, 12) / 1_000;
const NOW = DELIVERED_AT + 3 * 3_600;
const OTHER_PROOF = `0x${"5e".repeat(32)}` as const;

const disputedAt = ({ disputeAfterSeconds }: DisputeStory): number => DELIVERED_AT + disputeAfterSeconds;

/** When the payload came, in unix seconds. */
function receivedAt(story: DisputeStory, handover: Exclude<Handover, "none">): number {
  const inTime = DELIVERED_AT + PAYLOAD_GRACE_SECONDS / 2;
  if (handover === "in_time") return inTime;
  if (handover === "after_dispute") return disputedAt(story) + 60;
  // Before the dispute, or after a dispute that didn't wait until the seller's time was over.
  return disputedAt(story) < inTime ? inTime : DELIVERED_AT + 2 * PAYLOAD_GRACE_SECONDS;
}

/** The terms as checkout fixes them. */
function documentOf(story: DisputeStory): CriteriaDocument | null {
  const { title, description, category, price, priceUnit, quantity, request, criteria } = story;
  if (criteria === "unknown") return null;
  const ids = { serviceId: "svc_bench", sellerAgentId: "agt_seller" };
  const terms = { title, description, category, price, priceUnit, currency: "USDC", quantity };
  return { ...ids, ...terms, requestPayload: request, criteria };
}

/** What the record of the transaction says about terms and delivery. */
function transactionOf(story: DisputeStory): TransactionRecord {
  const { payload, handover, proof } = story;
  const document = documentOf(story);
  const deliveryProof = payload === null ? null : hashPayload(payload);
  const proofHash = proof === "differs" || deliveryProof === null ? OTHER_PROOF : deliveryProof;
  const record: Partial<TransactionRecord> = {
    criteriaJson: document === null ? null : JSON.stringify(document),
    responsePayloadJson: payload === null ? null : JSON.stringify(payload),
    deliveryProof,
    payloadReceivedAt: handover === "none" ? null : new Date(receivedAt(story, handover) * 1_000),
    escrow: { deliveredAt: DELIVERED_AT, disputedAt: disputedAt(story), proofHash } as TransactionRecord["escrow"],
  };
  return record as TransactionRecord;
}

/** What the record of the dispute says about the parties' texts. */
function disputeOf(story: DisputeStory): DisputeRecord {
  const { reason, evidence } = story;
  const submittedAt = new Date(NOW * 1_000);
  const of = (side: Side) =>
    evidence
      .filter(({ by }) => by === side)
      .map(({ type, description, attachments }, index) => ({
        evidenceId: `evd_${side}_${index}`,
        type,
        description,
        attachments: [...attachments],
        submittedAt,
      }));
  const record: Partial<DisputeRecord> = {
    _id: "dsp_bench",
    disputedAt: disputedAt(story),
    criteriaJson: null,
    reason: reason === null ? null : { text: reason, givenAt: submittedAt },
    evidence: { buyer: of("buyer"), seller: of("seller") },
  };
  return record as DisputeRecord;
}

/** The case that a judge gets, made by the code that makes it of the records of real disputes. */
export function buildCase(story: DisputeStory, evaluator: CriteriaEvaluator): Promise<DisputeCase> {
  return loadCase({ dispute: disputeOf(story), record: transactionOf(story) }, evaluator, NOW);
}
