import type { ClientSession, Connection } from "mongoose";

import { ApiError } from "../../http/errors.ts";
import { canonicalJson } from "../../lib/canonical-json.ts";
import { sha256Hex } from "../../lib/ids.ts";
import { intentModel } from "./model.ts";
import type { Asked, IntentKind } from "./model.ts";

/** A request that an agent wants to have its effect once, however often it is sent. */
export interface Intent {
  agentId: string;
  intentId: string;
  kind: IntentKind;
  asked: Asked;
}

/** What an earlier request under the same intent made. */
export interface EarlierRecord {
  kind: IntentKind;
  recordId: string;
  /** Names of the arguments in which it differs from this request; `kind` alone for a record of another kind. */
  differs: string[];
}

/** Hashes the arguments that a request gives. The order of keys in objects makes no difference. */
export function askedOf(input: Readonly<Record<string, unknown>>): Asked {
  const given = Object.entries(input).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, sha256Hex(canonicalJson(value))]));
}

/** The error for an intent that belongs to another request. */
export function intentConflict({ intentId }: Intent, earlier: EarlierRecord, escrowId?: string): ApiError {
  const { kind, recordId: id, differs } = earlier;
  return new ApiError("intent_conflict", {
    details: { intentId, kind, id, ...(escrowId === undefined ? {} : { escrowId }), differs },
  });
}

/** Remembers what each agent has done under which intent, for every process and for ever. */
export function createIntents(connection: Connection) {
  const model = intentModel(connection);
  const idOf = ({ agentId, intentId }: Intent) => `${agentId}|${intentId}`;

  /** What was made under the intent; undefined if nothing was. */
  async function find(intent: Intent): Promise<EarlierRecord | undefined> {
    const earlier = await model.findById(idOf(intent)).lean();
    if (earlier === null) return undefined;
    const { kind, recordId, asked } = earlier;
    if (kind !== intent.kind) return { kind, recordId, differs: ["kind"] };
    const names = [...new Set([...Object.keys(asked), ...Object.keys(intent.asked)])].sort();
    return { kind, recordId, differs: names.filter((name) => asked[name] !== intent.asked[name]) };
  }

  return {
    find,

    /**
     * The record that an earlier request made with the same arguments; undefined if there was no request.
     * @param read returns null for a record that has been deleted
     * @throws ApiError `intent_conflict`, which names no difference if the record has been deleted
     */
    async recordOf<Found>(intent: Intent, read: (id: string) => Promise<Found | null>): Promise<Found | undefined> {
      const earlier = await find(intent);
      if (earlier === undefined) return undefined;
      const found = earlier.differs.length === 0 ? await read(earlier.recordId) : null;
      if (found === null) throw intentConflict(intent, earlier);
      return found;
    },

    /** Takes the intent for a record that the same database transaction creates. A duplicate key if it is taken. */
    async claim(intent: Intent, recordId: string, now: Date, session: ClientSession): Promise<void> {
      const { kind, asked } = intent;
      await model.create([{ _id: idOf(intent), kind, recordId, asked, createdAt: now }], { session });
    },

    /** Moves the intent to the record that replaces another; false if that isn't the intent's record any more. */
    async move(intent: Intent, from: string, to: string, session: ClientSession): Promise<boolean> {
      const asFound = { _id: idOf(intent), recordId: from };
      const { matchedCount } = await model.updateOne(asFound, { $set: { recordId: to } }, { session });
      return matchedCount === 1;
    },
  };
}

/** Remembers what each agent has done under which intent. */
export type Intents = ReturnType<typeof createIntents>;
