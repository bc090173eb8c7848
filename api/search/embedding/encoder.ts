import { Worker } from "node:worker_threads";

import type { Logger } from "../../lib/logger.ts";
import { PAIR_DIMENSIONS } from "./pair.ts";
import type { PairEncoding, VectorUse } from "./pair.ts";

/** The encoder's result for a text. */
export interface Encoding {
  /** Unit vector: the cosine of two is their dot product. */
  vector: Float32Array;
  /** Share of the text's words that the encoder knows, 0 to 1. */
  knownWordShare: number;
  /** Undefined if all languages are the same to the encoder. */
  language?: "english" | "other";
}

/** The purpose of an embedding. */
export interface EncodeOptions {
  /** A `document` is stored; a `query` is forgotten soon, and compared with documents only. Default `document`. */
  as?: "query" | "document";
  /** Has a document embedded for comparing it with other such texts alone, all of them English. A server ignores it. */
  isEnglishAlone?: boolean;
  /** Id of the agent whose private text it is. Nobody else can find out whether it has been embedded before. */
  owner?: string | undefined;
  /** Id of the agent on whose share of the day's tokens the text counts. Default: its owner. */
  spender?: string | undefined;
  /** How long the caller waits, in milliseconds. What comes later is still kept for the next call. */
  patienceMs?: number;
  /** A text that a model change has made a job embed again: its turn comes when nothing else waits. */
  isBackground?: boolean;
}

/** Turns texts into vectors that are close if the texts have similar meanings. */
export interface SentenceEncoder {
  /** Name of the model. Vectors of different models are never compared. */
  readonly model: string;
  /** How many texts a job should have embedded at once. */
  readonly atOnce: number;
  /** Length of its vectors. */
  readonly dimensions: number;
  /** @throws EncoderUnavailableError */
  encode(text: string, options?: EncodeOptions): Promise<Encoding>;
  close(): Promise<void>;
}

/** A request to the encoder thread. */
export interface EncodeRequest {
  id: number;
  text: string;
  use: VectorUse;
  /** Whether its turn comes when nothing else waits. */
  isBackground: boolean;
}

/** What the encoder thread is started with. */
export interface ThreadData {
  niceness: number;
}

/** The encoder thread's answer. */
export type EncodeAnswer = ({ id: number } & PairEncoding) | { id: number; error: string };

/** Thrown when the encoder can't accept a text at the moment. */
export class EncoderUnavailableError extends Error {
  override readonly name = "EncoderUnavailableError";
}

/**
 * Thrown when a text gets no vector, and a retry won't help soon: the day's tokens are spent, the embedding server is
 * unavailable or too slow, or the text itself can't be embedded.
 */
export class NoVectorError extends EncoderUnavailableError {
  /** `share`: the agent's share of the day's tokens is spent. Others' texts can still be embedded. */
  readonly reason: "budget" | "share" | "server" | "text";

  constructor(reason: NoVectorError["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Names the weights, their shares and the tokenisers. When one of them changes, change this name: all texts are then embedded again. */
const MODEL = "minilm-l6-v2-q+use-multilingual-v3-q8";
/** Few, because a killed worker's job embeds the last ones again; and enough for a write of the index. */
const AT_ONCE = 50;
/**
 * A thread that finishes nothing for this long hangs: it is ended, and the next text starts another. It counts from the
 * last answer, not from a text's arrival, because on a busy machine starting the thread alone can take half a minute.
 */
const STALL_MS = 60_000;
/** As many waiting texts as the thread encodes within a few seconds, and as many of the background. More are refused at once. */
const MAX_WAITING = 200;

interface Waiting {
  isBackground: boolean;
  resolve: (encoding: Encoding) => void;
  reject: (error: Error) => void;
}

/** How the thread runs. */
export interface ThreadOptions {
  /** What it runs. */
  script?: URL;
  /** Its priority for the operating system, 0 to 19, the lowest: a lower one leaves the processors to searches. Default 0. */
  niceness?: number | undefined;
}

/** The encoder in its own worker thread. The first text starts the thread, and the next one restarts it if it died. */
export function createThreadEncoder(
  log: Logger,
  { script = new URL("./encoder-worker.ts", import.meta.url), niceness = 0 }: ThreadOptions = {},
): SentenceEncoder {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let watch: NodeJS.Timeout | undefined;
  let answered = 0;
  let nextId = 1;
  let isClosed = false;

  function startWorker(): Worker {
    const started = new Worker(script, { workerData: { niceness } satisfies ThreadData });
    started.on("message", (answer: EncodeAnswer) => {
      answered += 1;
      const entry = waiting.get(answer.id);
      waiting.delete(answer.id);
      watchFor(started);
      if ("error" in answer) entry?.reject(new NoVectorError("text", answer.error));
      else entry?.resolve({ vector: answer.vector, knownWordShare: answer.knownWordShare, language: answer.language });
    });
    started.on("error", (error: unknown) => {
      log.error({ err: error }, "the sentence encoder has failed");
      drop(started, "The sentence encoder has failed");
    });
    started.on("exit", () => {
      drop(started, "The sentence encoder has ended");
    });
    // A process that has nothing else to do may end while the encoder waits for texts.
    started.unref();
    return started;
  }

  function drop(ended: Worker, reason: string): void {
    if (worker !== ended) return;
    worker = undefined;
    clearTimeout(watch);
    for (const entry of waiting.values()) entry.reject(new EncoderUnavailableError(reason));
    waiting.clear();
  }

  /** Gives the thread its time for the next answer, when texts wait for one. */
  function watchFor(thread: Worker): void {
    clearTimeout(watch);
    if (waiting.size === 0) return;
    const answeredBefore = answered;
    watch = setTimeout(() => {
      // An answer may have come while this thread was the busy one: it is read before the next check phase.
      setImmediate(() => {
        if (answered !== answeredBefore || worker !== thread) return;
        log.error({ stallMs: STALL_MS, waiting: waiting.size }, "the sentence encoder hangs");
        drop(thread, "The sentence encoder hangs");
        void thread.terminate();
      });
    }, STALL_MS);
  }

  return {
    model: MODEL,
    atOnce: AT_ONCE,
    dimensions: PAIR_DIMENSIONS,
    encode(text, { as = "document", isEnglishAlone = false, isBackground = false } = {}) {
      if (isClosed) return Promise.reject(new EncoderUnavailableError("The sentence encoder is closed"));
      const before = waiting.values().filter((entry) => entry.isBackground === isBackground);
      if (before.toArray().length >= MAX_WAITING) {
        return Promise.reject(new EncoderUnavailableError("Too many texts wait for the sentence encoder"));
      }
      const thread = (worker ??= startWorker());
      const id = nextId;
      nextId += 1;
      return new Promise<Encoding>((resolve, reject) => {
        waiting.set(id, { isBackground, resolve, reject });
        if (waiting.size === 1) watchFor(thread);
        const use = isEnglishAlone ? "english" : as;
        thread.postMessage({ id, text, use, isBackground } satisfies EncodeRequest);
      });
    },
    async close() {
      isClosed = true;
      await worker?.terminate();
    },
  };
}
