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

// One text at a time: the runtime would spread several over all processors, which the search engine needs, too.
let last: Promise<unknown> = Promise.resolve();
port.on("message", (request: EncodeRequest) => {
  last = last.then(async () => {
    port.postMessage(await encode(request));
  });
});
