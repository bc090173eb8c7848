import { toUnixSeconds } from "../../lib/clock.ts";
import type { CriteriaDocument } from "../criteria/document.ts";
import type { CriteriaEvaluator } from "../criteria/evaluator.ts";
import { handoverFacts } from "../criteria/facts.ts";
import type { Fact } from "../criteria/facts.ts";
import { handoverEnd } from "../transactions/deadlines.ts";
import type { TransactionRecord } from "../transactions/model.ts";
import type { DisputeCase, Handover, Side, SubmittedEvidence } from "./judging/case.ts";
import type { DisputeRecord } from "./model.ts";

/**
 * Whether the copy of the transaction has the dispute. The subgraph's reader may open a dispute before the follower has
 * seen it. Without the chain's times, a case would be judged by the wrong facts.
 */
export function hasDispute(record: TransactionRecord, { disputedAt }: Pick<DisputeRecord, "disputedAt">): boolean {
  return record.status === "disputed" && disputedAt !== null && record.escrow?.disputedAt === disputedAt;
}

function toHandover(record: TransactionRecord, disputedAt: number): Handover {
  if (record.payloadReceivedAt === null || record.responsePayloadJson === null) return "none";
  const receivedAt = toUnixSeconds(record.payloadReceivedAt);
  const isInTime = receivedAt <= handoverEnd(record);
  // A dispute about a missing payload must not be the reminder to hand it over.
  if (receivedAt > disputedAt) return isInTime ? "late" : "after_dispute";
  return isInTime ? "in_time" : "late";
}

function toEvidence(by: Side, { evidence }: DisputeRecord): SubmittedEvidence[] {
  return evidence[by].map(({ type, description, attachments }) => ({ by, type, description, attachments }));
}

/**
 * The case of a dispute: the facts by code, and the parties' submissions.
 * @param now chain time in unix seconds
 * @throws EvaluatorUnavailableError
 */
export async function loadCase(
  { dispute, record }: { dispute: DisputeRecord; record: TransactionRecord },
  evaluator: CriteriaEvaluator,
  now: number,
): Promise<DisputeCase> {
  const criteriaJson = record.criteriaJson ?? dispute.criteriaJson;
  const criteria = criteriaJson === null ? null : (JSON.parse(criteriaJson) as CriteriaDocument);
  const payload =
    record.responsePayloadJson === null ? null : (JSON.parse(record.responsePayloadJson) as Record<string, unknown>);
  const facts: Fact[] = handoverFacts(record, now);
  const { schema, checks } =
    criteria === null || payload === null
      ? { schema: undefined, checks: [] }
      : await evaluator.evaluate(`dispute:${dispute._id}`, criteria.criteria ?? {}, {
          result: payload,
          request: criteria.requestPayload,
          quantity: criteria.quantity,
        });
  if (schema !== undefined) facts.push({ name: "schema_matches", ...schema });
  return {
    criteria,
    payload,
    handover: toHandover(record, dispute.disputedAt ?? record.escrow?.disputedAt ?? 0),
    facts,
    checks,
    reason: dispute.reason?.text ?? null,
    evidence: [...toEvidence("buyer", dispute), ...toEvidence("seller", dispute)],
  };
}
