import { RATE_WINDOW_MS } from "../../config/constants.ts";
import { isDuplicateKey } from "../../db/connection.ts";
import type { ClientClass } from "../../http/admission.ts";
import type { AccessModels, ClientWindowRecord } from "./access-model.ts";
import { clientOf } from "../../lib/client-address.ts";
import { databaseNow } from "./access-update.ts";
import type { Stage } from "./access-update.ts";

/** A window after a call: the times of the calls in it, oldest first, and whether the latest was admitted. */
export type Counted = Pick<ClientWindowRecord, "times" | "admitted" | "at">;

/** A sliding window that is stored in the database. */
export interface SlidingWindow {
  /** Whose calls it counts; unique among all windows. */
  id: string;
  /** Calls that it has room for. */
  limit: number;
  lengthMs: number;
}

/** Counts a call, unless the window is full. Exact over any number of processes. */
export type CountCall = (window: SlidingWindow) => Promise<Counted>;

/** Sliding windows by client address. */
export interface ClientWindows {
  /** Counts a call, unless the window is full. */
  count(rateClass: ClientClass, ip: string): Promise<Counted>;
}

/** Two processes may create the same record at the same time: the loser retries. */
const ATTEMPTS = 3;

/** Creates the windows of the classes that count by client address. */
export function createClientWindows(count: CountCall, limits: Readonly<Record<ClientClass, number>>): ClientWindows {
  return {
    count: (rateClass, ip) =>
      count({ id: `${rateClass}:${clientOf(ip)}`, limit: limits[rateClass], lengthMs: RATE_WINDOW_MS }),
  };
}

/** Creates the counter of windows that are stored in the database. */
export function createCounter(
  { clientWindows }: Pick<AccessModels, "clientWindows">,
  offsetMs: () => number,
): CountCall {
  return async ({ id, ...window }) => {
    const update = countingUpdate(window, offsetMs());
    for (let attempt = 1; ; attempt += 1) {
      try {
        const record = await clientWindows.collection.findOneAndUpdate(
          { _id: id as never },
          update,
          // A counter lost in a failover does no harm, so one member's acknowledgement is enough.
          { upsert: true, returnDocument: "after", writeConcern: { w: 1 } },
        );
        if (record === null) throw new Error("The window of a client was neither found nor created");
        return record as unknown as ClientWindowRecord;
      } catch (error) {
        if (!isDuplicateKey(error) || attempt === ATTEMPTS) throw error;
      }
    }
  };
}

function countingUpdate({ limit, lengthMs }: Omit<SlidingWindow, "id">, offsetMs: number): Stage[] {
  const isRecent = { $gt: ["$$time", { $add: ["$at", -lengthMs] }] };
  return [
    { $set: { at: databaseNow(offsetMs) } },
    { $set: { times: { $filter: { input: { $ifNull: ["$times", []] }, as: "time", cond: isRecent } } } },
    { $set: { admitted: { $lt: [{ $size: "$times" }, limit] } } },
    {
      $set: {
        times: { $cond: ["$admitted", { $concatArrays: ["$times", ["$at"]] }, "$times"] },
        expiresAt: { $add: ["$at", lengthMs] },
      },
    },
  ];
}
