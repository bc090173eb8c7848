import { randomBytes } from "node:crypto";

import type { ClientSession, Connection } from "mongoose";

import { API_KEY_HEX_LENGTH, API_KEY_PREFIX } from "../../config/constants.ts";
import { withTransaction } from "../../db/connection.ts";
import { hashApiKey } from "../../http/authenticate.ts";
import { ApiError } from "../../http/errors.ts";
import type { Scope } from "../../http/scopes.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import type { AccessModels, StoredKey } from "../limits/access-model.ts";
import { byCallClass, dayOf } from "../limits/tiers.ts";
import type { MandateModel, MandateRecord } from "../mandates/model.ts";

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

/** A new key and its id. */
export interface IssuedKey {
  apiKey: string;
  keyId: string;
}

/** A valid key, with its mandate if it has one. */
export interface ListedKey extends Pick<StoredKey, "id" | "createdAt" | "expiresAt"> {
  mandate: MandateRecord | undefined;
}

/** The API keys of agents. */
export interface ApiKeys {
  /**
   * Issues a key without a mandate within a transaction, and ends the agent's other such keys at a moment, unless
   * they end earlier anyway. The key itself is returned here and never stored. All keys of an agent are in one document, so
   * keys that are issued at the same moment, even by different processes, see each other. An agent has at most 10 keys
   * without a mandate. Issuing another deletes the oldest.
   */
  issue(owner: KeyOwner, othersEndAt: Date, known: KnownScore | undefined, session: ClientSession): Promise<IssuedKey>;
  /**
   * Issues a key with a mandate within a transaction. It ends no other key.
   * @throws ApiError `mandate_limit_reached` if the agent has 50 of them
   */
  issueMandated(
    agentId: string,
    terms: { scopes: readonly Scope[]; expiresAt: Date },
    session: ClientSession,
  ): Promise<IssuedKey>;
  /** The agent's valid keys, oldest first. */
  list(agentId: string): Promise<ListedKey[]>;
  /** Ends a key and its mandate now. Returns when; undefined if it isn't one of the agent's keys. */
  revoke(agentId: string, keyId: string): Promise<Date | undefined>;
  /** Ends all keys of the agent but one, their mandates, and every session of a page. */
  freeze(agentId: string, keptKeyId: string): Promise<Date>;
}

/** Most keys without a mandate that an agent has at once. Each has limits of its own, so more would lift the limits. */
const KEYS_AT_ONCE = 10;
/** Most keys with a mandate. They share their limits. */
const MANDATES_AT_ONCE = 50;

const keysThat = (condition: unknown) => ({ $filter: { input: "$keys", as: "key", cond: condition } });
/** What has scopes is a key with a mandate, or the session of a page. */
const HAS_SCOPES = { $isArray: "$$key.scopes" };
const HAS_MANDATE = { $and: [HAS_SCOPES, { $eq: [{ $type: "$$key.session" }, "missing"] }] };

/** API keys stored in the database. */
export function createApiKeys(
  { access, mandates, connection }: Pick<AccessModels, "access"> & { mandates: MandateModel; connection: Connection },
  clock: Clock,
): ApiKeys {
  function makeKey(now: Date, terms: Pick<StoredKey, "expiresAt"> & { scopes?: Scope[] }) {
    const apiKey = API_KEY_PREFIX + randomBytes(API_KEY_HEX_LENGTH / 2).toString("hex");
    const key: StoredKey = {
      id: newId("key", now),
      hash: hashApiKey(apiKey),
      createdAt: now,
      suspendedUntil: null,
      windows: {},
      refusals: [],
      ...terms,
    };
    return { apiKey, key };
  }

  return {
    async issue({ _id, walletAddress, walletKey }, othersEndAt, known, session) {
      const now = clock.now();
      const { apiKey, key } = makeKey(now, { expiresAt: null });
      const endOf = { $min: [{ $ifNull: ["$$key.expiresAt", othersEndAt] }, othersEndAt] };
      const ended = { $cond: [HAS_SCOPES, "$$key", { $mergeObjects: ["$$key", { expiresAt: endOf }] }] };
      const others = { $map: { input: { $ifNull: ["$keys", []] }, as: "key", in: ended } };
      // Ended keys are dropped. One that ends now is dropped now, because the database's clock may be behind.
      const valid = (hasScopes: boolean) => ({
        $filter: {
          input: others,
          as: "key",
          cond: { $and: [{ $gt: ["$$key.expiresAt", now] }, { $eq: [HAS_SCOPES, hasScopes] }] },
        },
      });
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
              keys: {
                $concatArrays: [valid(true), { $slice: [valid(false), 1 - KEYS_AT_ONCE] }, [{ $literal: key }]],
              },
              keysVersion: { $add: [{ $ifNull: ["$keysVersion", 0] }, 1] },
            },
          },
        ] as never,
        { upsert: true, session },
      );
      return { apiKey, keyId: key.id };
    },
    async issueMandated(agentId, { scopes, expiresAt }, session) {
      const now = clock.now();
      const { apiKey, key } = makeKey(now, { expiresAt, scopes: [...scopes] });
      const isLive = { $or: [{ $eq: ["$$key.expiresAt", null] }, { $gt: ["$$key.expiresAt", now] }] };
      const mandated = { $size: keysThat({ $and: [isLive, HAS_MANDATE] }) };
      const { matchedCount } = await access.collection.updateOne(
        { _id: agentId as never, $expr: { $lt: [mandated, MANDATES_AT_ONCE] } },
        [{ $set: { keys: { $concatArrays: [keysThat(isLive), [{ $literal: key }]] } } }] as never,
        { session },
      );
      if (matchedCount === 0) throw new ApiError("mandate_limit_reached", { details: { limit: MANDATES_AT_ONCE } });
      return { apiKey, keyId: key.id };
    },
    async list(agentId) {
      const found = await access.findById(agentId, { keys: 1 }).lean();
      const now = clock.now();
      const keys = (found?.keys ?? []).filter(
        ({ expiresAt, session }) => session === undefined && (expiresAt === null || expiresAt > now),
      );
      const records = await mandates.find({ agentId, _id: { $in: keys.map(({ id }) => id) } }).lean();
      const byKey = new Map(records.map((record) => [record._id, record]));
      return keys
        .map(({ id, createdAt, expiresAt }) => ({ id, createdAt, expiresAt, mandate: byKey.get(id) }))
        .toSorted((one, other) => (one.id < other.id ? -1 : 1));
    },
    async revoke(agentId, keyId) {
      const endedAt = clock.now();
      const update = { $pull: { keys: { id: keyId } }, $inc: { keysVersion: 1 } };
      const isRevoked = await withTransaction(connection, async (session) => {
        const ofAgent = { _id: agentId as never, "keys.id": keyId };
        const { matchedCount } = await access.collection.updateOne(ofAgent, update as never, { session });
        await mandates.updateOne({ _id: keyId, agentId, endedAt: null }, { $set: { endedAt } }, { session });
        return matchedCount === 1;
      });
      return isRevoked ? endedAt : undefined;
    },
    async freeze(agentId, keptKeyId) {
      const endedAt = clock.now();
      const update = { $pull: { keys: { id: { $ne: keptKeyId } } }, $inc: { keysVersion: 1 } };
      await withTransaction(connection, async (session) => {
        await access.collection.updateOne({ _id: agentId as never }, update as never, { session });
        const others = { agentId, _id: { $ne: keptKeyId }, endedAt: null };
        await mandates.updateMany(others, { $set: { endedAt } }, { session });
      });
      return endedAt;
    },
  };
}
