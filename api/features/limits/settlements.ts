import type { CallClass } from "../../config/constants.ts";
import { withTimeout } from "../../lib/timeout.ts";
import type { AccessModels } from "./access-model.ts";
import { settlementUpdate } from "./access-update.ts";
import type { Settled } from "./access-update.ts";

/** Class and day of calls that drew on the same budget. */
export interface CommonUse {
  type: CallClass;
  /** Midnight UTC of the day on which they began. */
  day: Date;
}

/** A call that holds a reservation. */
export interface ReservedCall {
  agentId: string;
  keyHash: string;
  callId: string;
  /** Undefined for a call that didn't draw on the day's budget. */
  use: CommonUse | undefined;
}

/** Queued settlements of one agent. */
export type Waiting = { agentId: string } & { [Kind in keyof Settled]: string[] } & {
  /** Class and day of all calls; undefined if they differ, or if one didn't draw on the day's budget. */
  use: CommonUse | undefined;
};

/** How long a settlement waits for the key's next call, in milliseconds. */
const FLUSH_AFTER_MS = 1_000;
/** How long an answer waits for its release, in milliseconds. */
const RELEASE_PATIENCE_MS = 1_000;

/** Dependencies of the settlements. */
export interface SettlementsDeps {
  models: Pick<AccessModels, "access">;
  offsetMs: () => number;
  /** Called with the error if settlements couldn't be sent in time. They are sent again later. */
  onFailure: (error: unknown) => void;
}

/**
 * Ends reservations, without a round trip for each. If the process dies, its queued reservations expire and don't count.
 */
export class Settlements {
  readonly #deps: SettlementsDeps;
  readonly #waiting = new Map<string, Waiting>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: SettlementsDeps) {
    this.#deps = deps;
  }

  /** Queues settlements again that were taken and couldn't be sent. */
  putBack(keyHash: string, { agentId, served, released, use }: Waiting): void {
    const entry = this.#waiting.get(keyHash) ?? { agentId, served: [], released: [], use };
    const isCommon = entry.use?.type === use?.type && entry.use?.day.getTime() === use?.day.getTime();
    if (!isCommon) entry.use = undefined;
    entry.served.push(...served);
    entry.released.push(...released);
    this.#waiting.set(keyHash, entry);
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.flush();
    }, FLUSH_AFTER_MS).unref();
  }

  /** Sends all queued settlements. */
  async flush(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const entries = [...this.#waiting];
    this.#waiting.clear();
    const offset = this.#deps.offsetMs();
    try {
      await this.#deps.models.access.collection.bulkWrite(
        entries.map(([, { agentId, served, released }]) => ({
          updateOne: {
            filter: { _id: agentId as never },
            update: settlementUpdate({ served, released }, offset) as never,
          },
        })),
        { ordered: false, writeConcern: { w: 1 } },
      );
    } catch (error) {
      this.#deps.onFailure(error);
      for (const [keyHash, entry] of entries) this.putBack(keyHash, entry);
    }
  }

  /** Counts a served call. Sent with the key's next call or within a second. */
  serve({ agentId, keyHash, callId, use }: ReservedCall): void {
    this.putBack(keyHash, { agentId, served: [callId], released: [], use });
  }

  /** Frees the reservation of a call that doesn't count. Sent immediately, so that it is free before the answer is sent. */
  async release({ agentId, keyHash, callId, use }: ReservedCall): Promise<void> {
    this.putBack(keyHash, { agentId, served: [], released: [callId], use });
    // If the database is unavailable, the answer must not wait for it.
    await withTimeout("release", RELEASE_PATIENCE_MS, () => this.flush()).catch(this.#deps.onFailure);
  }

  /** Removes the reservation of a call that held no budget and doesn't count. Sent with the key's next call or within a second. */
  forget({ agentId, keyHash, callId, use }: ReservedCall): void {
    this.putBack(keyHash, { agentId, served: [], released: [callId], use });
  }

  /** Takes the queued settlements of a key, to send them with its next call. */
  take(keyHash: string): Waiting | undefined {
    const entry = this.#waiting.get(keyHash);
    this.#waiting.delete(keyHash);
    return entry;
  }
}
