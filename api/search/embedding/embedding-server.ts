import type { OpenAI } from "openai";
import { z } from "zod";

import type { EmbeddingProvider } from "../../config/embeddings.ts";
import { openAI } from "../../lib/openai.ts";
import { untilAborted } from "../../lib/stopping.ts";

/** The result of a request. */
export interface ServerAnswer {
  /** Unit vectors, in the order of the texts. */
  vectors: Float32Array[];
  /** The tokens that the server reports as charged; undefined without a report. */
  tokens: number | undefined;
}

/** A request failed. The message names no address, key or text, so it can be logged. */
export class EmbeddingServerError extends Error {
  override readonly name = "EmbeddingServerError";
  /**
   * - `passing`: another attempt may succeed.
   * - `settings`: the key, the model or the form of the answer is wrong.
   * - `texts`: the server doesn't take one of the texts.
   */
  readonly kind: "passing" | "settings" | "texts";
  /** Whether the server may charge for the request. */
  readonly mayCost: boolean;
  /** How long the server wants to be left alone, in milliseconds. */
  readonly retryAfterMs: number;

  constructor(
    kind: EmbeddingServerError["kind"],
    message: string,
    { mayCost = false, retryAfterMs = 0 }: { mayCost?: boolean; retryAfterMs?: number } = {},
  ) {
    super(message);
    this.kind = kind;
    this.mayCost = mayCost;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A server that speaks OpenAI's protocol for embeddings. */
export interface EmbeddingServer {
  /** One attempt. @throws EmbeddingServerError, or the signal's reason */
  embed(texts: readonly string[], timeoutMs: number, signal: AbortSignal): Promise<ServerAnswer>;
}

/** The parts of an answer that are read. Compatible servers leave out the rest. */
const answerSchema = z.object({
  data: z.array(z.object({ index: z.int().nonnegative(), embedding: z.array(z.number()) })),
  usage: z.object({ prompt_tokens: z.int().nonnegative() }).optional().catch(undefined),
});

/** A client for one model. It makes no second attempts. */
export function createEmbeddingServer(
  provider: Pick<EmbeddingProvider, "baseUrl" | "apiKey" | "sendsDimensions" | "model" | "dimensions">,
): EmbeddingServer {
  const { baseUrl, apiKey, model, dimensions, sendsDimensions } = provider;
  const load = openAI({
    apiKey: apiKey ?? "none",
    baseURL: baseUrl,
    defaultHeaders: apiKey === undefined ? { authorization: null } : {},
  });

  return {
    async embed(texts, timeoutMs, signal) {
      const { client, OpenAI: errors } = await load();
      const timedOut = AbortSignal.timeout(timeoutMs);
      const both = AbortSignal.any([signal, timedOut]);
      let answer: unknown;
      try {
        const request = client.embeddings.create(
          { model, input: [...texts], encoding_format: "float", ...(sendsDimensions ? { dimensions } : {}) },
          { signal: both, timeout: timeoutMs },
        );
        answer = await untilAborted(request, both);
      } catch (error) {
        signal.throwIfAborted();
        if (timedOut.aborted || error instanceof errors.APIConnectionTimeoutError) {
          throw new EmbeddingServerError("passing", `no answer within ${timeoutMs} ms`, { mayCost: true });
        }
        throw asServerError(error, errors);
      }
      const { data: parsed } = answerSchema.safeParse(answer);
      if (parsed === undefined) throw malformed("isn't a list of embeddings");
      return { vectors: vectorsIn(parsed.data, texts.length, dimensions), tokens: parsed.usage?.prompt_tokens };
    },
  };
}

/** The vectors of an answer in the order of the texts. @throws EmbeddingServerError */
function vectorsIn(
  data: readonly { index: number; embedding: readonly number[] }[],
  count: number,
  dimensions: number,
): Float32Array[] {
  const byIndex = new Map(data.map(({ index, embedding }) => [index, embedding]));
  if (data.length !== count || byIndex.size !== count) throw malformed(`has ${data.length} vectors for ${count} texts`);
  return Array.from({ length: count }, (_, index) => {
    const numbers = byIndex.get(index);
    if (numbers === undefined) throw malformed("has vectors for texts that nobody sent");
    if (numbers.length !== dimensions) {
      throw malformed(`has vectors of ${numbers.length} dimensions, and EMBEDDING_DIMENSIONS is ${dimensions}`);
    }
    return unitVector(numbers);
  });
}

/** Scaled by the largest number first, so that neither very large nor very small ones are lost. */
function unitVector(numbers: readonly number[]): Float32Array {
  const largest = numbers.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  const scaled = numbers.map((number) => number / largest);
  const length = Math.sqrt(scaled.reduce((sum, number) => sum + number * number, 0));
  const vector = Float32Array.from(scaled, (number) => number / length);
  if (!vector.every(Number.isFinite)) throw malformed("has a vector without a direction");
  return vector;
}

/** The server has worked for such an answer, and may charge for it. */
function malformed(what: string): EmbeddingServerError {
  return new EmbeddingServerError("settings", `the answer ${what}`, { mayCost: true });
}

const PASSING_STATUSES = new Set([408, 409, 425, 429]);
const TEXT_STATUSES = new Set([400, 413, 422]);

function asServerError(error: unknown, errors: typeof OpenAI): EmbeddingServerError {
  if (error instanceof SyntaxError) {
    return new EmbeddingServerError("passing", "the answer isn't JSON", { mayCost: true });
  }
  if (!(error instanceof errors.APIError)) {
    return new EmbeddingServerError("passing", "the answer broke off", { mayCost: true });
  }
  const { status, code, headers } = error as { status?: number; code?: string | null; headers?: Headers };
  if (status === undefined) {
    return new EmbeddingServerError("passing", "the server couldn't be reached", { mayCost: !isBeforeSending(error) });
  }
  const message = `the server answered ${status}`;
  // OpenAI's code for an account without credit: no attempt of the next seconds will succeed.
  if (code === "insufficient_quota") return new EmbeddingServerError("settings", `${message} (insufficient_quota)`);
  if (TEXT_STATUSES.has(status)) return new EmbeddingServerError("texts", message);
  if (status < 500 && !PASSING_STATUSES.has(status)) return new EmbeddingServerError("settings", message);
  return new EmbeddingServerError("passing", message, { retryAfterMs: parseRetryAfter(headers) });
}

/** Failures to connect: the server hasn't seen the request. */
const UNSENT_CODES: readonly unknown[] = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
];

/** The client wraps fetch's error, and that wraps the one of the socket. */
function isBeforeSending(error: Error): boolean {
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && UNSENT_CODES.includes(cause.code)) return true;
  }
  return false;
}

const MAX_RETRY_AFTER_MS = 60_000;

/** `Retry-After` in seconds; what isn't a number counts as none. */
function parseRetryAfter(headers: Headers | undefined): number {
  const seconds = Number(headers?.get("retry-after") ?? 0);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS) : 0;
}
