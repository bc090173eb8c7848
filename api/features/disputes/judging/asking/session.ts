import { z } from "zod";

import type { Logger } from "../../../../lib/logger.ts";
import type { LeftOut, ModelUse } from "../case.ts";
import { decidingMessages } from "../prompt.ts";
import type { Deciding, Place } from "../prompt.ts";
import { cleanText, clip } from "../texts.ts";
import { compose, toLooks } from "./controls.ts";
import type { Composition, Look, RawAnswer } from "./controls.ts";
import type { Random } from "./random.ts";
import { MAX_REQUESTS, UnusableAnswerError } from "./server.ts";
import type { Asking, ModelServer } from "./server.ts";
import type { Shown } from "./view.ts";

const MAX_REASON = 500;
/** Left-out passages that are recorded, and the length of each. */
const MAX_LEFT_OUT = 40;
const MAX_LEFT_OUT_TEXT = 400;

const answersSchema = z.object({
  answers: z.array(
    z.object({
      id: z.string(),
      answer: z.enum(["met", "not_met", "unclear"]),
      confidence: z.number().min(0).max(1),
      reason: z.string(),
    }),
  ),
});

/** The texts, statements and places of one request. */
export interface View {
  shown: readonly Shown[];
  statements: readonly string[];
  places?: readonly Place[];
}

type Order = Deciding["order"];

/** The requests for one dispute, with what they leave on record. */
export interface Session {
  use: ModelUse;
  /** Requests that may still be made. */
  left(): number;
  /** One request: a look at each statement; undefined if no usable answer came. */
  look(view: View, order: Order): Promise<Look[] | undefined>;
  /** Two requests side by side: the result stands first in one, and last in the other. */
  pair(view: View): Promise<(Look[] | undefined)[]>;
  /** Any other request. Undefined if no usable answer came. */
  ask<T>(asking: Asking<T>, what: string): Promise<T | undefined>;
  /** Notes a passage that isn't shown any more. */
  leaveOut(passage: LeftOut): void;
  /** Whether the model itself refused or spoiled an answer, so that a text of the case may be the reason. */
  isSpoiled(): boolean;
}

/** Dependencies of a session. */
export interface SessionOptions {
  server: ModelServer;
  random: Random;
  log: Logger;
  use: ModelUse;
}

/** Opens a session. Its methods throw the signal's reason. */
export function openSession({ server, random, log, use }: SessionOptions, signal: AbortSignal): Session {
  let isSpoiled = false;

  async function ask<T>(asking: Asking<T>, what: string): Promise<T | undefined> {
    try {
      return await server.ask(asking, use, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof UnusableAnswerError)) throw error;
      log.warn({ model: use.model, problem: error.message }, "an answer of the model is missing");
      const problem = `${what} is missing: ${error.message}.`;
      if (!use.problems.includes(problem)) use.problems.push(problem);
      isSpoiled ||= error.isOfTheModel;
      return undefined;
    }
  }

  async function look({ shown, statements, places = [] }: View, order: Order): Promise<Look[] | undefined> {
    const composition = compose(statements.length, random);
    const asking = {
      name: "answers",
      schema: schemaFor(composition),
      messages: (fence: string) => decidingMessages({ shown, places, statements, composition, order }, fence),
    };
    const data = await ask(asking, `A vote (${order})`);
    if (data === undefined) return undefined;
    const answers = new Map(data.answers.map(({ id, ...answer }): [string, RawAnswer] => [id, cleaned(answer)]));
    return toLooks(statements.length, composition, answers);
  }

  return {
    use,
    look,
    ask,
    left: () => MAX_REQUESTS - use.requests,
    pair: (view) => Promise.all([look(view, "result_first"), look(view, "result_last")]),
    isSpoiled: () => isSpoiled,
    leaveOut({ by, field, text }) {
      const kept = clip(cleanText(text).text.replaceAll(/\s+/g, " ").trim(), MAX_LEFT_OUT_TEXT);
      if (use.leftOut.some((one) => one.field === field && one.text === kept)) return;
      if (use.leftOut.length < MAX_LEFT_OUT) use.leftOut.push({ by, field, text: kept });
    },
  };
}

/** Each question once, and no other. */
function schemaFor({ questions }: Composition) {
  return answersSchema.refine(({ answers }) => {
    const ids = new Set(answers.map(({ id }) => id));
    return answers.length === questions.length && questions.every(({ id }) => ids.has(id));
  });
}

function cleaned(answer: RawAnswer): RawAnswer {
  const reason = clip(cleanText(answer.reason).text.replaceAll(/\s+/g, " ").trim(), MAX_REASON);
  return { ...answer, reason };
}
