import type { DisputeOutcome } from "../../../indexer/schemas.ts";
import type { Verdict } from "../../criteria/verdict.ts";
import type { DisputeCase } from "./case.ts";
import { ordersOnly } from "./evidence-text.ts";
import { voidChecks } from "./prompt-injection.ts";
import { AGREEMENT_QUESTION, LATE_REASON, SCHEMA_QUESTION } from "./questions.ts";
import type { Question } from "./questions.ts";
import type { SanitisedCase } from "./sanitised-case.ts";
import { quote } from "./texts.ts";

/** The outcome by the facts, or the questions that they leave to a judge. */
export type FactsRuling =
  | {
      outcome: DisputeOutcome;
      reasons: string[];
      /** Set if the buyer's silence decides: the reasons without it, for a payload that has nothing to do with the request. */
      unlessUnrelated?: string[];
    }
  | { outcome: null; reasons: string[]; questions: Question[] };

/** Rules cases that need no judgement, by the table in docs/inside/rulings.md. */
export function ruleByFacts({ dispute, isPayloadEmpty }: SanitisedCase): FactsRuling {
  const lines = factLines(dispute);
  const ruled = (outcome: DisputeOutcome, ...why: string[]) => ({ outcome, reasons: [...lines, ...why] });
  const { criteria, payload, handover, facts, checks } = dispute;

  if (payload === null || handover === "none") {
    return ruled("BuyerRefund", "The seller handed over no payload. The outcome is BuyerRefund.");
  }
  if (handover === "after_dispute") {
    return ruled("BuyerRefund", "The payload was handed over only after the dispute. The outcome is BuyerRefund.");
  }
  if (isPayloadEmpty) {
    const why = "The payload has no content: nothing but empty texts, nulls, empty lists and empty objects.";
    return ruled("BuyerRefund", `${why} The outcome is BuyerRefund.`);
  }

  const schema = facts.find(({ name }) => name === "schema_matches");
  if (schema?.result === "fail") {
    return ruled("BuyerRefund", "The payload doesn't match the agreed schema. The outcome is BuyerRefund.");
  }
  const failed = checks.find(({ result }) => result === "fail");
  if (failed !== undefined) {
    return ruled(
      "BuyerRefund",
      `The payload fails the agreed check ${quote(failed.text)}. The outcome is BuyerRefund.`,
    );
  }

  if (criteria === null) return withoutDocument(dispute, ruled);
  const ignored = voidChecks(dispute);
  lines.push(
    ...[...ignored].map(
      (text) =>
        `Check ${quote(text)} gives orders to a judge and states nothing about the result. The buyer wrote it, so it doesn't bind.`,
    ),
  );
  const questions = openQuestions(dispute, schema, ignored);
  if (questions.length > 0) return { outcome: null, reasons: lines, questions };

  const binding = (criteria.criteria?.checks ?? []).filter((text) => !ignored.has(text));
  const hasCriteria = criteria.criteria?.schema !== undefined || binding.length > 0;
  if (hasCriteria) {
    if (handover === "late") return ruled("Split", LATE_REASON);
    const why = "The payload was handed over in time and passes all that was agreed, so nothing else counts.";
    return ruled("SellerPaid", `${why} The outcome is SellerPaid.`);
  }
  if (!isSilent(dispute)) return { outcome: null, reasons: lines, questions: [AGREEMENT_QUESTION] };
  return { ...ruledBySilence(dispute, ruled), unlessUnrelated: lines };
}

/** Whether the buyer has said nothing: neither a reason nor evidence. */
export function isSilent({ reason, evidence }: DisputeCase): boolean {
  return (reason ?? "").trim() === "" && !evidence.some(({ by }) => by === "buyer");
}

/** The burden of proof is the buyer's, so a buyer that says nothing proves nothing. */
function ruledBySilence<Ruled extends FactsRuling>(
  dispute: DisputeCase,
  ruled: (outcome: DisputeOutcome, ...why: string[]) => Ruled,
): Ruled {
  const orders = ordersOnly(dispute);
  if (orders !== "no") {
    const outcome = orders === "asked" ? "Split" : "BuyerRefund";
    return ruled(outcome, `The payload has only texts that address a judge. The outcome is ${outcome}.`);
  }
  if (dispute.handover === "late") return ruled("Split", LATE_REASON);
  return ruled(
    "SellerPaid",
    "The buyer agreed no checks with the seller and doesn't say what is wrong. The burden of proof is the buyer's: the outcome is SellerPaid.",
  );
}

function withoutDocument(
  dispute: DisputeCase,
  ruled: (outcome: DisputeOutcome, ...why: string[]) => FactsRuling,
): FactsRuling {
  if (isSilent(dispute)) return ruledBySilence(dispute, ruled);
  return ruled(
    "Split",
    "Nobody has supplied the criteria document that the escrow's criteriaHash commits to, so nothing says whether the buyer's complaint is right. The outcome is Split.",
  );
}

/** The parts of the criteria that code couldn't decide. A part without a verdict is open too. */
function openQuestions(
  { criteria, checks }: DisputeCase,
  schema: Verdict | undefined,
  ignored: ReadonlySet<string>,
): Question[] {
  const questions: Question[] = [];
  if (criteria?.criteria?.schema !== undefined && schema?.result !== "pass") questions.push(SCHEMA_QUESTION);
  const judged = new Set(checks.map(({ text }) => text));
  const texts = [
    ...checks.filter(({ result }) => result === "open").map(({ text }) => text),
    ...(criteria?.criteria?.checks ?? []).filter((text) => !judged.has(text)),
  ];
  for (const text of new Set(texts)) if (!ignored.has(text)) questions.push({ about: "check", text });
  return questions;
}

const RESULT_WORDS = { pass: "passes", fail: "fails", open: "is open" } as const;
const HANDOVER_LINES = {
  in_time: "The payload was handed over in time.",
  late: "The payload was handed over late, but before the dispute.",
  overtaken:
    "The payload was handed over within the seller's time for it, but only after the dispute, so it counts as late.",
  after_dispute: "The payload was handed over after the dispute.",
  none: "No payload was handed over.",
} as const;

/** A line for each fact and each check that code has evaluated, with its evidence. */
function factLines({ handover, facts, checks }: DisputeCase): string[] {
  const isOvertaken =
    handover === "late" && facts.some(({ name, result }) => name === "payload_in_time" && result === "pass");
  return [
    HANDOVER_LINES[isOvertaken ? "overtaken" : handover],
    ...facts.map(({ name, result, detail }) => {
      const note =
        name === "proof_matches" && result === "open"
          ? " That alone isn't a failure: a seller may commit to the payload in another form."
          : "";
      return `Fact ${name} ${RESULT_WORDS[result]}: ${quote(detail, 400)}.${note}`;
    }),
    ...checks
      .filter(({ kind }) => kind === "expression")
      .map(({ text, result, detail }) => `Check ${quote(text)} ${RESULT_WORDS[result]}: ${quote(detail, 400)}.`),
  ];
}
