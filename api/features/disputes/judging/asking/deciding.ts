import type { LeftOut, Side, VotedAnswer } from "../case.ts";
import type { Place } from "../prompt.ts";
import type { Question } from "../questions.ts";
import { hasContent } from "../texts.ts";
import type { Look } from "./controls.ts";
import { collectPassages, showOnly, removeWords } from "./passages.ts";
import { findPassage } from "./search.ts";
import type { Session } from "./session.ts";
import { FILLER, FILLER_STATEMENT, toStatement } from "./service-texts.ts";
import type { Shown } from "./view.ts";

/** The decision on one question. */
export interface Decided {
  question: Question;
  answer: VotedAnswer["answer"];
  /** The reason for the answer, in a sentence. */
  reason: string;
  /** False for a check whose own text keeps the model from answering: it doesn't bind. */
  isBinding: boolean;
}

/** Thrown if a model can't answer what it is asked even about a text of the service's own. */
export class UnusableModelError extends Error {
  override readonly name = "UnusableModelError";
}

/** Thrown if too few answers came to decide anything. */
export class TooFewAnswersError extends Error {
  override readonly name = "TooFewAnswersError";
}

/** Inputs shared by all questions of a dispute. */
export interface Deciding {
  session: Session;
  /** Everything that a question needs in view. */
  shownFor: (question: Question) => Shown[];
  placesFor: (question: Question) => readonly Place[];
  /** All texts of the buyer's, shown or not. */
  textsOfBuyer: readonly string[];
  /** The embedded judge's answer, for questions where no answer of the model counts. */
  embedded: (question: Question) => Promise<VotedAnswer["answer"]>;
}

const MORE_REQUESTS = 8;
/** Number of requests without one sound answer after which the cause is searched for. */
const HOPELESS = 2;
const ENOUGH_IF_CONTRADICTING = 5;
const CONTRADICTING_RATIO = 2;
/** Maximum number of passages that are searched for and left out, one after the other. */
const MOST_PASSAGES = 6;
/** The same for the buyer's texts; after that, they are left out as a whole. */
const MOST_PASSAGES_OF_BUYER = 1;

/** Decides one question after another. Findings about texts and model carry over to later questions. */
export class Decisions {
  readonly #deciding: Deciding;
  readonly #session: Deciding["session"];
  readonly #leftOut = new Set<string>();
  #modelWorks: boolean | undefined;

  constructor(deciding: Deciding) {
    this.#deciding = deciding;
    this.#session = deciding.session;
  }

  /** Decides all questions: those together that can be, the others one by one. */
  async decideAll(questions: readonly Question[], shown: readonly Shown[]): Promise<Decided[]> {
    const places = questions.flatMap((question) => this.#deciding.placesFor(question));
    const view = { shown, statements: questions.map(toStatement), places: [...new Set(places)] };
    const [one, other] = await this.#session.pair(view);
    if (one === undefined || other === undefined) throw new TooFewAnswersError();
    record(this.#session, questions, one, "result_first");
    record(this.#session, questions, other, "result_last");
    const decided = new Map<Question, Decided>();
    const seen = questions.map((question, index) => ({ question, looks: [one[index], other[index]] }));
    for (const { question, looks } of seen) {
      const verdict = decideVerdict(looks.filter((look) => look !== undefined));
      if (verdict !== undefined) decided.set(question, { question, ...verdict, isBinding: true });
    }
    for (const { question, looks } of seen) {
      if (decided.has(question)) continue;
      if ([...decided.values()].some(({ answer }) => answer === "not_met")) {
        const reason = "it wasn't asked about again, because another answer decides";
        decided.set(question, { question, answer: "unclear", reason, isBinding: true });
        continue;
      }
      decided.set(
        question,
        await this.#decideAlone(
          question,
          looks.filter((look) => look !== undefined),
        ),
      );
    }
    return questions.flatMap((question) => decided.get(question) ?? []);
  }

  /** Whether the model answers rightly about a text and a statement of the service's own. */
  async #works(): Promise<boolean> {
    if (this.#modelWorks !== undefined) return this.#modelWorks;
    const view = { shown: [FILLER], statements: [FILLER_STATEMENT] };
    const looks = await Promise.all([
      ...[
        this.#session.look(view, "result_first"),
        this.#session.look(view, "result_last"),
        this.#session.look(view, "result_first"),
      ],
    ]);
    this.#modelWorks = looks.some((look) => look?.[0]?.isSound === true);
    return this.#modelWorks;
  }

  /** More looks at one question, until its sound answers decide it. */
  async #settle(
    question: Question,
    shown: readonly Shown[],
    { most, before = [] }: { most: number; before?: readonly Look[] },
  ): Promise<Settled> {
    const places = this.#deciding.placesFor(question).filter(({ quote }) => isShown(shown, quote));
    const view = { shown, statements: [toStatement(question)], places };
    const looks = [...before];
    let asked = 0;
    while (asked < most && this.#session.left() > 0) {
      const pair = await this.#session.pair(view);
      asked += pair.length;
      for (const look of pair) {
        const [only] = look ?? [];
        if (only === undefined) continue;
        looks.push(only);
        record(this.#session, [question], [only], look === pair[0] ? "result_first" : "result_last");
      }
      const verdict = decideVerdict(looks);
      if (verdict !== undefined) return { verdict, looks };
      if (asked >= HOPELESS && !looks.some(({ isSound }) => isSound)) break;
    }
    const isContradicting = most > 2 && looks.filter(({ isSound }) => isSound).length > 1;
    return { verdict: isContradicting ? CONTRADICTING : undefined, looks };
  }

  /** The texts of a question without the passages that were left out before. */
  #visible(question: Question): Shown[] {
    const shown = this.#deciding.shownFor(question);
    const kept = new Set(
      collectPassages(shown)
        .filter((one) => !this.#leftOut.has(keyOf(one)))
        .map(({ id }) => id),
    );
    return showOnly(shown, (id) => kept.has(id));
  }

  /** Looks for the passages that break the controls, and asks again without each. `side` names whose texts are looked through. */
  async #withoutPassages(question: Question, side?: Side): Promise<Settled> {
    const looks: Look[] = [];
    const most = side === undefined ? MOST_PASSAGES : MOST_PASSAGES_OF_BUYER;
    for (let found = 0; found < most && this.#session.left() > 0; found += 1) {
      const texts = this.#visible(question).filter(({ by }) => side === undefined || by === side);
      const passage = await findPassage(this.#session, texts, toStatement(question));
      if (passage === undefined) break;
      const again = await this.#without(question, [passage]);
      looks.push(...again.looks);
      if (again.verdict !== undefined) return { verdict: again.verdict, looks };
    }
    return { verdict: undefined, looks };
  }

  /** Leaves passages out for the rest of the dispute, and asks again. */
  async #without(question: Question, passages: readonly LeftOut[]): Promise<Settled> {
    for (const passage of passages) {
      this.#leftOut.add(keyOf(passage));
      this.#session.leaveOut(passage);
    }
    const shown = this.#visible(question);
    if (shown.some(({ name, value }) => name === "result" && hasContent(value))) {
      return this.#settle(question, shown, { most: MORE_REQUESTS });
    }
    const reason = "nothing of the result is left without what was left out";
    return { verdict: { answer: "not_met", reason }, looks: [] };
  }

  /** Whether the buyer's shown texts alone break the controls. */
  async #breaksByBuyer(question: Question): Promise<boolean> {
    const own = this.#visible(question).filter(({ by }) => by === "buyer");
    if (own.length === 0) return false;
    const pair = await this.#session.pair({ shown: [...own, FILLER], statements: [toStatement(question)] });
    return pair.some((look) => look?.[0]?.isSound === false);
  }

  /** Leaves out the passages of the buyer's shown texts that break the controls; if that isn't enough, all of them. */
  async #withoutWordsOfBuyer(question: Question): Promise<Settled> {
    const searched = await this.#withoutPassages(question, "buyer");
    if (searched.verdict !== undefined) return searched;
    if (!(await this.#breaksByBuyer(question))) return searched;
    return this.#without(
      question,
      collectPassages(this.#visible(question)).filter(({ by }) => by === "buyer"),
    );
  }

  /** The answer where no text that breaks the controls was found. The texts in view are the seller's, so it gains nothing by that. */
  async #byDirection(question: Question, looks: readonly Look[]): Promise<Omit<Decided, "question">> {
    const isForBuyer = decideDirection(looks) === "buyer";
    const answer = isForBuyer && (await this.#deciding.embedded(question)) === "met" ? "unclear" : "not_met";
    const towards = isForBuyer ? "in the buyer's favour" : "in the seller's favour or nobody's";
    const reason = `the model answers the service's own questions wrongly, ${towards}, as long as the seller's text is in view`;
    return { answer, reason, isBinding: true };
  }

  /** The embedded judge's answer where the buyer's own words break the controls, and no requests are left to ask without them. */
  async #byEmbedded(question: Question): Promise<Omit<Decided, "question">> {
    const answer = (await this.#deciding.embedded(question)) === "met" ? "met" : "unclear";
    const reason = `words of the buyer's make the model answer the service's own questions wrongly: the embedded judge says ${answer}`;
    return { answer, reason, isBinding: true };
  }

  /** Finds out which text breaks the controls, and decides without it. */
  async #afterBreaking(question: Question, looks: readonly Look[]): Promise<Omit<Decided, "question">> {
    if (question.about === "check") {
      const alone = await this.#session.pair({ shown: [FILLER], statements: [toStatement(question)] });
      if (alone.every((look) => look?.[0]?.isSound === false)) {
        const reason = "the model answers the service's own questions wrongly with nothing but this check in view";
        return { answer: "unclear", reason, isBinding: false };
      }
    }
    if (await this.#breaksByBuyer(question)) {
      const again = await this.#withoutWordsOfBuyer(question);
      if (again.verdict !== undefined) return { ...again.verdict, isBinding: true };
      if (this.#session.left() === 0) return this.#byEmbedded(question);
    }
    const { shown, cut } = removeWords(this.#deciding.textsOfBuyer, this.#visible(question));
    if (cut.length > 0) {
      const again = await this.#settle(question, shown, { most: MORE_REQUESTS });
      if (again.verdict !== undefined) {
        for (const one of cut) this.#session.leaveOut(one);
        return { ...again.verdict, isBinding: true };
      }
    }
    const searched = await this.#withoutPassages(question);
    if (searched.verdict !== undefined) return { ...searched.verdict, isBinding: true };
    return this.#byDirection(question, [...looks, ...searched.looks]);
  }

  /** Decides a question whose controls broke, or whose answers differed. `first` has the looks at it so far. */
  async #decideAlone(question: Question, first: readonly Look[]): Promise<Decided> {
    const shown = this.#visible(question);
    const pair = await this.#settle(question, shown, { most: 2 });
    if (pair.verdict !== undefined) return { question, ...pair.verdict, isBinding: true };
    if (!(await this.#works())) throw new UnusableModelError();
    const { verdict, looks: all } = await this.#settle(question, shown, { most: MORE_REQUESTS, before: pair.looks });
    if (verdict !== undefined) return { question, ...verdict, isBinding: true };
    if (all.length === 0) throw new TooFewAnswersError();
    return { question, ...(await this.#afterBreaking(question, [...first, ...all])) };
  }
}

interface Settled {
  verdict: { answer: VotedAnswer["answer"]; reason: string } | undefined;
  looks: Look[];
}

const CONTRADICTING = { answer: "unclear", reason: "the model's answers contradict each other" } as const;

/** The verdict of the sound answers: two that agree, or of five or more that contradict each other, more than two to one. */
function decideVerdict(looks: readonly Look[]): Settled["verdict"] {
  const sound = looks.filter(({ isSound }) => isSound);
  const counts = (["met", "not_met", "unclear"] as const).map((answer) => ({
    answer,
    count: sound.filter((look) => look.answer === answer).length,
  }));
  const [top] = counts.sort((left, right) => right.count - left.count);
  if (top === undefined || top.count < 2) return undefined;
  const rest = sound.length - top.count;
  const isDecided = rest === 0 || (sound.length >= ENOUGH_IF_CONTRADICTING && top.count > CONTRADICTING_RATIO * rest);
  if (!isDecided) return undefined;
  const said = sound.filter((look) => look.answer === top.answer);
  const reason = said
    .map((look) => `(${look.confidence.toFixed(2)}) ${look.reason}`)
    .slice(0, 2)
    .join("; ");
  return { answer: top.answer, reason };
}

/** Whom the wrong answers to the service's own questions help, by most of the looks. */
function decideDirection(looks: readonly Look[]): Side | undefined {
  const count = (side: Side) => looks.filter(({ leaning }) => leaning === side).length;
  if (count("buyer") === count("seller")) return undefined;
  return count("buyer") > count("seller") ? "buyer" : "seller";
}

function record(
  { use }: Session,
  questions: readonly Question[],
  looks: readonly Look[],
  order: "result_first" | "result_last",
) {
  const answers: VotedAnswer[] = [];
  const broken: string[] = [];
  for (const [index, { text }] of questions.entries()) {
    const look = looks[index];
    if (look?.isSound !== true) broken.push(text);
    else answers.push({ question: text, answer: look.answer, confidence: look.confidence, reason: look.reason });
  }
  use.votes.push({ order, answers, broken });
}

const keyOf = ({ field, text }: { field: string; text: string }): string => JSON.stringify([field, text]);

/** Whether a part of the result is still in view. */
function isShown(shown: readonly Shown[], quote: string): boolean {
  const asJson = JSON.stringify(quote).slice(1, -1);
  return shown.some(({ name, value }) => name === "result" && JSON.stringify(value).includes(asJson));
}
