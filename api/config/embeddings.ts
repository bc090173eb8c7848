import { z } from "zod";

/** The server that embeds texts: OpenAI, or one that speaks its protocol. */
export interface EmbeddingProvider {
  /** With its version: `https://api.openai.com/v1`. */
  baseUrl: string;
  /** Undefined for a server that needs none. */
  apiKey: string | undefined;
  model: string;
  /** Numbers of a vector. */
  dimensions: number;
  /** Whether requests name the dimensions. Not every server knows that field. */
  sendsDimensions: boolean;
  /** Bytes of UTF-8 that are sent of a text at most. A token has at least one. */
  maxTextBytes: number;
  /** Tokens that all processes together may spend in a UTC day. */
  dailyTokens: number;
}

const DEFAULT_BASE_URL = "https://api.openai.com/v1";
const MIN_DIMENSIONS = 64;
const MAX_DIMENSIONS = 4_096;
/** Enough for discovery, and every model of OpenAI's can be asked for so many. */
const DEFAULT_DIMENSIONS = 512;
/** OpenAI's bound in tokens. */
const DEFAULT_TEXT_BYTES = 8_192;
const MIN_TEXT_BYTES = 200;
const MAX_TEXT_BYTES = 100_000;
const DEFAULT_DAILY_TOKENS = 10_000_000;
/** More than the longest text can cost. */
const MIN_DAILY_TOKENS = 10_000;
const MAX_DAILY_TOKENS = 1_000_000_000_000;

const wholeNumber = (min: number, max: number, preset: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`))
    .default(preset);
const VISIBLE = /^[\x21-\x7e]+$/;

/** Variables of the server that embeds texts. */
export const embeddingVariables = {
  EMBEDDING_MODEL: z
    .string()
    .max(100, "must have 100 characters or less")
    .regex(VISIBLE, "must be visible ASCII without spaces")
    .optional(),
  EMBEDDING_API_KEY: z.string().regex(VISIBLE, "must be visible ASCII without spaces").optional(),
  EMBEDDING_BASE_URL: z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .refine((url) => !URL.canParse(url) || new URL(url).username === "", "must not contain a user name or password")
    .default(DEFAULT_BASE_URL),
  EMBEDDING_DIMENSIONS: wholeNumber(MIN_DIMENSIONS, MAX_DIMENSIONS, DEFAULT_DIMENSIONS),
  EMBEDDING_SEND_DIMENSIONS: z.enum(["true", "false"], "must be true or false").default("true"),
  EMBEDDING_MAX_TEXT_BYTES: wholeNumber(MIN_TEXT_BYTES, MAX_TEXT_BYTES, DEFAULT_TEXT_BYTES),
  EMBEDDING_DAILY_TOKENS: wholeNumber(MIN_DAILY_TOKENS, MAX_DAILY_TOKENS, DEFAULT_DAILY_TOKENS),
};

type EmbeddingVariables = z.output<z.ZodObject<typeof embeddingVariables>>;

/**
 * The server as configured; undefined for the embedded encoder. It is on only by `EMBEDDING_MODEL`: the key of the model that
 * judges disputes must not send all listings and the agents' memory to anyone.
 */
export function embeddingProvider(env: EmbeddingVariables): EmbeddingProvider | undefined {
  const { EMBEDDING_MODEL: model } = env;
  if (model === undefined) return undefined;
  return {
    baseUrl: env.EMBEDDING_BASE_URL,
    apiKey: env.EMBEDDING_API_KEY,
    model,
    dimensions: env.EMBEDDING_DIMENSIONS,
    sendsDimensions: env.EMBEDDING_SEND_DIMENSIONS === "true",
    maxTextBytes: env.EMBEDDING_MAX_TEXT_BYTES,
    dailyTokens: env.EMBEDDING_DAILY_TOKENS,
  };
}

/** Problems of the variables in combination. */
export function embeddingProblems(env: EmbeddingVariables): string[] {
  const { EMBEDDING_MODEL: model, EMBEDDING_API_KEY: key, EMBEDDING_BASE_URL: baseUrl } = env;
  const hasOwnServer = baseUrl !== DEFAULT_BASE_URL;
  if (model !== undefined) {
    if (key !== undefined || hasOwnServer) return [];
    return ["EMBEDDING_API_KEY is missing: EMBEDDING_MODEL needs a key, or EMBEDDING_BASE_URL of a server without one"];
  }
  const named = [...(key === undefined ? [] : ["EMBEDDING_API_KEY"]), ...(hasOwnServer ? ["EMBEDDING_BASE_URL"] : [])];
  return named.map((name) => `EMBEDDING_MODEL is missing: ${name} needs the name of a model`);
}
