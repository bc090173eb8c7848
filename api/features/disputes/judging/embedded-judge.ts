import { untilAborted } from "../../../lib/stopping.ts";
import type { SentenceEncoder } from "../../../search/embedding/encoder.ts";
import { cosine } from "../../../search/embedding/vectors.ts";
import { splitWords } from "../../../search/embedding/words.ts";
import type { DisputeCase } from "./case.ts";
import { toContent, ordersOnly, sharedTerms, stemsOf } from "./evidence-text.ts";
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
const UNRELATED_COSINE = 0.18;
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

/** The payload and what it is compared with. A case asks several questions about them, so vectors are kept. */
class JudgedPayload {
  readonly #encoder: SentenceEncoder;
  readonly #dispute: SanitisedCase["dispute"];
  readonly #isPayloadCut: SanitisedCase["isPayloadCut"];
  readonly #signal: AbortSignal;
  readonly #known = new Map<string, ReturnType<SentenceEncoder["encode"]>>();
  readonly #content;
  readonly #wanted;
  readonly #request;

  constructor(encoder: SentenceEncoder, { dispute, isPayloadCut }: SanitisedCase, signal: AbortSignal) {
    this.#encoder = encoder;
    this.#dispute = dispute;
    this.#isPayloadCut = isPayloadCut;
    this.#signal = signal;
    this.#content = toContent(dispute.payload);
    this.#wanted = toContent(agreedTexts(dispute));
    this.#request = toContent([dispute.criteria?.requestPayload, dispute.criteria?.criteria?.checks]);
  }

  /** Why the payload can't be a result of anything; undefined if it may be one. */
  async worthless(): Promise<string | undefined> {
    if (this.#isPayloadCut) return undefined;
    const orders = ordersOnly(this.#dispute);
    if (orders !== "no") return orders === "unasked" ? "the payload has only texts that address the judge" : undefined;
    const excuse = EXCUSE.exec(this.#content.text)?.[0];
    const isAskedFor = sharedTerms(stemsOf(excuse ?? ""), this.#wanted.terms) > 0;
    if (
      excuse !== undefined &&
      !isAskedFor &&
      this.#content.others === 0 &&
      this.#content.words <= MOST_WORDS_OF_EXCUSE
    ) {
      if (sharedTerms(this.#content.terms, this.#request.terms) <= 1)
        return `the payload is an excuse: ${quote(this.#content.text)}`;
    }
    return (await this.#sharesNothing()) || (await this.isUnrelated())
      ? "the payload has nothing to do with title, description, request and checks"
      : undefined;
  }

  async isUnrelated() {
    return (
      !this.#isPayloadCut &&
      (await isAboutSomethingElse(this.#dispute, this.#content, {
        encode: (value) => this.#encode(value),
        isEnglish: (value) => this.#isEnglish(value),
      }))
    );
  }

  async check(text: string): Promise<Omit<EmbeddedAnswer, "question">> {
    const unclear = (why: string) => ({ answer: "unclear" as const, reason: why });
    if (addressesJudge(text)) return unclear("the check addresses the judge");
    const obstacle = UNVERIFIABLE.exec(text)?.[0];
    if (obstacle !== undefined) return unclear(`the check says ${quote(obstacle)}, which this judge can't verify`);
    if (!(await this.#isEnglish(text))) return unclear("the check isn't in English");
    if (this.#content.words === 0 || !(await this.#isEnglish(this.#content.text)))
      return unclear("the payload has no English text");
    const terms = new Set([...stemsOf(text)].filter((term) => !LABELS.has(term)));
    if (terms.size < LEAST_TERMS) return unclear("the check names too little that could be recognised");
    if (sharedTerms(terms, this.#content.terms) < terms.size)
      return unclear("not all that the check names is in the payload");
    const substantial = this.#content.passages.filter((passage) => isSubstantial(passage, terms));
    const { passage, closeness } = await this.#closest(text, mostRelated(substantial, terms));
    if (closeness < MET_COSINE) return unclear("no passage of the payload is clearly about the check");
    return {
      answer: "met",
      reason: `the payload says ${quote(passage)} (closeness ${closeness.toFixed(2)}, every term of the check is in the payload)`,
    };
  }

  #encode(text: string) {
    const encoding = this.#known.get(text) ?? this.#encoder.encode(text, { isEnglishAlone: true });
    this.#known.set(text, encoding);
    return untilAborted(encoding, this.#signal);
  }

  async #isEnglish(text: string) {
    // The encoder fails for an empty text.
    if (splitWords(text).length === 0) return false;
    return (await this.#encode(clip(text, LANGUAGE_SAMPLE))).knownWordShare >= LEAST_KNOWN_WORD_SHARE;
  }

  /** The passage that is closest to a text. One at a time, because searches use the encoder too. */
  async #closest(text: string, passages: readonly string[]) {
    const { vector } = await this.#encode(text);
    let best = { passage: "", closeness: -1 };
    for (const passage of passages) {
      const closeness = cosine(vector, (await this.#encode(passage)).vector);
      if (closeness > best.closeness) best = { passage, closeness };
    }
    return best;
  }

  /** Whether not a word of the payload is one of what was agreed, and nothing in it is close to that. */
  async #sharesNothing(): Promise<boolean> {
    if (this.#content.words < LEAST_WORDS_OF_PAYLOAD || this.#request.terms.size < LEAST_TERMS_OF_REQUEST) return false;
    if (leavesSubjectOpen(this.#dispute)) return false;
    if (sharedTerms(this.#content.terms, this.#wanted.terms) > 0) return false;
    if (!(await this.#isEnglish(this.#content.text)) || !(await this.#isEnglish(this.#request.text))) return false;
    for (const text of sample(this.#wanted.passages, this.#content)) {
      const { closeness } = await this.#closest(text, sample(this.#content.passages, this.#wanted));
      if (closeness >= UNRELATED_COSINE) return false;
    }
    return true;
  }
}

/** Judges open questions on its own, without any outside service. */
export function createEmbeddedJudge(encoder: SentenceEncoder) {
  return {
    /** Whether the payload is a text about something other than the request. @throws EncoderUnavailableError */
    isUnrelated: (seen: SanitisedCase, signal: AbortSignal): Promise<boolean> =>
      new JudgedPayload(encoder, seen, signal).isUnrelated(),

    /**
     * Answers each question. Whether the result is what was agreed as a whole it never calls met.
     * @throws EncoderUnavailableError
     */
    async answer(seen: SanitisedCase, questions: readonly Question[], signal: AbortSignal): Promise<EmbeddedAnswer[]> {
      const payload = new JudgedPayload(encoder, seen, signal);
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
