import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { sha256Hex } from "../../lib/ids.ts";
import { retry } from "../../lib/retry.ts";
import { DeadlineExceededError, withTimeout } from "../../lib/timeout.ts";
import { cleanText } from "./clean-text.ts";
import { EmbeddingServerError } from "./embedding-server.ts";
import type { EmbeddingServer, ServerAnswer } from "./embedding-server.ts";
import { NoVectorError } from "./encoder.ts";
import type { EncodeOptions, SentenceEncoder } from "./encoder.ts";
import type { Outage } from "./outage.ts";
import { createTextQueue } from "./text-queue.ts";
import type { TextQueue, WaitingText } from "./text-queue.ts";
import type { Reservation, TokenBudget } from "./token-budget.ts";
import type { CacheView, VectorCache } from "./vector-cache.ts";

/** How the texts of one kind are sent. */
export interface SendingPace {
  /** Timeout of one attempt, in milliseconds. */
  timeoutMs: number;
  attempts: number;
  /** Upper bounds of the first and of any delay between attempts, in milliseconds. */
  baseDelayMs: number;
  maxDelayMs: number;
  /** Duration of a claim. Longer than all attempts together, so no other process sends the same text meanwhile. */
  claimMs: number;
}

type Kind = NonNullable<EncodeOptions["as"]>;

/** A query's limits fit into the time that its caller waits. */
const PACES: Readonly<Record<Kind, SendingPace>> = {
  query: { timeoutMs: 2_500, attempts: 2, baseDelayMs: 100, maxDelayMs: 500, claimMs: 8_000 },
  document: { timeoutMs: 10_000, attempts: 3, baseDelayMs: 500, maxDelayMs: 2_000, claimMs: 40_000 },
};
const QUEUES = {
  query: { maxWaiting: 200, maxTexts: 16, concurrency: 8 },
  document: { maxWaiting: 2_000, maxTexts: 64, concurrency: 4 },
} as const;
/** Of a request. OpenAI takes 300,000. */
const MAX_TOKENS = 200_000;
const PATIENCE_MS = { query: 3_000, document: 60_000 } as const;
/** Enough for all concurrent requests of a job. */
const AT_ONCE = QUEUES.document.maxTexts * QUEUES.document.concurrency;
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
/** How often a text is queued if those who had queued it before have no tokens left. */
const SHARE_ATTEMPTS = 3;
/** Between looks at what other processes have embedded. */
const LOOK_MS = 100;

/** Texts of one agent, or of none, and what is set aside of its share for them. */
interface Share {
  texts: readonly WaitingText[];
  reservation: Reservation | undefined;
}

/** Dependencies of the encoder. */
export interface ServerEncoderDeps {
  /** Name of the model with its provider and dimensions. */
  model: string;
  dimensions: number;
  server: EmbeddingServer;
  cache: VectorCache;
  budget: TokenBudget;
  outage: Outage;
  maxTextBytes: number;
  now: () => Date;
  paces?: Partial<Record<Kind, Partial<SendingPace>>> | undefined;
}

/** An encoder that has texts embedded by a server, each text once for all processes. */
export function createServerEncoder(deps: ServerEncoderDeps): SentenceEncoder {
  const { model, dimensions, server, cache, budget, outage, maxTextBytes, now, paces = {} } = deps;
  const closing = new AbortController();
  /** Whether the server has ever answered with vectors, so that what it refuses is a text and not our way to ask. */
  let isProven = false;

  /** One request with its attempts, of texts of one use. @throws EmbeddingServerError, NoVectorError */
  function request(texts: readonly WaitingText[], pace: SendingPace): Promise<ServerAnswer> {
    const use = texts[0]?.use ?? "other";
    const tokens = texts.reduce((sum, text) => sum + text.tokens, 0);
    const attempt = async () => {
      const reservation = await budget.reserve(tokens, use);
      if (reservation === undefined) throw new NoVectorError("budget", "The day's tokens for embedding are spent");
      const inputs = texts.map(({ text }) => text);
      const answer = await server.embed(inputs, pace.timeoutMs, closing.signal).catch(async (error: unknown) => {
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
        !closing.signal.aborted,
    });
  }

  /**
   * Sends texts. One that the server refuses would hold up the others, so a refused request is sent again in halves.
   * @returns the texts that the server refuses
   */
  async function send(
    texts: readonly WaitingText[],
    pace: SendingPace,
    embedded: (texts: readonly WaitingText[], answer: ServerAnswer) => Promise<void>,
  ): Promise<WaitingText[]> {
    const refused: WaitingText[] = [];
    let refusals = 0;
    // The list grows while it is read.
    const parts = [texts];
    for (const part of parts) {
      try {
        const answer = await request(part, pace);
        isProven = true;
        outage.end();
        await embedded(part, answer);
      } catch (error) {
        if (!(error instanceof EmbeddingServerError) || error.kind !== "texts") throw error;
        refusals += 1;
        const middle = Math.ceil(part.length / 2);
        if (part.length === 1) refused.push(...part);
        else parts.push(part.slice(0, middle), part.slice(middle));
        const isLast = parts.at(-1) === part;
        if (!isProven && (isLast || refusals === MOST_REFUSALS)) throw error;
      }
    }
    return refused;
  }

  /** Settles the texts that the cache knows. @returns the remaining texts */
  function settleCached(texts: readonly WaitingText[], { vectors, refused }: CacheView): WaitingText[] {
    return texts.filter(({ hash, resolve, reject }) => {
      const vector = vectors.get(hash);
      if (vector !== undefined) resolve(vector);
      else if (refused.has(hash)) reject(refusal());
      return vector === undefined && !refused.has(hash);
    });
  }

  /** Sets tokens of their agents' shares aside. Texts whose agent has none left are rejected. */
  async function reserveShares(texts: readonly WaitingText[]): Promise<Share[]> {
    const byPayer = Map.groupBy(texts, ({ payer }) => payer);
    const shares = await Promise.all(
      [...byPayer].map(async ([payer, own]): Promise<Share[]> => {
        if (payer === undefined) return [{ texts: own, reservation: undefined }];
        const all = await budget.reserveShare(
          payer,
          own.reduce((sum, text) => sum + text.tokens, 0),
        );
        if (all !== undefined) return [{ texts: own, reservation: all }];
        const single: Share[] = [];
        for (const text of own) {
          const reservation = await budget.reserveShare(payer, text.tokens);
          if (reservation === undefined) text.reject(shareSpent());
          else single.push({ texts: [text], reservation });
        }
        return single;
      }),
    );
    return shares.flat();
  }

  /** Embeds the texts that no other process is embedding. @returns the remaining texts */
  async function embedFree(texts: readonly WaitingText[], view: CacheView, pace: SendingPace): Promise<WaitingText[]> {
    const owner = randomUUID();
    const free = texts.filter(({ hash }) => !view.underWay.has(hash)).map(({ hash }) => hash);
    if (free.length === 0) return [...texts];
    const claimed = await cache.claim(free, owner, pace.claimMs);
    const mine = texts.filter(({ hash }) => claimed.has(hash));
    if (mine.length === 0) return [...texts];
    let shares: Share[] = [];
    /** By the hashes of texts that have been embedded. */
    const costs = new Map<string, number>();
    const keep = async (part: readonly WaitingText[], { vectors, tokens }: ServerAnswer): Promise<void> => {
      const most = part.reduce((sum, text) => sum + text.tokens, 0);
      for (const text of part) costs.set(text.hash, Math.ceil(((tokens ?? most) * text.tokens) / most));
      const at = now().getTime();
      await cache.keep(
        part.map(({ hash, keptMs }, position) => ({
          hash,
          vector: vectors[position] as Float32Array,
          expiresAt: new Date(at + keptMs),
        })),
      );
      for (const [position, { resolve }] of part.entries()) resolve(vectors[position] as Float32Array);
    };
    try {
      shares = await reserveShares(mine);
      const refused: WaitingText[] = [];
      // Private texts may have no tokens left when others still do.
      for (const use of ["other", "private"] as const) {
        const part = shares.flatMap(({ texts: own }) => own).filter((text) => text.use === use);
        if (part.length > 0) refused.push(...(await send(part, pace, keep)));
      }
      const hashes = refused.map(({ hash }) => hash);
      await cache.refuse(hashes, new Date(now().getTime() + REFUSED_MS));
      for (const { reject } of refused) reject(refusal());
    } catch (error) {
      if (!(error instanceof EmbeddingServerError)) throw error;
      outage.begin(error);
      throw new NoVectorError("server", `No vector: ${error.message}`);
    } finally {
      // A share whose record can't be written now stays spent.
      await Promise.allSettled(
        shares.map(async ({ texts: own, reservation }) => {
          await reservation?.settle(own.reduce((sum, { hash }) => sum + (costs.get(hash) ?? 0), 0));
        }),
      );
      // Without the database the claims end by themselves.
      await cache.release([...claimed], owner).catch(() => undefined);
    }
    return texts.filter(({ hash }) => !claimed.has(hash));
  }

  async function run(batch: readonly WaitingText[], pace: SendingPace): Promise<void> {
    const giveUpAt = performance.now() + pace.claimMs;
    let left = [...batch];
    while (!closing.signal.aborted) {
      const view = await cache.read(left.map(({ hash }) => hash));
      left = settleCached(left, view);
      if (left.length === 0) return;
      if (outage.isPausing()) throw new NoVectorError("server", "The embedding server is unavailable");
      left = await embedFree(left, view, pace);
      if (left.length === 0) return;
      if (performance.now() > giveUpAt) throw new NoVectorError("server", "Another process takes too long");
      await sleep(LOOK_MS / 2 + Math.random() * LOOK_MS, undefined, { signal: closing.signal }).catch(() => undefined);
    }
    throw closed();
  }

  const queueOf = (kind: Kind): TextQueue =>
    createTextQueue({
      ...QUEUES[kind],
      maxTokens: MAX_TOKENS,
      run: (batch) => run(batch, { ...PACES[kind], ...paces[kind] }),
    });
  const queues = { query: queueOf("query"), document: queueOf("document") };

  /** The vector of a text. It may wait already, on the share of another agent, which is spent: then it waits again. */
  async function addTo(queue: TextQueue, text: Parameters<TextQueue["add"]>[0]): Promise<Float32Array> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await queue.add(text);
      } catch (error) {
        const isOthersShare =
          error instanceof NoVectorError &&
          error.reason === "share" &&
          (text.payer === undefined || !budget.isShareSpent(text.payer, text.tokens));
        if (!isOthersShare || attempt === SHARE_ATTEMPTS) throw error;
      }
    }
  }

  return {
    model,
    dimensions,
    atOnce: AT_ONCE,
    async encode(text, { as = "document", owner, spender = owner, patienceMs = PATIENCE_MS[as] } = {}) {
      if (closing.signal.aborted) throw closed();
      const clean = cleanText(text, maxTextBytes);
      if (clean === "") throw new NoVectorError("text", "The text has no visible character");
      if (queues[as].isFull()) throw new NoVectorError("server", "Too many texts wait for the embedding server");
      const tokens = mostTokensOf(Buffer.byteLength(clean));
      // Queries have a share of their own: an agent that has stored much can still search by meaning.
      const payer = spender === undefined || as === "document" ? spender : `${spender}|query`;
      if (payer !== undefined && budget.isShareSpent(payer, tokens)) throw shareSpent();
      const hash = sha256Hex(JSON.stringify([model, as, owner ?? null, clean]));
      const use = as === "document" && owner !== undefined ? "private" : "other";
      const keptMs = as === "query" ? KEPT_MS.query : owner === undefined ? KEPT_MS.public : KEPT_MS.owned;
      try {
        const vector = await withTimeout("The embedding server", patienceMs, () =>
          addTo(queues[as], { hash, text: clean, tokens, keptMs, payer, use }),
        );
        // These models know most languages.
        return { vector, knownWordShare: 1 };
      } catch (error) {
        if (error instanceof DeadlineExceededError) throw new NoVectorError("server", error.message);
        throw error;
      }
    },
    async close() {
      closing.abort(closed());
      for (const queue of Object.values(queues)) {
        queue.clear(closed());
        await queue.idle();
      }
    },
  };
}

const closed = () => new NoVectorError("server", "The encoder is closed");
const shareSpent = () => new NoVectorError("share", "The agent's share of the day's tokens for embedding is spent");
const refusal = () => new NoVectorError("text", "The embedding server refuses the text");
