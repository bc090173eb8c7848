import type { Logger } from "../../../lib/logger.ts";
import type { SentenceEncoder } from "../../../search/embedding/encoder.ts";
import type { DisputeCase, Judge, Judgement, ModelUse } from "./case.ts";
import { LEAST_CONFIDENCE } from "./asking/controls.ts";
import type { Decided } from "./asking/deciding.ts";
import { readAttachments } from "./attachments.ts";
import type { AttachmentFetcher, ReadAttachments } from "./attachments.ts";
import { directiveLine, directivesIn, directivesInAttachments } from "./prompt-injection.ts";
import type { Directive } from "./prompt-injection.ts";
import { createEmbeddedJudge, LIMITS_OF_THE_EMBEDDED_JUDGE } from "./embedded-judge.ts";
import type { EmbeddedAnswer } from "./embedded-judge.ts";
import { ruleByFacts } from "./facts-ruling.ts";
import { createModelJudge } from "./model-judge.ts";
import type { Asked, ModelOptions } from "./model-judge.ts";
import { LATE_REASON, outcomeIfMet, decideOutcome } from "./questions.ts";
import type { Question } from "./questions.ts";
import { hashInput, sanitisedCase } from "./sanitised-case.ts";
import { quote } from "./texts.ts";

/** Dependencies of a judge. */
export interface JudgeOptions {
  encoder: SentenceEncoder;
  /** Undefined: the embedded judge answers what the facts leave open. */
  model?: ModelOptions | undefined;
  /** Undefined: the model sees the addresses of attachments, and not what is there. */
  attachments?: AttachmentFetcher | undefined;
  log: Logger;
}

const TAKEN_OVER = "Too few usable answers: the embedded judge took over.";

const UNRELATED =
  "The payload has nothing to do with title, description and request, which shows although the buyer says nothing: the outcome is BuyerRefund.";

/** An outcome with its reasons. */
type Ruling = Pick<Judgement, "outcome" | "reasons">;

/**
 * Creates a judge: facts first, then the model's votes on what they leave open, or the embedded judge without a model.
 * docs/inside/rulings.md has the rules.
 */
export function createJudge({ encoder, model, attachments, log }: JudgeOptions): Judge {
  const embedded = createEmbeddedJudge(encoder);
  const asked = model === undefined ? undefined : createModelJudge(model, log);

  /** Reads the attachments. Only a model weighs evidence, so nothing is fetched without one. */
  async function attached(dispute: DisputeCase, signal: AbortSignal): Promise<ReadAttachments> {
    if (asked === undefined || attachments === undefined) return { texts: [], lines: [], removed: [] };
    return readAttachments(dispute, attachments, signal);
  }

  return {
    async judge(dispute, signal) {
      signal.throwIfAborted();
      const seen = sanitisedCase(dispute);
      const facts = ruleByFacts(seen);
      const common = { inputHash: hashInput(seen), removed: seen.removed };
      if (facts.outcome !== null) {
        const { unlessUnrelated } = facts;
        if (unlessUnrelated !== undefined && (await embedded.isUnrelated(seen, signal))) {
          const unrelated: Ruling = { outcome: "BuyerRefund", reasons: [...unlessUnrelated, UNRELATED] };
          const { outcome, reasons } = withoutWinForAuthors(unrelated, directivesIn(seen.dispute));
          return { outcome, judge: "embedded", reasons, model: null, ...common };
        }
        return { outcome: facts.outcome, judge: "facts", reasons: facts.reasons, model: null, ...common };
      }
      const { questions } = facts;
      const { texts, lines: fetched, removed } = await attached(seen.dispute, signal);
      const directives = [...directivesIn(seen.dispute), ...directivesInAttachments(texts)];
      const lines = [...facts.reasons, ...fetched, ...directives.map(directiveLine)];
      const byEmbedded = async (some: readonly Question[]) => embedded.answer(seen, some, signal);
      const votes = await asked?.answers(
        {
          seen,
          questions,
          attachments: texts,
          embedded: async (question) => (await byEmbedded([question]))[0]?.answer ?? "unclear",
        },
        signal,
      );
      const decided = votes?.decided;
      if (votes !== undefined && decided === undefined) votes.use.problems.push(TAKEN_OVER);
      const isVoted = votes !== undefined && decided !== undefined;
      const ruling = isVoted
        ? rulingOfModel(votes.use, decided, seen.dispute)
        : rulingOfAnswers(await byEmbedded(questions), seen.dispute, { votes, directives });
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

/** The ruling by the answers of a model. */
function rulingOfModel(
  { model, requests, leftOut, evidence, problems }: ModelUse,
  decided: readonly Decided[],
  { handover }: DisputeCase,
): Ruling {
  const binding = decided.filter(({ isBinding }) => isBinding);
  const answered = decided.map(({ question, answer, reason, isBinding }) =>
    isBinding
      ? `${quote(question.text)} is ${ANSWER_WORDS[answer]}: ${quote(reason, 500)}.`
      : `Check ${quote(question.text)} doesn't bind: ${reason}. The buyer wrote it.`,
  );
  const lines = [
    `The model ${quote(model)} was asked in ${requests} requests, each with control questions on a note of the service. An answer with less confidence than ${LEAST_CONFIDENCE} counts as unclear.`,
    ...evidence.map(({ by, item, weight, detail }) =>
      weight === "counted"
        ? `The ${by}'s ${item} counted: ${detail}.`
        : `The ${by}'s ${item} was only read: ${detail}.`,
    ),
    ...leftOut.map(
      ({ by, field, text }) =>
        `${quote(text)}, words of the ${by}'s in the ${field}, made the model answer questions on the service's own note wrongly, so they were left out.`,
    ),
    ...answered,
    ...problems,
  ];
  const outcome = decideOutcome(binding, handover);
  const isMet = binding.every(({ answer }) => answer === "met");
  return { outcome, reasons: [...lines, isMet && outcome === "Split" ? LATE_REASON : `The outcome is ${outcome}.`] };
}

/** The ruling by the embedded judge's answers. */
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
  const outcome = decideOutcome(answers, handover);
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
