import { isIPv4, isIPv6 } from "node:net";

import { RATE_WINDOW_MS } from "../../config/constants.ts";
import { isDuplicateKey } from "../../db/connection.ts";
import type { ClientClass } from "../../http/admission.ts";
import type { AccessModels, ClientWindowRecord } from "./access-model.ts";
import { databaseNow } from "./access-update.ts";
import type { Stage } from "./access-update.ts";

/** Sliding windows by client address (section 8.2). */
export interface ClientWindows {
  /** Counts a call, unless the window is full. */
  count(rateClass: ClientClass, ip: string): Promise<Pick<ClientWindowRecord, "times" | "admitted" | "at">>;
}

/** Two processes may create the same record at the same moment: the one that loses tries again. */
const ATTEMPTS = 3;

/** Windows stored in the database. */
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
            // A counter that a failover loses costs nobody anything, so one member's confirmation is enough.
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

const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;
const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * What counts as one client: an IPv4 address or the /64 network of an IPv6 address, because its owner has all addresses
 * of it. Whatever isn't an address counts as one client.
 * @example clientOf("2001:db8:0:1::7") // "2001:db8:0:1::/64"
 */
export function clientOf(ip: string): string {
  const address = MAPPED_IPV4.exec(ip)?.[1] ?? ip;
  if (isIPv4(address)) return address;
  const [plain = ""] = address.split("%");
  if (!isIPv6(plain)) return "unknown";
  const [head = "", tail] = plain.split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":"));
  const [before, after] = [groups(head), groups(tail ?? "")];
  // An embedded IPv4 address at the end takes two groups; it is never in the first half.
  const width = (list: string[]) => list.length + (list.at(-1)?.includes(".") === true ? 1 : 0);
  const zeros = tail === undefined ? 0 : IPV6_GROUPS - width(before) - width(after);
  const network = [...before, ...Array.from({ length: zeros }, () => "0"), ...after].slice(0, NETWORK_GROUPS);
  return `${network.map((group) => parseInt(group, 16).toString(16)).join(":")}::/64`;
}
