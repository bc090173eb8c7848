import { randomBytes } from "node:crypto";

import type { OpenAI } from "openai";
import { z } from "zod";

import { openAI } from "../../../../lib/openai.ts";
import { retry } from "../../../../lib/retry.ts";
import { untilAborted } from "../../../../lib/stopping.ts";
import type { Messages } from "../prompt.ts";
import type { Random } from "./random.ts";

/** A model behind OpenAI's API or a compatible one. */
export interface ModelOptions {
  apiKey: string;
  /** With its version: `https://api.openai.com/v1`. */
  baseUrl: string;
  name: string;
  /** Timeout of one attempt, in milliseconds; default 60 s. */
  timeoutMs?: number;
  /** Attempts for each question of the service; default 3. */
  attempts?: number;
  /** Upper bound of the first delay between attempts, in milliseconds; default 1 s. */
  retryDelayMs?: number;
  /** Draws controls and orders; secure by default. */
  random?: Random;
  /** Sends requests; the process's own by default. */
  fetch?: typeof fetch;
}

/** Maximum requests for one dispute, retries included. */
export const MAX_REQUESTS = 32;

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_ATTEMPTS = 3;
const DEFAULT_RETRY_DELAY_MS = 1_000;
const MAX_RETRY_DELAY_MS = 10_000;
/** Maximum tokens of an answer, reasoning included. */
const MAX_COMPLETION_TOKENS = 16_000;
const FENCE_BYTES = 16;

/** Thrown without a usable answer. The message is shown to both parties, so it names no address and no key. */
export class UnusableAnswerError extends Error {
  override readonly name = "UnusableAnswerError";
  readonly isRetryable: boolean;
  /** Whether the model itself failed to answer: a text of the case may have made it. */
  readonly isOfTheModel: boolean;

  constructor(message: string, cause: "server" | "request" | "model" | "budget") {
    super(message);
    this.isRetryable = cause === "server" || cause === "model";
    this.isOfTheModel = cause === "model";
  }
}

/** Requests and tokens used for one dispute so far. */
export interface Usage {
  requests: number;
  tokens: { input: number; output: number };
}

/** The messages of a request, and the schema of its answer. */
export interface Asking<T> {
  messages: (fence: string) => Messages;
  name: string;
  schema: z.ZodType<T>;
}

/** The fields of a completion that are read. Compatible servers leave out fields that they don't know. */
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

/** Sends requests to a model's server. */
export function createModelServer(options: ModelOptions) {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const { apiKey, baseUrl: baseURL, fetch } = options;
  const load = openAI({ apiKey, baseURL, timeout: timeoutMs, fetch });

  async function once<T>(asking: Asking<T>, usage: Usage, signal: AbortSignal): Promise<T> {
    if (usage.requests >= MAX_REQUESTS) throw new UnusableAnswerError(`${MAX_REQUESTS} requests were made`, "budget");
    usage.requests += 1;
    const { client, OpenAI: errors } = await load();
    const timedOut = AbortSignal.timeout(timeoutMs);
    let completion: unknown;
    try {
      const both = AbortSignal.any([signal, timedOut]);
      const request = client.chat.completions.create(
        {
          model: options.name,
          messages: fenced(asking.messages),
          max_completion_tokens: MAX_COMPLETION_TOKENS,
          response_format: {
            type: "json_schema",
            // Without the name of the dialect, which not every server knows.
            json_schema: {
              name: asking.name,
              strict: true,
              schema: { ...z.toJSONSchema(asking.schema), $schema: undefined },
            },
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
    usage.tokens.input += counted?.prompt_tokens ?? 0;
    usage.tokens.output += counted?.completion_tokens ?? 0;
    return answerIn(completion, asking.schema);
  }

  return {
    /** The answer to a request, with retries where they may help. @throws UnusableAnswerError */
    async ask<T>(asking: Asking<T>, usage: Usage, signal: AbortSignal): Promise<T> {
      const run = retry(() => once(asking, usage, signal), {
        attempts: options.attempts ?? DEFAULT_ATTEMPTS,
        baseDelayMs: options.retryDelayMs ?? DEFAULT_RETRY_DELAY_MS,
        maxDelayMs: MAX_RETRY_DELAY_MS,
        isRetryable: (error) => error instanceof UnusableAnswerError && error.isRetryable && !signal.aborted,
      });
      return untilAborted(run, signal);
    },
  };
}

/** Sends requests to a model's server. */
export type ModelServer = ReturnType<typeof createModelServer>;

/** Messages in a fence that is in none of their texts. */
function fenced(messagesIn: (fence: string) => Messages): Messages {
  const texts = JSON.stringify(messagesIn(""));
  for (;;) {
    const fence = randomBytes(FENCE_BYTES).toString("hex");
    if (!texts.includes(fence)) return messagesIn(fence);
  }
}

/** The answer in a completion. @throws UnusableAnswerError */
function answerIn<T>(completion: unknown, schema: z.ZodType<T>): T {
  const choice = completionSchema.safeParse(completion).data?.choices[0];
  if (choice === undefined)
    throw new UnusableAnswerError("the model's server didn't answer with a completion", "server");
  const { message, finish_reason: end } = choice;
  if ((message.refusal ?? "") !== "" || end === "content_filter")
    throw new UnusableAnswerError("the model refused", "model");
  if (end === "length") throw new UnusableAnswerError("the model's answer was cut off", "model");
  const { success, data } = schema.safeParse(parsed(message.content ?? ""));
  if (!success) throw new UnusableAnswerError("the model's answer isn't in the form asked for", "model");
  return data;
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

/** 408, 409, 429 and server errors are temporary; other client errors would repeat. */
function asUnusable(error: unknown, errors: typeof OpenAI): UnusableAnswerError {
  const status = error instanceof errors.APIError ? (error.status as number | undefined) : undefined;
  if (error instanceof SyntaxError)
    return new UnusableAnswerError("the model's server didn't answer with JSON", "server");
  if (status === undefined) return new UnusableAnswerError("the model's server couldn't be reached", "server");
  const isTransient = status >= 500 || [408, 409, 429].includes(status);
  return new UnusableAnswerError(`the model's server answered ${status}`, isTransient ? "server" : "request");
}
