import { RATE_WINDOW_MS } from "../../config/constants.ts";
import { isDuplicateKey } from "../../db/connection.ts";
import type { ClientClass } from "../../http/admission.ts";
import type { AccessModels, ClientWindowRecord } from "./access-model.ts";
import { clientOf } from "../../lib/client-address.ts";
import { databaseNow } from "./access-update.ts";
import type { Stage } from "./access-update.ts";

/** Sliding windows by client address. */
export interface ClientWindows {
  /** Counts a call, unless the window is full. */
  count(rateClass: ClientClass, ip: string): Promise<Pick<ClientWindowRecord, "times" | "admitted" | "at">>;
}

/** Two processes may create the same record at the same time: the loser retries. */
const ATTEMPTS = 3;

/** Creates windows that are stored in the database. */
export function createClientWindows(
  { clientWindows }: Pick<AccessModels, "clientWindows">,
  limits: Readonly<Record<ClientClass, number>>,
  offsetMs: () => number,
): ClientWindows {
  return {
    async count(rateClass, ip) {
      const update = countingUpdate(limits[rateClass], offsetMs());
      for (let attempt = 1; ; attempt += 1) {
        try {
          const record = await clientWindows.collection.findOneAndUpdate(
            { _id: `${rateClass}:${clientOf(ip)}` as never },
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
    },
  };
}

function countingUpdate(limit: number, offsetMs: number): Stage[] {
  const isRecent = { $gt: ["$$time", { $add: ["$at", -RATE_WINDOW_MS] }] };
  return [
    { $set: { at: databaseNow(offsetMs) } },
    { $set: { times: { $filter: { input: { $ifNull: ["$times", []] }, as: "time", cond: isRecent } } } },
    { $set: { admitted: { $lt: [{ $size: "$times" }, limit] } } },
    {
      $set: {
        times: { $cond: ["$admitted", { $concatArrays: ["$times", ["$at"]] }, "$times"] },
        expiresAt: { $add: ["$at", RATE_WINDOW_MS] },
      },
    },
  ];
}
