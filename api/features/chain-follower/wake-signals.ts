import { Schema } from "mongoose";
import type { Connection } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { repeat } from "../../jobs/background-loop.ts";
import type { BackgroundLoop } from "../../jobs/background-loop.ts";
import type { Logger } from "../../lib/logger.ts";

/** The count of wakes of a network's follower. */
interface WakeRecord {
  _id: Network;
  wakes: number;
}

/** Wakes followers in any process of the service. A lost wake costs nothing but the rest of the follower's pause. */
export interface ChainWakes {
  /** Says that something has happened on these networks. */
  wake(networks: readonly Network[]): Promise<void>;
  /** Calls `onWake` for every wake while it runs. */
  listening(onWake: (network: Network) => void): BackgroundLoop;
}

/** Pause before another change stream is opened. */
const REOPEN_MS = 500;
const RETRY = { minMs: 1_000, maxMs: 1_000 };

const schema = new Schema<WakeRecord>(
  { _id: { type: String, enum: NETWORKS, required: true }, wakes: { type: Number, required: true } },
  { collection: "chain_wakes", versionKey: false, strict: "throw" },
);

/** Wakes carried by a change stream of MongoDB, so that the worker may be another process than the API. */
export function createChainWakes(connection: Connection, log: Logger): ChainWakes {
  const model = connection.model<WakeRecord>("ChainWake", schema);

  async function forward(onWake: (network: Network) => void, signal: AbortSignal): Promise<void> {
    const stream = model.collection.watch<WakeRecord>([], {});
    const close = () => void stream.close().catch(() => undefined);
    signal.addEventListener("abort", close, { once: true });
    try {
      for await (const change of stream) {
        if ("documentKey" in change) onWake(change.documentKey._id);
      }
    } catch (error) {
      // Closing it ends a read with an error.
      if (!signal.aborted) throw error;
    } finally {
      signal.removeEventListener("abort", close);
      await stream.close();
    }
  }

  return {
    async wake(networks) {
      await model.bulkWrite(
        networks.map((network) => ({
          updateOne: { filter: { _id: network }, update: { $inc: { wakes: 1 } }, upsert: true },
        })),
      );
    },
    listening: (onWake) =>
      repeat({
        name: "chain-follower.listen",
        async step(signal) {
          await forward(onWake, signal);
          return REOPEN_MS;
        },
        retry: RETRY,
        failed: "the followers' wake stream ended",
        log,
      }),
  };
}
