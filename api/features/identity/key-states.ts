import type { AccessModels } from "../limits/access-model.ts";
import { databaseNow } from "../limits/access-update.ts";

/** For how long the keys of agents stay valid. */
export interface KeyStates {
  /** A filter for a change stream: the changes that may end a key. The ids of the changed documents are agent ids. */
  changes: { collection: string; filter: Record<string, unknown> };
  /**
   * Reads the valid keys of agents: key id → milliseconds until it ends, `Infinity` without an end. A key that was
   * revoked, has ended or is suspended is missing.
   */
  validFor(agentIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

interface ValidKeys {
  keys: { id: string; endsInMs: number | null }[];
}

/** The states of keys in the database, by the database's clock. */
export function createKeyStates({ access }: Pick<AccessModels, "access">, offsetMs: () => number): KeyStates {
  return {
    changes: {
      collection: access.collection.collectionName,
      // Every call updates the record. Only what ends a key changes its version. MongoDB reports a large change as a
      // replacement, without the names of the fields.
      filter: {
        $or: [
          { operationType: { $in: ["replace", "delete"] } },
          { operationType: "update", "updateDescription.updatedFields.keysVersion": { $exists: true } },
        ],
      },
    },
    async validFor(agentIds) {
      const now = databaseNow(offsetMs());
      const isValid = {
        $and: [
          { $or: [{ $eq: ["$$key.expiresAt", null] }, { $gt: ["$$key.expiresAt", now] }] },
          { $or: [{ $eq: ["$$key.suspendedUntil", null] }, { $lte: ["$$key.suspendedUntil", now] }] },
        ],
      };
      const endsInMs = { $cond: [{ $eq: ["$$key.expiresAt", null] }, null, { $subtract: ["$$key.expiresAt", now] }] };
      const found = await access.collection
        .aggregate<ValidKeys>([
          { $match: { _id: { $in: agentIds } } },
          { $set: { keys: { $filter: { input: "$keys", as: "key", cond: isValid } } } },
          { $project: { keys: { $map: { input: "$keys", as: "key", in: { id: "$$key.id", endsInMs } } } } },
        ])
        .toArray();
      return new Map(found.flatMap(({ keys }) => keys.map(({ id, endsInMs: ms }) => [id, ms ?? Infinity])));
    },
  };
}
