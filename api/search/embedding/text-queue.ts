import type { TokenUse } from "./token-budget.ts";

/** A text that waits for its vector. */
export interface WaitingText {
  hash: string;
  text: string;
  /** Upper bound of its tokens. */
  tokens: number;
  /** How long its vector is kept for other processes, in milliseconds. */
  keptMs: number;
  /** The share of the day's tokens on which it counts: an agent's, or that of its queries. */
  payer: string | undefined;
  use: TokenUse;
  resolve: (vector: Float32Array) => void;
  reject: (error: unknown) => void;
}

/** Bounds of a queue. */
export interface TextQueueOptions {
  maxWaiting: number;
  /** Bounds of a batch. One text is a batch however large it is. */
  maxTexts: number;
  maxTokens: number;
  /** Batches that run at the same time. */
  concurrency: number;
  /** Settles each text of a batch. */
  run: (batch: readonly WaitingText[]) => Promise<void>;
}

/** Collects the texts of many callers into batches. */
export interface TextQueue {
  /** The vector of a text. A text that waits already isn't queued twice. */
  add(text: Omit<WaitingText, "resolve" | "reject">): Promise<Float32Array>;
  isFull(): boolean;
  /** Rejects what waits. */
  clear(error: Error): void;
  /** Settles once no batch runs. */
  idle(): Promise<void>;
}

/** A queue that starts a batch in the next turn of the event loop, so that texts given together are sent together. */
export function createTextQueue({ maxWaiting, maxTexts, maxTokens, concurrency, run }: TextQueueOptions): TextQueue {
  const vectors = new Map<string, Promise<Float32Array>>();
  const running = new Set<Promise<void>>();
  let waiting: WaitingText[] = [];
  let isStarting = false;

  function takeBatch(): WaitingText[] {
    let count = 0;
    let tokens = 0;
    for (const text of waiting) {
      tokens += text.tokens;
      if (count === maxTexts || (count > 0 && tokens > maxTokens)) break;
      count += 1;
    }
    const batch = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return batch;
  }

  function start(): void {
    isStarting = false;
    while (waiting.length > 0 && running.size < concurrency) {
      const batch = takeBatch();
      const ended = run(batch)
        .catch((error: unknown) => {
          for (const { reject } of batch) reject(error);
        })
        .finally(() => {
          running.delete(ended);
          startSoon();
        });
      running.add(ended);
    }
  }

  function startSoon(): void {
    if (isStarting || waiting.length === 0) return;
    isStarting = true;
    setImmediate(start);
  }

  return {
    isFull: () => waiting.length >= maxWaiting,
    add(text) {
      const known = vectors.get(text.hash);
      if (known !== undefined) return known;
      const { promise, resolve, reject } = Promise.withResolvers<Float32Array>();
      vectors.set(text.hash, promise);
      const forget = () => vectors.delete(text.hash);
      promise.then(forget, forget);
      waiting.push({ ...text, resolve, reject });
      startSoon();
      return promise;
    },
    clear(error) {
      for (const { reject } of waiting) reject(error);
      waiting = [];
    },
    async idle() {
      await Promise.allSettled(running);
    },
  };
}
