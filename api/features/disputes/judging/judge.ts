import type { Logger } from "../../../lib/logger.ts";
import type { SentenceEncoder } from "../../search/embedding/encoder.ts";
import type { DisputeCase, Judge, Judgement, ModelUse } from "./case.ts";
import { readAttachments } from "./attachments.ts";
import type { AttachmentFetcher, ReadAttachments } from "./attachments.ts";
import { directiveLine, directivesIn, directivesInAttachments } from "./directives.ts";
import type { Directive } from "./directives.ts";
import { createEmbeddedJudge, LIMITS_OF_THE_EMBEDDED_JUDGE } from "./embedded-judge.ts";
import type { EmbeddedAnswer } from "./embedded-judge.ts";
import { ruleByFacts } from "./facts-ruling.ts";
import { createModelJudge } from "./model-judge.ts";
import type { Asked, ModelOptions } from "./model-judge.ts";
import { LATE_REASON, outcomeIfMet, outcomeOf } from "./questions.ts";
import type { Question } from "./questions.ts";
import { inputHashOf, seenCase } from "./seen-case.ts";
import { quote } from "./texts.ts";
import { LEAST_CONFIDENCE, outcomeOfVotes } from "./votes.ts";

/** What a judge needs. */
export interface JudgeOptions {
  encoder: SentenceEncoder;
  /** Undefined: the embedded judge answers what the facts leave open. */
  model?: ModelOptions | undefined;
  /** Undefined: the model sees the addresses of attachments, and not what is there. */
  attachments?: AttachmentFetcher | undefined;
  log: Logger;
}

/** An outcome with its reasons. */
type Ruling = Pick<Judgement, "outcome" | "reasons">;

/**
 * A judge: facts first, then the model's votes on what they leave open, or the embedded judge without a model
 * (decision 26). docs/rulings.md has the rules.
 */
export function createJudge({ encoder, model, attachments, log }: JudgeOptions): Judge {
  const embedded = createEmbeddedJudge(encoder);
  const asked = model === undefined ? undefined : createModelJudge(model, log);

  /** What attachments say. Only a model weighs evidence, so nothing is fetched without one. */
  async function attached(dispute: DisputeCase, signal: AbortSignal): Promise<ReadAttachments> {
    if (asked === undefined || attachments === undefined) return { texts: [], lines: [], removed: [] };
    return readAttachments(dispute, attachments, signal);
  }

  return {
    async judge(dispute, signal) {
      signal.throwIfAborted();
      const seen = seenCase(dispute);
      const facts = ruleByFacts(seen);
      const common = { inputHash: inputHashOf(seen), removed: seen.removed };
      if (facts.outcome !== null) {
        return { outcome: facts.outcome, judge: "facts", reasons: facts.reasons, model: null, ...common };
      }
      const { questions } = facts;
      const { texts, lines: fetched, removed } = await attached(seen.dispute, signal);
      const directives = [...directivesIn(seen.dispute), ...directivesInAttachments(texts)];
      const lines = [...facts.reasons, ...fetched, ...directives.map(directiveLine)];
      const votes = await asked?.votes({ seen, questions, attachments: texts }, signal);
      if (votes?.isUsable === false) votes.use.problems.push("Too few votes: the embedded judge took over.");
      const isVoted = votes?.isUsable === true;
      const ruling = isVoted
        ? rulingOfVotes(votes.use, questions, seen.dispute)
        : rulingOfAnswers(await embedded.answer(seen, questions, signal), seen.dispute, { votes, directives });
      const { outcome, reasons } = withoutWinForAuthors(ruling, directives);
      const by = isVoted ? "model" : "embedded";
      return {
        outcome,
        judge: by,
        reasons: [...lines, ...reasons],
        model: votes?.use ?? null,
        ...common,
        removed: [...seen.removed, ...removed],
      };
    },
  };
}

const ANSWER_WORDS = { met: "met", not_met: "not met", unclear: "unclear" } as const;

/** What follows from the votes of a model. */
function rulingOfVotes(
  { model, votes, problems }: ModelUse,
  questions: readonly Question[],
  { handover }: DisputeCase,
): Ruling {
  const answered = questions.map(({ text }, index) => {
    const said = votes.flatMap(({ answers }) => answers[index] ?? []);
    const each = said.map(
      ({ answer, confidence, reason }) => `${ANSWER_WORDS[answer]} (${confidence.toFixed(2)}): ${quote(reason, 500)}`,
    );
    return `${quote(text)} is ${each.join("; ")}.`;
  });
  const { outcome, reason } = outcomeOfVotes(votes);
  const head = `The model ${quote(model)} gave ${votes.length} independent votes on the result. An answer with less confidence than ${LEAST_CONFIDENCE} counts as unclear.`;
  const isLate =
    handover === "late" &&
    outcome === "Split" &&
    votes.every(({ answers }) => answers.every(({ answer }) => answer === "met"));
  return { outcome, reasons: [head, ...answered, ...problems, ...(isLate ? [LATE_REASON] : []), reason] };
}

/** What follows from the embedded judge's answers. */
function rulingOfAnswers(
  answers: readonly EmbeddedAnswer[],
  { handover }: DisputeCase,
  { votes, directives }: { votes: Asked | undefined; directives: readonly Directive[] },
): Ruling {
  const lines = [
    ...(votes?.use.problems ?? []),
    LIMITS_OF_THE_EMBEDDED_JUDGE,
    ...answers.map(({ question, answer, reason }) => `${quote(question.text)} is ${ANSWER_WORDS[answer]}: ${reason}.`),
  ];
  const isAgreementOpen = answers.every(
    ({ question, answer }) => question.about === "agreement" && answer === "unclear",
  );
  if (isAgreementOpen) {
    // A buyer whose own text may have spoiled the answer gains nothing by it.
    const isByBuyer = directives.some(({ by }) => by === "buyer");
    if (votes?.isSpoiled === true && !isByBuyer) {
      const why = "The model refused or spoiled its answer, and a text of the case may have made it.";
      return { outcome: "Split", reasons: [...lines, `${why} Nobody wins by that: the outcome is Split.`] };
    }
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
