import { withTimeout } from "../../lib/timeout.ts";
import type { AccessModels } from "./access-model.ts";
import { settlementUpdate } from "./access-update.ts";
import type { Settled } from "./access-update.ts";

/** A call that holds a reservation. */
export interface ReservedCall {
  agentId: string;
  keyHash: string;
  callId: string;
}

/** Settlements of one agent that wait to be sent. */
export type Waiting = { agentId: string } & { [Kind in keyof Settled]: string[] };

/** Ends reservations, without a round trip for each. */
export interface Settlements {
  /** The call was served: its reservation counts. Sent with the key's next call or within a second. */
  serve(call: ReservedCall): void;
  /** The call counts nothing. Sent at once, so that the call is free again when its answer is sent. */
  release(call: ReservedCall): Promise<void>;
  /** Takes what waits for a key, to send it along with its next call. */
  take(keyHash: string): Waiting | undefined;
  /** Returns what was taken and couldn't be sent. */
  putBack(keyHash: string, taken: Waiting): void;
  /** Sends everything that waits. */
  flush(): Promise<void>;
}

/** How long a settlement waits for the key's next call. */
const FLUSH_AFTER_MS = 1_000;
/** How long an answer waits for its release, in milliseconds. */
const RELEASE_PATIENCE_MS = 1_000;

/** Dependencies of the settlements. */
export interface SettlementsDeps {
  models: Pick<AccessModels, "access">;
  offsetMs: () => number;
  /** Called with the error when the database couldn't be reached. The settlements are sent again later. */
  onFailure: (error: unknown) => void;
}

/** Settlements that wait in this process. If it dies, their reservations expire and count nothing. */
export function createSettlements({ models: { access }, offsetMs, onFailure }: SettlementsDeps): Settlements {
  const waiting = new Map<string, Waiting>();
  let timer: NodeJS.Timeout | undefined;

  function add(keyHash: string, { agentId, served, released }: { agentId: string } & Settled): void {
    const entry = waiting.get(keyHash) ?? { agentId, served: [], released: [] };
    entry.served.push(...served);
    entry.released.push(...released);
    waiting.set(keyHash, entry);
    timer ??= setTimeout(() => {
      timer = undefined;
      void flush();
    }, FLUSH_AFTER_MS).unref();
  }

  async function flush(): Promise<void> {
    if (waiting.size === 0) return;
    const entries = [...waiting];
    waiting.clear();
    const offset = offsetMs();
    try {
      await access.collection.bulkWrite(
        entries.map(([, { agentId, ...settled }]) => ({
          updateOne: { filter: { _id: agentId as never }, update: settlementUpdate(settled, offset) as never },
        })),
        { ordered: false, writeConcern: { w: 1 } },
      );
    } catch (error) {
      onFailure(error);
      for (const [keyHash, entry] of entries) add(keyHash, entry);
    }
  }

  return {
    serve({ agentId, keyHash, callId }) {
      add(keyHash, { agentId, served: [callId], released: [] });
    },
    async release({ agentId, keyHash, callId }) {
      add(keyHash, { agentId, served: [], released: [callId] });
      // While the database is unavailable, the answer doesn't wait for it.
      await withTimeout("release", RELEASE_PATIENCE_MS, flush).catch(onFailure);
    },
    take(keyHash) {
      const entry = waiting.get(keyHash);
      waiting.delete(keyHash);
      return entry;
    },
    putBack: add,
    flush,
  };
}
