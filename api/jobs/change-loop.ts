import type { ChangeStreamDocument, Document } from "mongodb";
import type { Model } from "mongoose";

import type { Logger } from "../lib/logger.ts";
import { repeat } from "./background-loop.ts";
import type { BackgroundLoop } from "./background-loop.ts";

/** Settings of a loop that follows the changes of a collection. */
export interface FollowedChanges<T extends Document> {
  /** `feature.verb`, for the log. */
  name: string;
  model: Model<T>;
  onChange: (change: ChangeStreamDocument<T>) => void;
  log: Logger;
}

/** Pause before a lost change stream is opened again. */
const REOPEN = { minMs: 1_000, maxMs: 1_000 };

/** Calls `onChange` for every change while it runs. Changes may be missed while a lost change stream is opened again. */
export function followChanges<T extends Document>({ name, model, onChange, log }: FollowedChanges<T>): BackgroundLoop {
  return repeat({
    name,
    async step(signal) {
      const stream = model.collection.watch<T>([], {});
      const close = () => void stream.close().catch(() => undefined);
      signal.addEventListener("abort", close, { once: true });
      try {
        for await (const change of stream) onChange(change);
      } catch (error) {
        // Closing it ends a read with an error.
        if (!signal.aborted) throw error;
      } finally {
        signal.removeEventListener("abort", close);
        await stream.close();
      }
      return REOPEN.minMs;
    },
    retry: REOPEN,
    failed: "lost a change stream",
    log: log.child({ collection: model.collection.collectionName }),
  });
}
