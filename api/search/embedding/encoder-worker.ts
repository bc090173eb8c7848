import { getPriority, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";

import { loadPair } from "./pair.ts";
import type { EncodeAnswer, EncodeRequest, ThreadData } from "./encoder.ts";

/**
 * The thread that runs the sentence encoder. On the main thread it would stall every request of the process. The
 * models' weights are files of the repository, so nothing is downloaded.
 */
if (parentPort === null) throw new Error("encoder-worker.ts runs as a worker thread only");
const port = parentPort;
// Linux gives the calling thread a priority of its own. The runtime computes in this thread, too.
const { niceness } = workerData as ThreadData;
if (niceness > getPriority()) setPriority(niceness);

const read = await loadPair();

async function encode({ id, text, use }: EncodeRequest): Promise<EncodeAnswer> {
  try {
    return { id, ...(await read(text, use)) };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}

const queues: Record<"first" | "background", EncodeRequest[]> = { first: [], background: [] };
let isEncoding = false;

/** One text at a time: the runtime would spread several over all processors, which the search engine needs, too. */
async function encodeAll(): Promise<void> {
  if (isEncoding) return;
  isEncoding = true;
  // Messages arrive between two texts, because the runtime begins each in a turn of its own of the event loop.
  for (let next = take(); next !== undefined; next = take()) port.postMessage(await encode(next));
  isEncoding = false;
}

const take = (): EncodeRequest | undefined => queues.first.shift() ?? queues.background.shift();

port.on("message", (request: EncodeRequest) => {
  queues[request.isBackground ? "background" : "first"].push(request);
  void encodeAll();
});
