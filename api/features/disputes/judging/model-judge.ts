import type { Logger } from "../../../lib/logger.ts";
import { Decisions, TooFewAnswersError, UnusableModelError } from "./asking/deciding.ts";
import type { Decided } from "./asking/deciding.ts";
import { followPointers } from "./asking/pointing.ts";
import { secureRandom } from "./asking/random.ts";
import { createModelServer } from "./asking/server.ts";
import type { ModelOptions } from "./asking/server.ts";
import { openSession } from "./asking/session.ts";
import { shownFor } from "./asking/view.ts";
import type { DisputeCase, ModelUse, VotedAnswer } from "./case.ts";
import { isSilent } from "./facts-ruling.ts";
import { PROMPT_HASH, PROMPT_VERSION } from "./prompt.ts";
import type { AttachedText } from "./prompt.ts";
import { AGREEMENT_QUESTION } from "./questions.ts";
import type { Question } from "./questions.ts";
import type { SanitisedCase } from "./sanitised-case.ts";
import { inside } from "./texts.ts";

export type { ModelOptions } from "./asking/server.ts";

/** The case and the questions that a model is asked about. */
export interface ModelCase {
  seen: SanitisedCase;
  questions: readonly Question[];
  attachments: readonly AttachedText[];
  /** The embedded judge's answer to a question. */
  embedded: (question: Question) => Promise<VotedAnswer["answer"]>;
}

/** The result of asking a model. */
export interface Asked {
  use: ModelUse;
  /** An answer for each question; undefined if the model can't be used. */
  decided: Decided[] | undefined;
  /** Whether the model itself refused or spoiled its answers, so that a text of the case may be the reason. */
  isSpoiled: boolean;
}

/** Asks a model about what the facts leave open. docs/inside/rulings.md has the rules. */
export function createModelJudge(options: ModelOptions, log: Logger) {
  const server = createModelServer(options);
  const random = options.random ?? secureRandom;

  return {
    /** The model's answers. @throws the signal's reason */
    async answers({ seen, questions, attachments, embedded }: ModelCase, signal: AbortSignal): Promise<Asked> {
      const { dispute } = seen;
      const use: ModelUse = {
        model: options.name,
        promptVersion: PROMPT_VERSION,
        promptHash: PROMPT_HASH,
        votes: [],
        requests: 0,
        leftOut: [],
        evidence: [],
        tokens: { input: 0, output: 0 },
        problems: [],
      };
      const session = openSession({ server, random, log, use }, signal);
      try {
        const { places, weighed } = await followPointers(session, { dispute, attachments, questions });
        use.evidence = weighed;
        const decisions = new Decisions({
          session,
          embedded,
          shownFor: (question) => shownFor([question], dispute),
          placesFor: (question) => places.get(question) ?? [],
          textsOfBuyer: textsOfBuyer(dispute, attachments),
        });
        const decided = await decisions.decideAll(questions, shownFor(questions, dispute));
        if (decided.some(({ isBinding }) => isBinding) || !isAgreementNext(dispute, questions)) {
          return { use, decided, isSpoiled: session.isSpoiled() };
        }
        const agreement = await decisions.decideAll([AGREEMENT_QUESTION], shownFor([AGREEMENT_QUESTION], dispute));
        return { use, decided: [...decided, ...agreement], isSpoiled: session.isSpoiled() };
      } catch (error) {
        if (error instanceof UnusableModelError) {
          use.problems.push("The model answers questions on the service's own texts wrongly.");
          return { use, decided: undefined, isSpoiled: true };
        }
        if (!(error instanceof TooFewAnswersError)) throw error;
        return { use, decided: undefined, isSpoiled: session.isSpoiled() };
      } finally {
        use.problems.sort();
      }
    },
  };
}

/** Whether nothing that binds is left but what title, description and request say. */
function isAgreementNext(dispute: DisputeCase, questions: readonly Question[]): boolean {
  const byCode = dispute.checks.some(({ kind }) => kind === "expression");
  const hasSchema = dispute.criteria?.criteria?.schema !== undefined;
  return !byCode && !hasSchema && !questions.includes(AGREEMENT_QUESTION) && !isSilent(dispute);
}

function textsOfBuyer({ criteria, reason, evidence }: DisputeCase, attachments: readonly AttachedText[]): string[] {
  const own = evidence.filter(({ by }) => by === "buyer").map(({ description }) => description);
  const attached = attachments.filter(({ by }) => by === "buyer").map(({ text }) => text);
  const { keys, strings } = inside([criteria?.requestPayload, criteria?.criteria]);
  return [...keys, ...strings, reason ?? "", ...own, ...attached];
}
