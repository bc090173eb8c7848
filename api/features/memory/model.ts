import type { Connection, Model } from "mongoose";

import { doneOperationModel } from "../../db/done-operations.ts";
import type { DoneOperationModel } from "../../db/done-operations.ts";
import { lengthModel } from "../../db/lengths.ts";
import type { LengthModel } from "../../db/lengths.ts";
import { collection, date, listOf, nullable, number, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { embedding } from "../../search/embedding/stored-embedding.ts";

/** The fields of every version of an entry. */
const versionFields = {
  /** 1 for the first write, 2 for the next and so on. */
  version: number,
  /** The value as JSON text, so that no field name is special to the database. */
  valueJson: text,
  tags: listOf(text),
  /** Bytes that the version counts towards the quota. */
  bytes: number,
  /** Id of the request that wrote it, by which a repeat recognises its own write. */
  writeId: text,
  /** When the version was written. */
  updatedAt: date,
};
export type EntryVersion = RecordOf<typeof versionFields>;

/** A memory entry. */
const entryFields = {
  ...versionFields,
  /** `<agent id>|<namespace>|<key>` */
  _id: text,
  agentId: text,
  namespace: text,
  key: text,
  ttlSeconds: number,
  /** From then on, reads treat the entry as missing. A job deletes it later. */
  expiresAt: date,
  /** Bytes of the earlier versions. */
  earlierBytes: number,
  /** Null until the text is embedded. Until then search finds the entry only by its words. */
  embedding: nullable(embedding),
  /** Number of the agent's change that last wrote the record; see `totalsFields`. */
  change: number,
  createdAt: date,
};
export type EntryRecord = RecordOf<typeof entryFields>;
/** An entry without its embedding, which most reads leave out. */
export type EntryContent = Omit<EntryRecord, "embedding">;

/** An earlier version of an entry. */
const earlierVersionFields = {
  ...versionFields,
  /** `<entry id>|<version>` */
  _id: text,
  entryId: text,
};
export type EarlierVersionRecord = RecordOf<typeof earlierVersionFields>;

/** An agent's stored totals. Every write of the agent changes this record first, so its writes run one after another. */
const totalsFields = {
  /** Agent id. */
  _id: text,
  entries: number,
  bytes: number,
  /** Rises with every change. A search index that has this number is up to date. */
  changes: number,
};
export type MemoryTotalsRecord = RecordOf<typeof totalsFields>;

/** A deleted entry, stored until every search index has removed it. */
const removalFields = {
  /** `<agent id>|<change>|<position>` */
  _id: text,
  agentId: text,
  change: number,
  entryId: text,
  /** When MongoDB deletes the record. */
  expiresAt: date,
};
export type RemovalRecord = RecordOf<typeof removalFields>;

/** An entry of the namespace `audit`: an event of an escrow, for one of its parties. It never changes or expires. */
const auditFields = {
  /** `<agent id>|audit|<key>` */
  _id: text,
  agentId: text,
  /** `escrow/{transactionId}/{seq}-{event}` */
  key: text,
  /** Id of the recorded event. */
  eventId: text,
  /** Position in the transaction's trail: 1, 2, 3 and so on. The same for both parties. */
  seq: number,
  valueJson: text,
  tags: listOf(text),
  createdAt: date,
};
export type AuditRecord = RecordOf<typeof auditFields>;

/** The latest change of an agent that a table of the search index contains. */
const indexedChangeFields = {
  /** `<table>|<agent id>` */
  _id: text,
  change: number,
  /** The table's first version with that change. */
  version: number,
};

/** The id of an agent's record for a table. No table's name contains `|`. */
export const indexedChangeId = (table: string, agentId: string): string => `${table}|${agentId}`;

/** The collections of the memory feature. */
export interface MemoryModels {
  entries: Model<EntryRecord>;
  versions: Model<EarlierVersionRecord>;
  totals: Model<MemoryTotalsRecord>;
  removals: Model<RemovalRecord>;
  doneOperations: DoneOperationModel;
  indexed: Model<RecordOf<typeof indexedChangeFields>>;
  audit: Model<AuditRecord>;
  trailLengths: LengthModel;
}

const EXPIRES = { expireAfterSeconds: 0 };

/** Declares the collections on a connection. */
export function memoryModels(connection: Connection): MemoryModels {
  return {
    entries: collection(connection, "MemoryEntry", "memory_entries", entryFields, [
      [{ agentId: 1, namespace: 1, key: 1 }],
      [{ agentId: 1, namespace: 1, tags: 1, key: 1 }],
      // For search indexes and searches: an agent's changes since a number.
      [{ agentId: 1, change: 1 }],
      [{ expiresAt: 1 }],
      // For entries to be embedded. An entry without an embedding has no model either.
      [{ "embedding.model": 1, _id: 1 }],
    ]),
    versions: collection(connection, "MemoryVersion", "memory_versions", earlierVersionFields, [
      [{ entryId: 1, version: -1 }],
    ]),
    totals: collection(connection, "MemoryTotals", "memory_totals", totalsFields),
    removals: collection(connection, "MemoryRemoval", "memory_removals", removalFields, [
      [{ agentId: 1, change: 1 }],
      [{ expiresAt: 1 }, EXPIRES],
    ]),
    doneOperations: doneOperationModel(connection),
    indexed: collection(connection, "MemoryIndexedChange", "memory_indexed_changes", indexedChangeFields),
    audit: collection(connection, "MemoryAudit", "memory_audit", auditFields, [
      [{ agentId: 1, key: 1 }],
      [{ agentId: 1, tags: 1, key: 1 }],
      [{ eventId: 1, agentId: 1 }, { unique: true }],
    ]),
    trailLengths: lengthModel(connection),
  };
}
