import { untilAborted } from "../../../lib/stopping.ts";
import type { SentenceEncoder } from "../../../search/embedding/encoder.ts";
import { cosine } from "../../../search/embedding/vectors.ts";
import { wordsOf } from "../../../search/embedding/words.ts";
import type { DisputeCase } from "./case.ts";
import { contentOf, ordersOnly, sharedTerms, stemsOf } from "./evidence-text.ts";
import type { Content } from "./evidence-text.ts";
import { addressesJudge } from "./prompt-injection.ts";
import type { Question } from "./questions.ts";
import type { SanitisedCase } from "./sanitised-case.ts";
import { isSubstantial, LABELS } from "./substance.ts";
import { clip, quote } from "./texts.ts";
import { isAboutSomethingElse, leavesSubjectOpen } from "./unrelated.ts";

/** The embedded judge's answer to a question. */
export interface EmbeddedAnswer {
  question: Question;
  answer: "met" | "not_met" | "unclear";
  /** A sentence with its evidence. */
  reason: string;
}

/** Limits of the embedded judge; part of its rulings. */
export const LIMITS_OF_THE_EMBEDDED_JUDGE =
  "The embedded judge compares the payload's sentences with a check by meaning and words. It reads English only, knows no facts of the world, runs no code and opens no links. It verifies neither numbers nor negations nor quality. It weighs nobody's reason or evidence. What it can't decide it calls unclear.";

/*
 * Tuned on the cases of test/bench/disputes/ and on the side of "unclear": a false "met" or "not_met" costs a party all
 * of its money, "unclear" half of it at most.
 */

/** A text whose words the encoder mostly doesn't know isn't English. */
const LEAST_KNOWN_WORD_SHARE = 0.45;
/** How much of a text is looked at for its language. */
const LANGUAGE_SAMPLE = 4_000;
/** A passage that is about a check is at least this close to it. */
const MET_COSINE = 0.4;
/** A check with fewer terms of its own is about too little to be recognised. */
const LEAST_TERMS = 2;
/** A payload is about something else if no passage is closer than this to anything agreed, and no term is shared. */
const UNRELATED_COSINE = 0.3;
/** Texts with fewer words may share none by chance. */
const LEAST_WORDS_OF_PAYLOAD = 25;
const LEAST_TERMS_OF_REQUEST = 5;
/** A payload with more words isn't merely an excuse. */
const MOST_WORDS_OF_EXCUSE = 25;
/** Passages that are encoded for one question. The others share fewer words with it. */
const MOST_PASSAGES = 24;

/** Words that make a check unverifiable: the embedded judge can verify no number, negation, quantity or quality. */
const UNVERIFIABLE =
  /\p{N}|\b(not?|never|none|nothing|nobody|neither|nor|without|cannot|\w+n't|avoids?|excludes?|excluding|free of|except|unless|only|just|fewer|less|more|most|least|exactly|every|each|all|both|any|entire|whole|full|fully|complete|completely|same|match(es)?|equals?|identical|consistent|correct|correctly|accurate|accurately|valid|true|truthful|real|actual|current|latest|working|works?|runs?|compiles?|passes|faithful|original|unique|professional|clear|clearly|readable|well|good|best|polite|concise|brief|short|long|simple|one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|english|german|french|spanish|italian|chinese|japanese|language|translated|translation|format|formatted|sorted|ordered|before|after|if|or|instead|rather|than|right|wrong|today|url|link|links|image)\b/iu;
const EXCUSE =
  /\b(lorem ipsum|placeholder|coming soon|to be (done|delivered|provided|added|announced)|tbd|not (yet )?(available|implemented|ready|finished|supported)|(service|temporarily) unavailable|internal (server )?error|quota exceeded|as an ai|i('m| am) (sorry|unable)|i can(not|'t)|we (are unable|can(not|'t)|were unable)|unable to|sorry,|apolog\w+|(try|order) again|overloaded|sample (text|data|output)|test(ing)? (data|123)|asdf\w*|foo ?bar)\b/iu;

/** Judges open questions on its own, without any outside service. */
export function createEmbeddedJudge(encoder: SentenceEncoder) {
  /** The payload and what it is compared with. A case asks several questions about them, so vectors are kept. */
  function about({ dispute, isPayloadCut }: SanitisedCase, signal: AbortSignal) {
    const known = new Map<string, ReturnType<SentenceEncoder["encode"]>>();
    const encode = (text: string) => {
      const encoding = known.get(text) ?? encoder.encode(text);
      known.set(text, encoding);
      return untilAborted(encoding, signal);
    };
    const isEnglish = async (text: string) => {
      // The encoder fails for an empty text.
      if (wordsOf(text).length === 0) return false;
      return (await encode(clip(text, LANGUAGE_SAMPLE))).knownWordShare >= LEAST_KNOWN_WORD_SHARE;
    };
    /** The passage that is closest to a text. One at a time, because searches use the encoder too. */
    async function closest(text: string, passages: readonly string[]) {
      const { vector } = await encode(text);
      let best = { passage: "", closeness: -1 };
      for (const passage of passages) {
        const closeness = cosine(vector, (await encode(passage)).vector);
        if (closeness > best.closeness) best = { passage, closeness };
      }
      return best;
    }

    const content = contentOf(dispute.payload);
    const wanted = contentOf(agreedTexts(dispute));
    const request = contentOf([dispute.criteria?.requestPayload, dispute.criteria?.criteria?.checks]);

    /** Why the payload can't be a result of anything; undefined if it may be one. */
    async function worthless(): Promise<string | undefined> {
      if (isPayloadCut) return undefined;
      const orders = ordersOnly(dispute);
      if (orders !== "no")
        return orders === "unasked" ? "the payload has only texts that address the judge" : undefined;
      const excuse = EXCUSE.exec(content.text)?.[0];
      const isAskedFor = sharedTerms(stemsOf(excuse ?? ""), wanted.terms) > 0;
      if (excuse !== undefined && !isAskedFor && content.others === 0 && content.words <= MOST_WORDS_OF_EXCUSE) {
        if (sharedTerms(content.terms, request.terms) <= 1) return `the payload is an excuse: ${quote(content.text)}`;
      }
      return (await sharesNothing()) || (await isUnrelated())
        ? "the payload has nothing to do with title, description, request and checks"
        : undefined;
    }

    const isUnrelated = async () =>
      !isPayloadCut && (await isAboutSomethingElse(dispute, content, { encode, isEnglish }));

    /** Whether not a word of the payload is one of what was agreed, and nothing in it is close to that. */
    async function sharesNothing(): Promise<boolean> {
      if (content.words < LEAST_WORDS_OF_PAYLOAD || request.terms.size < LEAST_TERMS_OF_REQUEST) return false;
      if (leavesSubjectOpen(dispute)) return false;
      if (sharedTerms(content.terms, wanted.terms) > 0) return false;
      if (!(await isEnglish(content.text)) || !(await isEnglish(request.text))) return false;
      for (const text of sample(wanted.passages, content)) {
        const { closeness } = await closest(text, sample(content.passages, wanted));
        if (closeness >= UNRELATED_COSINE) return false;
      }
      return true;
    }

    async function check(text: string): Promise<Omit<EmbeddedAnswer, "question">> {
      const unclear = (why: string) => ({ answer: "unclear" as const, reason: why });
      if (addressesJudge(text)) return unclear("the check addresses the judge");
      const obstacle = UNVERIFIABLE.exec(text)?.[0];
      if (obstacle !== undefined) return unclear(`the check says ${quote(obstacle)}, which this judge can't verify`);
      if (!(await isEnglish(text))) return unclear("the check isn't in English");
      if (content.words === 0 || !(await isEnglish(content.text))) return unclear("the payload has no English text");
      const terms = new Set([...stemsOf(text)].filter((term) => !LABELS.has(term)));
      if (terms.size < LEAST_TERMS) return unclear("the check names too little that could be recognised");
      if (sharedTerms(terms, content.terms) < terms.size)
        return unclear("not all that the check names is in the payload");
      const substantial = content.passages.filter((passage) => isSubstantial(passage, terms));
      const { passage, closeness } = await closest(text, mostRelated(substantial, terms));
      if (closeness < MET_COSINE) return unclear("no passage of the payload is clearly about the check");
      return {
        answer: "met",
        reason: `the payload says ${quote(passage)} (closeness ${closeness.toFixed(2)}, every term of the check is in the payload)`,
      };
    }
    return { worthless, isUnrelated, check };
  }

  return {
    /** Whether the payload is a text about something other than the request. @throws EncoderUnavailableError */
    isUnrelated: (seen: SanitisedCase, signal: AbortSignal): Promise<boolean> => about(seen, signal).isUnrelated(),

    /**
     * Answers each question. Whether the result is what was agreed as a whole it never calls met.
     * @throws EncoderUnavailableError
     */
    async answer(seen: SanitisedCase, questions: readonly Question[], signal: AbortSignal): Promise<EmbeddedAnswer[]> {
      const payload = about(seen, signal);
      const worthless = await payload.worthless();
      const answers: EmbeddedAnswer[] = [];
      for (const question of questions) {
        if (worthless !== undefined && (question.about === "agreement" || !UNVERIFIABLE_ABSENCE.test(question.text))) {
          answers.push({ question, answer: "not_met", reason: worthless });
        } else if (question.about === "check" && !question.text.startsWith("cel:")) {
          answers.push({ question, ...(await payload.check(question.text)) });
        } else {
          answers.push({ question, answer: "unclear", reason: "this judge can't answer it" });
        }
      }
      return answers;
    },
  };
}

/** A payload without the right content still satisfies a check that something is absent. */
const UNVERIFIABLE_ABSENCE =
  /\b(not?|never|none|nothing|nobody|neither|nor|without|cannot|\w+n't|avoids?|excludes?|excluding|free of|fewer|less|at most)\b|^cel:/iu;

/** The texts that say what the result should be about. */
function agreedTexts({ criteria }: DisputeCase): unknown {
  return [criteria?.title, criteria?.description, criteria?.requestPayload, criteria?.criteria?.checks];
}

function mostRelated(passages: readonly string[], terms: ReadonlySet<string>): string[] {
  const rated = passages.map((passage) => ({ passage, shared: sharedTerms(terms, stemsOf(passage)) }));
  return rated
    .sort((left, right) => right.shared - left.shared)
    .slice(0, MOST_PASSAGES)
    .map(({ passage }) => passage);
}

/** The longest passages: they say most. */
function sample(passages: readonly string[], other: Content): string[] {
  const most = other.passages.length > 1 ? MOST_PASSAGES : 2 * MOST_PASSAGES;
  return [...passages].sort((left, right) => right.length - left.length).slice(0, most);
}
