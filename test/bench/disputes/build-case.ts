import { PAYLOAD_GRACE_SECONDS } from "../../../api/config/constants.ts";
import type { CriteriaDocument } from "../../../api/features/criteria/document.ts";
import type { CriteriaEvaluator } from "../../../api/features/criteria/evaluator.ts";
import { disputeCase } from "../../../api/features/disputes/case-of.ts";
import type { DisputeCase, Handover, Side } from "../../../api/features/disputes/judging/case.ts";
import type { DisputeRecord } from "../../../api/features/disputes/model.ts";
import { deliveryProofOf } from "../../../api/features/transactions/delivery.ts";
import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import type { DisputeStory } from "./dispute-case.ts";

/** Chain times of every case, in unix seconds. */
const DELIVERED_AT = Date.UTC(2026, 10, 2, 12) / 1_000;
const DISPUTED_AT = DELIVERED_AT + 3_600;
const NOW = DISPUTED_AT + 7_200;
const RECEIVED_AT: Record<Exclude<Handover, "none">, number> = {
  in_time: DELIVERED_AT + PAYLOAD_GRACE_SECONDS / 2,
  late: DELIVERED_AT + 2 * PAYLOAD_GRACE_SECONDS,
  after_dispute: DISPUTED_AT + 60,
};
const OTHER_PROOF = `0x${"5e".repeat(32)}` as const;

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
  const deliveryProof = payload === null ? null : deliveryProofOf(payload);
  const proofHash = proof === "differs" || deliveryProof === null ? OTHER_PROOF : deliveryProof;
  const record: Partial<TransactionRecord> = {
    criteriaJson: document === null ? null : JSON.stringify(document),
    responsePayloadJson: payload === null ? null : JSON.stringify(payload),
    deliveryProof,
    payloadReceivedAt: handover === "none" ? null : new Date(RECEIVED_AT[handover] * 1_000),
    escrow: { deliveredAt: DELIVERED_AT, disputedAt: DISPUTED_AT, proofHash } as TransactionRecord["escrow"],
  };
  return record as TransactionRecord;
}

/** What the record of the dispute says about the parties' texts. */
function disputeOf({ reason, evidence }: DisputeStory): DisputeRecord {
  const submittedAt = new Date(NOW * 1_000);
  const of = (side: Side) =>
    evidence
      .filter(({ by }) => by === side)
      .map(({ type, description, attachments }, index) => ({
        ...{ evidenceId: `evd_${side}_${index}`, type, description, attachments: [...attachments], submittedAt },
      }));
  const record: Partial<DisputeRecord> = {
    _id: "dsp_bench",
    disputedAt: DISPUTED_AT,
    criteriaJson: null,
    reason: reason === null ? null : { text: reason, givenAt: submittedAt },
    evidence: { buyer: of("buyer"), seller: of("seller") },
  };
  return record as DisputeRecord;
}

/** The case that a judge gets, made by the code that makes it of the records of real disputes. */
export function buildCase(story: DisputeStory, evaluator: CriteriaEvaluator): Promise<DisputeCase> {
  return disputeCase({ dispute: disputeOf(story), record: transactionOf(story) }, evaluator, NOW);
}
