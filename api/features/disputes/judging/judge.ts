import type { Logger } from "../../../lib/logger.ts";
import type { SentenceEncoder } from "../../search/encoder.ts";
import type { DisputeCase, Judge, Judgement } from "./case.ts";
import { directiveLine, directivesIn } from "./directives.ts";
import type { Directive } from "./directives.ts";
import { createEmbeddedJudge, LIMITS_OF_THE_EMBEDDED_JUDGE } from "./embedded-judge.ts";
import type { EmbeddedAnswer } from "./embedded-judge.ts";
import { ruleByFacts } from "./facts-ruling.ts";
import { LATE_REASON, outcomeIfMet, outcomeOf } from "./questions.ts";
import { inputHashOf, seenCase } from "./seen-case.ts";
import { quote } from "./texts.ts";

/** What a judge needs. */
export interface JudgeOptions {
  encoder: SentenceEncoder;
  log: Logger;
}

/** An outcome with its reasons. */
type Ruling = Pick<Judgement, "outcome" | "reasons">;

/** A judge: facts first, then the embedded judge for what they leave open (decision 26). */
export function createJudge({ encoder }: JudgeOptions): Judge {
  const embedded = createEmbeddedJudge(encoder);

  return {
    async judge(dispute, signal) {
      signal.throwIfAborted();
      const seen = seenCase(dispute);
      const facts = ruleByFacts(seen);
      const common = { inputHash: inputHashOf(seen), removed: seen.removed };
      if (facts.outcome !== null) {
        return { outcome: facts.outcome, judge: "facts", reasons: facts.reasons, model: null, ...common };
      }
      const directives = directivesIn(seen.dispute);
      const lines = [...facts.reasons, ...directives.map(directiveLine)];
      const answers = await embedded.answer(seen, facts.questions, signal);
      const { outcome, reasons } = withoutWinForAuthors(rulingOf(answers, seen.dispute), directives);
      return { outcome, judge: "embedded", reasons: [...lines, ...reasons], model: null, ...common };
    },
  };
}

const ANSWER_WORDS = { met: "met", not_met: "not met", unclear: "unclear" } as const;

/** What follows from the embedded judge's answers. */
function rulingOf(answers: readonly EmbeddedAnswer[], { handover }: DisputeCase): Ruling {
  const lines = [
    LIMITS_OF_THE_EMBEDDED_JUDGE,
    ...answers.map(({ question, answer, reason }) => `${quote(question.text)} is ${ANSWER_WORDS[answer]}: ${reason}.`),
  ];
  const isAgreementOpen = answers.every(
    ({ question, answer }) => question.about === "agreement" && answer === "unclear",
  );
  if (isAgreementOpen) {
    const outcome = outcomeIfMet(handover);
    if (outcome === "Split") return { outcome, reasons: [...lines, LATE_REASON] };
    const why = "The buyer agreed no checks with the seller, and nothing shows that the result is wrong.";
    return { outcome, reasons: [...lines, `${why} The burden of proof is the buyer's: the outcome is ${outcome}.`] };
  }
  const outcome = outcomeOf(answers, handover);
  const isMet = answers.every(({ answer }) => answer === "met");
  return { outcome, reasons: [...lines, isMet && outcome === "Split" ? LATE_REASON : `The outcome is ${outcome}.`] };
}

/** A party whose texts address the judge doesn't win by judgement. What the facts decide stays decided. */
function withoutWinForAuthors(ruling: Ruling, directives: readonly Directive[]): Ruling {
  const winner = { SellerPaid: "seller", BuyerRefund: "buyer", Split: undefined }[ruling.outcome];
  if (!directives.some(({ by }) => by === winner)) return ruling;
  return {
    outcome: "Split",
    reasons: [...ruling.reasons, `The ${winner} addresses the judge and can't win by judgement. The outcome is Split.`],
  };
}
