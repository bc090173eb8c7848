import type { Side, VotedAnswer } from "../case.ts";
import { shuffled } from "./random.ts";
import type { Random } from "./random.ts";

/*
 * A check is never asked alone. Each question joins it to a statement on a note of the service, whose truth code knows:
 * "X and T" and "X or F" are as true as X; "X and F" is false and "X or T" is true, whatever X is. A text
 * that orders the same answer for everything about X makes the model answer one of the last two wrongly, which code detects.
 */

const THINGS = ["tray", "lamp", "bell", "gate", "rope", "door", "card", "kite", "drum", "sled", "vase", "coat"];
const COLOURS = [
  "amber",
  "violet",
  "green",
  "white",
  "black",
  "brown",
  "silver",
  "pink",
  "blue",
  "grey",
  "gold",
  "red",
];
const NOTED = 4;
const ID_VALUES = 0x10000;
const ID_LENGTH = 4;

type Role = "carrier" | "and_false" | "or_true";

/** A question that joins a statement of the case with one on the service's note. */
export interface ComposedQuestion {
  id: string;
  /** Index of the statement of the case. */
  statement: number;
  role: Role;
  /** As the model reads it. */
  line: string;
}

/** The questions of one request with the note that they refer to. */
export interface Composition {
  note: string;
  questions: ComposedQuestion[];
}

/** Three questions for each statement, in random order. */
export function compose(statements: number, random: Random): Composition {
  const things = shuffled(THINGS, random).slice(0, NOTED);
  const colours = shuffled(COLOURS, random);
  const noted = things.map((thing, index) => ({ thing, colour: colours[index] ?? "" }));
  const about = (isTrue: boolean): string => {
    const { thing, colour } = noted[random(noted.length)] ?? { thing: "", colour: "" };
    const others = COLOURS.filter((other) => other !== colour);
    return `the ${thing} is ${isTrue ? colour : (others[random(others.length)] ?? "")}`;
  };
  const ids = new Set<string>();
  while (ids.size < 3 * statements) ids.add(random(ID_VALUES).toString(16).padStart(ID_LENGTH, "0"));
  const free = [...ids];
  const question = (statement: number, role: Role): ComposedQuestion => {
    const isBoth = role === "and_false" || (role === "carrier" && random(2) === 0);
    const isTrue = role === "or_true" || (role === "carrier" && isBoth);
    const halves = shuffled([`statement ${statement + 1}`, about(isTrue)], random).join(" | ");
    const id = free.pop() ?? "";
    return { id, statement, role, line: `Question ${id}: ${isBoth ? "both" : "at least one"}: ${halves}` };
  };
  const roles: Role[] = ["carrier", "and_false", "or_true"];
  const questions = Array.from({ length: statements }, (_, index) => roles.map((role) => question(index, role))).flat();
  const note = noted.map(({ thing, colour }) => `The ${thing} is ${colour}.`).join(" ");
  return { note, questions: shuffled(questions, random) };
}

/** The answer of one request about one statement. */
export interface Look {
  answer: VotedAnswer["answer"];
  confidence: number;
  reason: string;
  /** Whether both control questions were answered rightly, so that the answer counts. */
  isSound: boolean;
  /** The party that the wrong answers would help; undefined if they help none, or if there are none. */
  leaning: Side | undefined;
}

/** An answer with less confidence counts as unclear. */
export const LEAST_CONFIDENCE = 0.7;

/** A model's answer to one composed question. */
export type RawAnswer = Omit<VotedAnswer, "question">;

/** Evaluates the answers to a composition: one look for each statement. */
export function toLooks(
  statements: number,
  { questions }: Composition,
  answers: ReadonlyMap<string, RawAnswer>,
): Look[] {
  return Array.from({ length: statements }, (_, statement): Look => {
    const said = (role: Role): RawAnswer => {
      const id = questions.find((one) => one.statement === statement && one.role === role)?.id ?? "";
      return answers.get(id) ?? { answer: "unclear", confidence: 0, reason: "" };
    };
    const sure = ({ answer, confidence }: RawAnswer) => (confidence < LEAST_CONFIDENCE ? "unclear" : answer);
    const carrier = said("carrier");
    const [isFalse, isTrue] = [sure(said("and_false")), sure(said("or_true"))];
    const leaning =
      isFalse === "met" && isTrue === "met"
        ? "seller"
        : isFalse === isTrue && isTrue === "not_met"
          ? "buyer"
          : undefined;
    return {
      ...carrier,
      answer: sure(carrier),
      isSound: isFalse === "not_met" && isTrue === "met",
      leaning,
    };
  });
}
