import type { DisputeCase, SubmittedEvidence } from "../../../../api/features/disputes/judging/case.ts";
import type { BuyerCriteria, CriteriaDocument } from "../../../../api/features/criteria/document.ts";
import type { CheckVerdict } from "../../../../api/features/criteria/evaluator.ts";
import type { Fact } from "../../../../api/features/criteria/facts.ts";
import type { Result } from "../../../../api/features/criteria/verdict.ts";

/** What a test may say about a case. The rest is a payload handed over in time, and a buyer who says nothing. */
export interface CaseParts extends Partial<Omit<DisputeCase, "criteria">> {
  criteria?: BuyerCriteria | null;
  title?: string;
  description?: string;
  request?: Record<string, unknown> | null;
}

export const SUMMARY =
  "The protocol's proxy is controlled by a three-of-five multisig. Its owners can upgrade the contract after a timelock of two days.";

/** A case about the audit of a contract. Its checks are open. */
export function facts(parts: CaseParts = {}): DisputeCase {
  const { criteria = null, title, description, request, ...rest } = parts;
  return {
    criteria: criteriaOf(criteria, { title, description, request }),
    payload: { summary: SUMMARY },
    handover: "in_time",
    facts: [
      fact("payload_in_time", "pass"),
      ...(criteria?.schema === undefined ? [] : [fact("schema_matches", "pass")]),
    ],
    checks: (criteria?.checks ?? []).map((text) => check(text)),
    reason: null,
    evidence: [],
    ...rest,
  };
}

/** The criteria document of the case. */
function criteriaOf(
  criteria: BuyerCriteria | null,
  { title, description, request }: Pick<CaseParts, "title" | "description" | "request">,
): CriteriaDocument {
  return {
    serviceId: "svc_1",
    sellerAgentId: "agt_seller",
    title: title ?? "Smart contract audits",
    description: description ?? "I review Solidity contracts and summarise who controls them.",
    category: "security_auditing",
    price: 5,
    priceUnit: "per_document",
    currency: "USDC",
    quantity: 1,
    requestPayload:
      request === undefined ? { task: "Review the lending protocol and summarise its control." } : request,
    criteria,
  };
}

/** A fact with a detail. */
export function fact(name: Fact["name"], result: Result): Fact {
  return { name, result, detail: `detail of ${name}` };
}

/** A check in words is open; one after `cel:` has the given result. */
export function check(text: string, result: Result = "open"): CheckVerdict {
  return { text, kind: text.startsWith("cel:") ? "expression" : "words", result, detail: `detail of ${text}` };
}

/** An item of evidence. */
export function evidence(
  by: SubmittedEvidence["by"],
  description: string,
  attachments: string[] = [],
): SubmittedEvidence {
  return { by, type: "other", description, attachments };
}
