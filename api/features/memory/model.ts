import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { embeddingSchema } from "../../search/embedding/stored-embedding.ts";
import type { StoredEmbedding } from "../../search/embedding/stored-embedding.ts";

/** The fields of every version of an entry. */
export interface EntryVersion {
  /** 1 for the first write, 2 for the next and so on. */
  version: number;
  /** The value as JSON text, so that no field name is special to the database. */
  valueJson: string;
  tags: string[];
  /** Bytes that the version counts towards the quota. */
  bytes: number;
  /** Id of the request that wrote it, by which a repeat recognises its own write. */
  writeId: string;
  /** When the version was written. */
  updatedAt: Date;
}

/** A memory entry. */
export interface EntryRecord extends EntryVersion {
  /** `<agent id>|<namespace>|<key>` */
  _id: string;
  agentId: string;
  namespace: string;
  key: string;
  ttlSeconds: number;
  /** From then on, reads treat the entry as missing. A job deletes it later. */
  expiresAt: Date;
  /** Bytes of the earlier versions. */
  earlierBytes: number;
  /** Null until the text is embedded. Until then search finds the entry only by its words. */
  embedding: StoredEmbedding | null;
  /** Number of the agent's change that last wrote the record; see MemoryTotalsRecord. */
  change: number;
  createdAt: Date;
}

/** An earlier version of an entry. */
export interface EarlierVersionRecord extends EntryVersion {
  /** `<entry id>|<version>` */
  _id: string;
  entryId: string;
}

/** An agent's stored totals. Every write of the agent changes this record first, so its writes run one after another. */
export interface MemoryTotalsRecord {
  /** Agent id. */
  _id: string;
  entries: number;
  bytes: number;
  /** Rises with every change. A search index that has this number is up to date. */
  changes: number;
}

/** A deleted entry, stored until every search index has removed it. */
export interface RemovalRecord {
  /** `<agent id>|<change>|<position>` */
  _id: string;
  agentId: string;
  change: number;
  entryId: string;
  /** When MongoDB deletes the record. */
  expiresAt: Date;
}

/** A renewal or deletion that has taken effect, stored for repeats of its request. */
export interface DoneOperationRecord {
  /** `<agent id>|<operation id>` */
  _id: string;
  /** MongoDB deletes the record after that. */
  expiresAt: Date;
}

/** An entry of the namespace `audit`: an event of an escrow, for one of its parties. It never changes or expires. */
export interface AuditRecord {
  /** `<agent id>|audit|<key>` */
  _id: string;
  agentId: string;
  /** `escrow/{transactionId}/{seq}-{event}` */
  key: string;
  /** Id of the recorded event. */
  eventId: string;
  /** Position in the transaction's trail: 1, 2, 3 and so on. The same for both parties. */
  seq: number;
  valueJson: string;
  tags: string[];
  createdAt: Date;
}

/** The latest change of an agent that a table of the search index contains. */
export interface IndexedChangeRecord {
  /** `<table>|<agent id>` */
  _id: string;
  change: number;
  /** The table's first version with that change. */
  version: number;
}

/** The id of an agent's record for a table. No table's name contains `|`. */
export const indexedChangeId = (table: string, agentId: string): string => `${table}|${agentId}`;

/** The length of a transaction's audit trail. */
export interface TrailLengthRecord {
  /** Transaction id. */
  _id: string;
  length: number;
}

/** The collections of the memory feature. */
export interface MemoryModels {
  entries: Model<EntryRecord>;
  versions: Model<EarlierVersionRecord>;
  totals: Model<MemoryTotalsRecord>;
  removals: Model<RemovalRecord>;
  doneOperations: Model<DoneOperationRecord>;
  indexed: Model<IndexedChangeRecord>;
  audit: Model<AuditRecord>;
  trailLengths: Model<TrailLengthRecord>;
}

const required = { required: true } as const;
const text = { type: String, ...required };
const count = { type: Number, ...required };
const date = { type: Date, ...required };
const options = { versionKey: false, strict: "throw" } as const;
const version = { version: count, valueJson: text, tags: [text], bytes: count, writeId: text, updatedAt: date };

const entrySchema = new Schema<EntryRecord>(
  {
    ...version,
    _id: text,
    agentId: text,
    namespace: text,
    key: text,
    ttlSeconds: count,
    expiresAt: date,
    earlierBytes: count,
    embedding: { type: embeddingSchema, default: null },
    change: count,
    createdAt: date,
  },
  { ...options, collection: "memory_entries" },
);
entrySchema.index({ agentId: 1, namespace: 1, key: 1 });
entrySchema.index({ agentId: 1, namespace: 1, tags: 1, key: 1 });
// For search indexes and searches: an agent's changes since a number.
entrySchema.index({ agentId: 1, change: 1 });
entrySchema.index({ expiresAt: 1 });
// For entries to be embedded. An entry without an embedding has no model either.
entrySchema.index({ "embedding.model": 1, _id: 1 });

const versionSchema = new Schema<EarlierVersionRecord>(
  { ...version, _id: text, entryId: text },
  { ...options, collection: "memory_versions" },
);
versionSchema.index({ entryId: 1, version: -1 });

const totalsSchema = new Schema<MemoryTotalsRecord>(
  { _id: text, entries: count, bytes: count, changes: count },
  { ...options, collection: "memory_totals" },
);

const removalSchema = new Schema<RemovalRecord>(
  { _id: text, agentId: text, change: count, entryId: text, expiresAt: date },
  { ...options, collection: "memory_removals" },
);
removalSchema.index({ agentId: 1, change: 1 });
removalSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

const doneOperationSchema = new Schema<DoneOperationRecord>(
  { _id: text, expiresAt: date },
  { ...options, collection: "memory_done_operations" },
);
doneOperationSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

const indexedChangeSchema = new Schema<IndexedChangeRecord>(
  { _id: text, change: count, version: count },
  { ...options, collection: "memory_indexed_changes" },
);

const auditSchema = new Schema<AuditRecord>(
  { _id: text, agentId: text, key: text, eventId: text, seq: count, valueJson: text, tags: [text], createdAt: date },
  { ...options, collection: "memory_audit" },
);
auditSchema.index({ agentId: 1, key: 1 });
auditSchema.index({ agentId: 1, tags: 1, key: 1 });
auditSchema.index({ eventId: 1, agentId: 1 }, { unique: true });

const trailLengthSchema = new Schema<TrailLengthRecord>(
  { _id: text, length: count },
  { ...options, collection: "memory_trail_lengths" },
);

/** Declares the collections on a connection. */
export function memoryModels(connection: Connection): MemoryModels {
  return {
    entries: connection.model<EntryRecord>("MemoryEntry", entrySchema),
    versions: connection.model<EarlierVersionRecord>("MemoryVersion", versionSchema),
    totals: connection.model<MemoryTotalsRecord>("MemoryTotals", totalsSchema),
    removals: connection.model<RemovalRecord>("MemoryRemoval", removalSchema),
    doneOperations: connection.model<DoneOperationRecord>("MemoryDoneOperation", doneOperationSchema),
    indexed: connection.model<IndexedChangeRecord>("MemoryIndexedChange", indexedChangeSchema),
    audit: connection.model<AuditRecord>("MemoryAudit", auditSchema),
    trailLengths: connection.model<TrailLengthRecord>("MemoryTrailLength", trailLengthSchema),
  };
}
