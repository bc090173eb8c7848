import { randomBytes } from "node:crypto";

import type { OpenAI } from "openai";
import { z } from "zod";

import { openAI } from "../../../lib/openai.ts";
import { retry } from "../../../lib/retry.ts";
import { untilAborted } from "../../../lib/stopping.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { ModelUse, Vote, VotedAnswer } from "./case.ts";
import { messagesOf, PROMPT_HASH, PROMPT_VERSION } from "./prompt.ts";
import type { PromptParts, View } from "./prompt.ts";
import type { Question } from "./questions.ts";
import { cleanText, clip } from "./texts.ts";
import { MAJORITY, outcomeOfVote } from "./votes.ts";

/** A model behind OpenAI's API or a compatible one. */
export interface ModelOptions {
  apiKey: string;
  /** With its version: `https://api.openai.com/v1`. */
  baseUrl: string;
  name: string;
  /** Timeout of one attempt, in milliseconds; default 60 s. */
  timeoutMs?: number;
  /** Attempts for each vote; default 3. */
  attempts?: number;
  /** Upper bound of the first delay between attempts, in milliseconds; default 1 s. */
  retryDelayMs?: number;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_ATTEMPTS = 3;
const DEFAULT_RETRY_DELAY_MS = 1_000;
const MAX_RETRY_DELAY_MS = 10_000;
/** Reasoning counts too. */
const MAX_COMPLETION_TOKENS = 16_000;
const MAX_REASON = 500;
const FENCE_BYTES = 16;

/** A usable answer failed to come. The message is shown to both parties, so it names no address and no key. */
class UnusableAnswerError extends Error {
  override readonly name = "UnusableAnswerError";
  readonly isRetryable: boolean;
  /** Whether the model itself failed to answer: a text of the case may have made it. */
  readonly isOfTheModel: boolean;

  constructor(message: string, cause: "server" | "request" | "model") {
    super(message);
    this.isRetryable = cause !== "request";
    this.isOfTheModel = cause === "model";
  }
}

/** What came of asking a model. */
export interface Asked {
  use: ModelUse;
  /** False with fewer votes than a majority. */
  isUsable: boolean;
  /** Whether the model itself refused or spoiled an answer, so that a text of the case may be the reason. */
  isSpoiled: boolean;
}

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
/** What of a completion is read. Compatible servers leave out what they don't know. */
const completionSchema = z.object({
  choices: z.tuple(
    [
      z.object({
        finish_reason: z.string().nullish(),
        message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }),
      }),
    ],
    z.unknown(),
  ),
});
const usageSchema = z.object({
  usage: z.object({ prompt_tokens: z.int().nonnegative(), completion_tokens: z.int().nonnegative() }),
});
/** Without the name of the dialect, which not every server knows. */
const ANSWERS_JSON_SCHEMA = { ...z.toJSONSchema(answersSchema), $schema: undefined };

/** Asks a model for three independent votes on what the facts leave open. */
export function createModelJudge(options: ModelOptions, log: Logger) {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const load = openAI({ apiKey: options.apiKey, baseURL: options.baseUrl, timeout: timeoutMs });

  /** One request. @throws UnusableAnswerError */
  async function ask(parts: PromptParts, view: View, use: ModelUse, signal: AbortSignal): Promise<VotedAnswer[]> {
    const { client, OpenAI: errors } = await load();
    const timedOut = AbortSignal.timeout(timeoutMs);
    const messages = messagesOf(parts, view);
    let completion: unknown;
    try {
      const both = AbortSignal.any([signal, timedOut]);
      const request = client.chat.completions.create(
        {
          model: options.name,
          messages,
          max_completion_tokens: MAX_COMPLETION_TOKENS,
          response_format: {
            type: "json_schema",
            json_schema: { name: "answers", strict: true, schema: ANSWERS_JSON_SCHEMA },
          },
        },
        { signal: both },
      );
      completion = await untilAborted(request, both);
    } catch (error) {
      signal.throwIfAborted();
      if (timedOut.aborted || error instanceof errors.APIConnectionTimeoutError) {
        throw new UnusableAnswerError(`no answer within ${timeoutMs} ms`, "server");
      }
      throw asUnusable(error, errors);
    }
    const counted = usageSchema.safeParse(completion).data?.usage;
    use.tokens.input += counted?.prompt_tokens ?? 0;
    use.tokens.output += counted?.completion_tokens ?? 0;
    return answersIn(completion, parts.questions);
  }

  /** One vote, or why no attempt gave a usable answer. */
  async function vote(
    parts: PromptParts,
    view: View,
    use: ModelUse,
    signal: AbortSignal,
  ): Promise<Vote | UnusableAnswerError> {
    const run = retry(() => ask(parts, { ...view, fence: fenceFor(parts) }, use, signal), {
      attempts: options.attempts ?? DEFAULT_ATTEMPTS,
      baseDelayMs: options.retryDelayMs ?? DEFAULT_RETRY_DELAY_MS,
      maxDelayMs: MAX_RETRY_DELAY_MS,
      isRetryable: (error) => error instanceof UnusableAnswerError && error.isRetryable && !signal.aborted,
    });
    try {
      const answers = await untilAborted(run, signal);
      return { order: view.order, outcome: outcomeOfVote(answers, parts.seen.dispute.handover), answers };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof UnusableAnswerError)) throw error;
      log.warn({ model: options.name, problem: error.message }, "a vote of the model is missing");
      use.problems.push(`A vote (${view.order}) is missing: ${error.message}.`);
      return error;
    }
  }

  return {
    /**
     * The votes of the model. Fewer than two aren't a majority; `problems` says why some are missing.
     * @throws the signal's reason
     */
    async votes(parts: PromptParts, signal: AbortSignal): Promise<Asked> {
      const use: ModelUse = {
        model: options.name,
        promptVersion: PROMPT_VERSION,
        promptHash: PROMPT_HASH,
        votes: [],
        tokens: { input: 0, output: 0 },
        problems: [],
      };
      const votes = await Promise.all(views().map((view) => vote(parts, view, use, signal)));
      use.votes = votes.filter((one): one is Vote => !(one instanceof Error));
      use.problems.sort();
      const isSpoiled = votes.some((one) => one instanceof Error && one.isOfTheModel);
      return { use, isUsable: use.votes.length >= MAJORITY, isSpoiled };
    },
  };
}

/** Three views: both orders, the first party named A; and one of them, at random, with the names swapped. */
function views(): View[] {
  const buyerFirst: View = { order: "buyer_first", names: { buyer: "Party A", seller: "Party B" }, fence: "" };
  const sellerFirst: View = { order: "seller_first", names: { buyer: "Party B", seller: "Party A" }, fence: "" };
  const [third, other] = randomBytes(1).readUInt8(0) % 2 === 0 ? [buyerFirst, sellerFirst] : [sellerFirst, buyerFirst];
  return [buyerFirst, sellerFirst, { ...third, names: other.names }];
}

/** A fence that is in no text of the case. */
function fenceFor(parts: PromptParts): string {
  const texts = JSON.stringify(parts);
  for (;;) {
    const fence = randomBytes(FENCE_BYTES).toString("hex");
    if (!texts.includes(fence)) return fence;
  }
}

/** The answers in a completion: each question once. @throws UnusableAnswerError */
function answersIn(completion: unknown, questions: readonly Question[]): VotedAnswer[] {
  const choice = completionSchema.safeParse(completion).data?.choices[0];
  if (choice === undefined)
    throw new UnusableAnswerError("the model's server didn't answer with a completion", "server");
  const { message, finish_reason: end } = choice;
  if ((message.refusal ?? "") !== "" || end === "content_filter")
    throw new UnusableAnswerError("the model refused", "model");
  if (end === "length") throw new UnusableAnswerError("the model's answer was cut off", "model");
  const { data } = answersSchema.safeParse(parsed(message.content ?? ""));
  const ids = new Map(data?.answers.map((answer) => [answer.id, answer]));
  if (data?.answers.length !== questions.length || ids.size !== questions.length) {
    throw new UnusableAnswerError("the model's answer isn't in the form asked for", "model");
  }
  return questions.map(({ text }, index) => {
    const answer = ids.get(`q${index + 1}`);
    if (answer === undefined) throw new UnusableAnswerError("the model answers questions that nobody asked", "model");
    const reason = clip(cleanText(answer.reason).text.replaceAll(/\s+/g, " ").trim(), MAX_REASON);
    return { question: text, answer: answer.answer, confidence: answer.confidence, reason };
  });
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(withoutCodeBlock(content.trim()));
  } catch {
    return undefined;
  }
}

/** Models without structured output like to put JSON into a block of code. */
function withoutCodeBlock(text: string): string {
  const isBlock = text.startsWith("```") && text.endsWith("```") && text.includes("\n");
  return isBlock ? text.slice(text.indexOf("\n"), -"```".length) : text;
}

/** 408, 409, 429 and errors of the server pass; other refusals of the request repeat themselves. */
function asUnusable(error: unknown, errors: typeof OpenAI): UnusableAnswerError {
  const status = error instanceof errors.APIError ? (error.status as number | undefined) : undefined;
  if (error instanceof SyntaxError)
    return new UnusableAnswerError("the model's server didn't answer with JSON", "server");
  if (status === undefined) return new UnusableAnswerError("the model's server couldn't be reached", "server");
  const isTransient = status >= 500 || [408, 409, 429].includes(status);
  return new UnusableAnswerError(`the model's server answered ${status}`, isTransient ? "server" : "request");
}
