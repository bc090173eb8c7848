import { randomBytes } from "node:crypto";

import type { ClientSession } from "mongoose";

import { API_KEY_HEX_LENGTH, API_KEY_PREFIX } from "../../config/constants.ts";
import { hashApiKey } from "../../http/authenticate.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import type { AccessModels, StoredKey } from "../limits/access-model.ts";
import { byCallClass, dayOf } from "../limits/tiers.ts";

/** The owner of keys. */
export interface KeyOwner {
  _id: string;
  walletAddress: `0x${string}`;
  walletKey: string;
}

/** An agent's testnet score as known when its record is created. */
export interface KnownScore {
  score: number;
  indexedBlock: number;
}

/** The API keys of agents. */
export interface ApiKeys {
  /**
   * Issues a key to an agent within a transaction, and ends its other keys at a moment, unless they end earlier anyway.
   * The key itself is returned here and never stored. All keys of an agent are in one document, so keys that are issued
   * at the same moment, even by different processes, see each other. An agent has at most 10 keys. Issuing another deletes the oldest.
   */
  issue(owner: KeyOwner, othersEndAt: Date, known: KnownScore | undefined, session: ClientSession): Promise<string>;
  /** Ends a key now. */
  revoke(agentId: string, keyId: string): Promise<Date>;
}

/** Most keys that an agent has at once. Each has limits of its own, so more would lift the limits. */
const KEYS_AT_ONCE = 10;

/** API keys stored in the database. */
export function createApiKeys({ access }: Pick<AccessModels, "access">, clock: Clock): ApiKeys {
  return {
    async issue({ _id, walletAddress, walletKey }, othersEndAt, known, session) {
      const apiKey = API_KEY_PREFIX + randomBytes(API_KEY_HEX_LENGTH / 2).toString("hex");
      const now = clock.now();
      const key: StoredKey = {
        id: newId("key", now),
        hash: hashApiKey(apiKey),
        createdAt: now,
        expiresAt: null,
        suspendedUntil: null,
        windows: {},
        refusals: [],
      };
      const endOf = { $min: [{ $ifNull: ["$$key.expiresAt", othersEndAt] }, othersEndAt] };
      const others = {
        $map: { input: { $ifNull: ["$keys", []] }, as: "key", in: { $mergeObjects: ["$$key", { expiresAt: endOf }] } },
      };
      // Ended keys are dropped. One that ends now is dropped now, because the database's clock may be behind.
      const valid = { $filter: { input: others, as: "key", cond: { $gt: ["$$key.expiresAt", now] } } };
      const initially = (field: string, value: unknown) => ({ [field]: { $ifNull: [`$${field}`, value] } });
      const none = byCallClass(() => 0);
      await access.collection.updateOne(
        { _id: _id as never },
        [
          {
            $set: {
              walletAddress,
              walletKey,
              ...initially("score", known?.score ?? 0),
              ...initially("scoreBlock", known?.indexedBlock ?? -1),
              ...initially("day", dayOf(now)),
              ...initially("used", none),
              ...initially("beyondBudget", 0),
              ...initially("earlier", 0),
              ...initially("reservations", []),
              ...initially("prepaid", none),
              keys: { $concatArrays: [{ $slice: [valid, 1 - KEYS_AT_ONCE] }, [{ $literal: key }]] },
              keysVersion: { $add: [{ $ifNull: ["$keysVersion", 0] }, 1] },
            },
          },
        ] as never,
        { upsert: true, session },
      );
      return apiKey;
    },
    async revoke(agentId, keyId) {
      const update = { $pull: { keys: { id: keyId } }, $inc: { keysVersion: 1 } };
      await access.collection.updateOne({ _id: agentId as never }, update as never);
      return clock.now();
    },
  };
}
