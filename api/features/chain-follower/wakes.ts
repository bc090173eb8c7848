import { setTimeout as sleep } from "node:timers/promises";

import { Schema } from "mongoose";
import type { Connection } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
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
  /** Calls `onWake` for every wake from now on, until the signal aborts. */
  listen(onWake: (network: Network) => void, signal: AbortSignal): Promise<void>;
}

const RETRY_MS = 1_000;

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
    async listen(onWake, signal) {
      const isStopping = () => signal.aborted;
      while (!isStopping()) {
        try {
          await forward(onWake, signal);
        } catch (error) {
          if (!isStopping()) log.warn({ err: error }, "the followers' wake stream ended");
        }
        await sleep(Math.random() * RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    },
  };
}
