import PQueue from "p-queue";

import { Batches } from "../../lib/batches.ts";
import type { Waiting } from "../../lib/batches.ts";
import { sha256Hex } from "../../lib/ids.ts";
import { retry } from "../../lib/retry.ts";
import { DeadlineExceededError, withTimeout } from "../../lib/timeout.ts";
import { cleanText } from "./clean-text.ts";
import { EmbeddingServerError } from "./embedding-server.ts";
import type { EmbeddingServer, ServerAnswer } from "./embedding-server.ts";
import { NoVectorError } from "./encoder.ts";
import type { EncodeOptions, Encoding, SentenceEncoder } from "./encoder.ts";
import type { Outage } from "./outage.ts";
import type { Reservation, TokenBudget } from "./token-budget.ts";
import type { VectorCache } from "./vector-cache.ts";

/** How the texts of one kind are sent. */
export interface SendingPace {
  /** Timeout of one attempt, in milliseconds. */
  timeoutMs: number;
  attempts: number;
  /** Upper bounds of the first and of any delay between attempts, in milliseconds. */
  baseDelayMs: number;
  maxDelayMs: number;
}

type Kind = NonNullable<EncodeOptions["as"]>;

/** Paces that replace parts of the usual ones. */
export type SendingPaces = Partial<Record<Kind, Partial<SendingPace>>>;

/** Texts that are sent together: agents' private documents, and those of the background, may have no tokens left when others still do. */
type Lane = Kind | "private" | "background";

/** A query's limits fit into the time that its caller waits. */
const PACES: Readonly<Record<Kind, SendingPace>> = {
  query: { timeoutMs: 2_500, attempts: 2, baseDelayMs: 100, maxDelayMs: 500 },
  document: { timeoutMs: 10_000, attempts: 3, baseDelayMs: 500, maxDelayMs: 2_000 },
};
const PRIORITIES: Readonly<Record<Lane, number>> = { query: 1, document: 0, private: 0, background: -1 };
const BOUNDS = {
  query: { maxWaiting: 200, maxTexts: 16 },
  document: { maxWaiting: 2_000, maxTexts: 64 },
} as const;
/** Requests at the same time. */
const CONCURRENCY = 8;
/** Of a request. OpenAI takes 300,000. */
const MAX_TOKENS = 200_000;
const PATIENCE_MS = { query: 3_000, document: 60_000 } as const;
/** Of a job: four requests, so that others have their turn. */
const AT_ONCE = 4 * BOUNDS.document.maxTexts;
/** Marks that a tokenizer puts around a text. */
const TOKENS_BESIDE_TEXT = 4;

/** Tokens reserved for a text of a given size in bytes: an upper bound for every tokenizer. */
export const mostTokensOf = (bytes: number) => bytes + TOKENS_BESIDE_TEXT;

const HOUR_MS = 3_600_000;
/** How long vectors are kept for other processes: a private text's and a query's as long as a repeat is likely. */
const KEPT_MS = { query: HOUR_MS, owned: 24 * HOUR_MS, public: 30 * 24 * HOUR_MS } as const;
const REFUSED_MS = HOUR_MS;
/** After this many refusals without any answer before, the texts aren't the cause. */
const MOST_REFUSALS = 8;

/** A text with what its embedding may cost. */
interface Text {
  hash: string;
  text: string;
  /** Upper bound of its tokens. */
  tokens: number;
  /** How long its vector is kept for other processes, in milliseconds. */
  keptMs: number;
  /** The share of the day's tokens on which it counts: an agent's, or that of its queries. */
  payer: string | undefined;
}

/** A text that waits for its vector, with the tokens that are set aside of its payer's share. */
interface PaidText extends Waiting<Text, Float32Array> {
  reservation: Reservation | undefined;
  /** The tokens that it has cost. */
  cost: number;
}

/** An encoder that has texts embedded by a server. Processes share the vectors and the day's tokens. */
export class ServerEncoder implements SentenceEncoder {
  readonly model: string;
  readonly dimensions: number;
  readonly atOnce = AT_ONCE;
  readonly #server: EmbeddingServer;
  readonly #cache: VectorCache;
  readonly #budget: TokenBudget;
  readonly #outage: Outage;
  readonly #maxTextBytes: number;
  readonly #now: () => Date;
  readonly #paces: SendingPaces;
  readonly #queue = new PQueue({ concurrency: CONCURRENCY });
  readonly #lanes: Readonly<Record<Lane, Batches<Text, Float32Array>>>;
  /** By hash and payer. A text that waits isn't sent twice. */
  readonly #pending = new Map<string, Promise<Float32Array>>();
  readonly #closing = new AbortController();
  /** Whether the server has ever answered with vectors, so that what it refuses is a text and not our way to ask. */
  #isProven = false;

  constructor({
    model,
    dimensions,
    server,
    cache,
    budget,
    outage,
    maxTextBytes,
    now,
    paces = {},
  }: {
    /** Name of the model with its provider and dimensions. */
    model: string;
    dimensions: number;
    server: EmbeddingServer;
    cache: VectorCache;
    budget: TokenBudget;
    outage: Outage;
    maxTextBytes: number;
    now: () => Date;
    paces?: SendingPaces | undefined;
  }) {
    this.model = model;
    this.dimensions = dimensions;
    this.#server = server;
    this.#cache = cache;
    this.#budget = budget;
    this.#outage = outage;
    this.#maxTextBytes = maxTextBytes;
    this.#now = now;
    this.#paces = paces;
    this.#lanes = {
      query: this.#createLane("query"),
      document: this.#createLane("document"),
      private: this.#createLane("private"),
      background: this.#createLane("background"),
    };
  }

  async encode(text: string, options: EncodeOptions = {}): Promise<Encoding> {
    const { as = "document", owner, spender = owner, patienceMs = PATIENCE_MS[as], isBackground = false } = options;
    if (this.#closing.signal.aborted) throw closed();
    const clean = cleanText(text, this.#maxTextBytes);
    if (clean === "") throw new NoVectorError("text", "The text has no visible character");
    const lane = isBackground ? "background" : as === "document" && owner !== undefined ? "private" : as;
    if (this.#lanes[lane].size >= BOUNDS[as].maxWaiting) {
      throw new NoVectorError("server", "Too many texts wait for the embedding server");
    }
    const tokens = mostTokensOf(Buffer.byteLength(clean));
    // Queries have a share of their own: an agent that has stored much can still search by meaning.
    const payer = spender === undefined || as === "document" ? spender : `${spender}|query`;
    if (payer !== undefined && this.#budget.isShareSpent(payer, tokens)) throw shareSpent();
    const hash = sha256Hex(JSON.stringify([this.model, as, owner ?? null, clean]));
    const keptMs = as === "query" ? KEPT_MS.query : owner === undefined ? KEPT_MS.public : KEPT_MS.owned;
    try {
      const vector = await withTimeout("The embedding server", patienceMs, () =>
        this.#requestVector(lane, { hash, text: clean, tokens, keptMs, payer }),
      );
      // These models know most languages.
      return { vector, knownWordShare: 1 };
    } catch (error) {
      if (error instanceof DeadlineExceededError) throw new NoVectorError("server", error.message);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(closed());
    for (const lane of Object.values(this.#lanes)) lane.clear(closed());
    await this.#queue.onIdle();
  }

  #createLane(lane: Lane): Batches<Text, Float32Array> {
    const kind = lane === "query" ? "query" : "document";
    const { maxTexts } = BOUNDS[kind];
    const pace = { ...PACES[kind], ...this.#paces[kind] };
    return new Batches({
      queue: this.#queue,
      priority: PRIORITIES[lane],
      fits: (texts) => texts.length <= maxTexts && tokensOf(texts) <= MAX_TOKENS,
      run: (batch) => this.#embed(batch, lane, pace),
    });
  }

  #requestVector(lane: Lane, text: Text): Promise<Float32Array> {
    const key = `${text.hash}|${text.payer ?? ""}`;
    const pending = this.#pending.get(key) ?? this.#lanes[lane].add(text);
    this.#pending.set(key, pending);
    const forget = () => this.#pending.delete(key);
    pending.then(forget, forget);
    return pending;
  }

  /** Takes what the cache knows, and has the other texts embedded. */
  async #embed(batch: readonly Waiting<Text, Float32Array>[], lane: Lane, pace: SendingPace): Promise<void> {
    const known = await this.#cache.read(batch.map(({ item: { hash } }) => hash));
    for (const { item, resolve, reject } of batch) {
      const vector = known.get(item.hash);
      if (vector === null) reject(refusal());
      else if (vector !== undefined) resolve(vector);
    }
    const unknown = batch.filter(({ item }) => !known.has(item.hash));
    if (unknown.length === 0) return;
    if (this.#closing.signal.aborted) throw closed();
    if (this.#outage.isPausing()) throw new NoVectorError("server", "The embedding server is unavailable");
    const texts = (await Promise.all(unknown.map((waiting) => this.#reserveShare(waiting)))).flat();
    try {
      await this.#send(texts, lane, pace);
    } catch (error) {
      if (!(error instanceof EmbeddingServerError)) throw error;
      this.#outage.begin(error);
      throw new NoVectorError("server", `No vector: ${error.message}`);
    } finally {
      // A share whose record can't be written now stays spent.
      await Promise.allSettled(
        texts.map(async ({ reservation, cost }) => {
          await reservation?.settle(cost);
        }),
      );
    }
  }

  /** Sets tokens of the payer's share aside. @returns nothing, and rejects the text, if it has none left */
  async #reserveShare(waiting: Waiting<Text, Float32Array>): Promise<PaidText[]> {
    const { payer, tokens } = waiting.item;
    const reservation = payer === undefined ? undefined : await this.#budget.reserveShare(payer, tokens);
    if (payer !== undefined && reservation === undefined) {
      waiting.reject(shareSpent());
      return [];
    }
    return [{ ...waiting, reservation, cost: 0 }];
  }

  /** Sends texts. One that the server refuses would hold up the others, so a refused request is sent again in halves. */
  async #send(texts: readonly PaidText[], lane: Lane, pace: SendingPace): Promise<void> {
    const refused: PaidText[] = [];
    let refusals = 0;
    // The list grows while it is read.
    const parts = texts.length === 0 ? [] : [texts];
    for (const part of parts) {
      try {
        const answer = await this.#request(part, lane, pace);
        this.#isProven = true;
        this.#outage.end();
        await this.#accept(part, answer);
      } catch (error) {
        if (!(error instanceof EmbeddingServerError) || error.kind !== "texts") throw error;
        refusals += 1;
        const middle = Math.ceil(part.length / 2);
        if (part.length === 1) refused.push(...part);
        else parts.push(part.slice(0, middle), part.slice(middle));
        const isLast = parts.at(-1) === part;
        if (!this.#isProven && (isLast || refusals === MOST_REFUSALS)) throw error;
      }
    }
    const expiresAt = this.#after(REFUSED_MS);
    await this.#cache.store(refused.map(({ item: { hash } }) => ({ hash, vector: null, expiresAt })));
    for (const { reject } of refused) reject(refusal());
  }

  /** One request with its attempts. @throws EmbeddingServerError, NoVectorError */
  #request(texts: readonly PaidText[], lane: Lane, pace: SendingPace): Promise<ServerAnswer> {
    const { signal } = this.#closing;
    const tokens = tokensOf(texts.map(({ item }) => item));
    const attempt = async () => {
      const isKept = lane === "query" || lane === "document";
      const reservation = await this.#budget.reserve(tokens, isKept ? "first" : "later");
      if (reservation === undefined) throw new NoVectorError("budget", "The day's tokens for embedding are spent");
      const inputs = texts.map(({ item: { text } }) => text);
      const answer = await this.#server.embed(inputs, pace.timeoutMs, signal).catch(async (error: unknown) => {
        if (error instanceof EmbeddingServerError && !error.mayCost) await reservation.settle(0);
        throw error;
      });
      await reservation.settle(answer.tokens ?? tokens);
      return answer;
    };
    return retry(attempt, {
      attempts: pace.attempts,
      baseDelayMs: pace.baseDelayMs,
      maxDelayMs: pace.maxDelayMs,
      isRetryable: (error) =>
        error instanceof EmbeddingServerError &&
        error.kind === "passing" &&
        error.retryAfterMs === 0 &&
        !signal.aborted,
    });
  }

  /** Stores the vectors of an answer, and hands them out. */
  async #accept(texts: readonly PaidText[], { vectors, tokens }: ServerAnswer): Promise<void> {
    const most = tokensOf(texts.map(({ item }) => item));
    const embedded = texts.map((text, position) => ({ text, vector: vectors[position] as Float32Array }));
    for (const { text } of embedded) text.cost = Math.ceil(((tokens ?? most) * text.item.tokens) / most);
    await this.#cache.store(
      embedded.map(({ text: { item }, vector }) => ({ hash: item.hash, vector, expiresAt: this.#after(item.keptMs) })),
    );
    for (const { text, vector } of embedded) text.resolve(vector);
  }

  #after(ms: number): Date {
    return new Date(this.#now().getTime() + ms);
  }
}

function tokensOf(texts: readonly Pick<Text, "tokens">[]): number {
  return texts.reduce((sum, { tokens }) => sum + tokens, 0);
}

const closed = () => new NoVectorError("server", "The encoder is closed");
const shareSpent = () => new NoVectorError("share", "The agent's share of the day's tokens for embedding is spent");
const refusal = () => new NoVectorError("text", "The embedding server refuses the text");
