import type { AuditRecord, EntryContent, EntryVersion } from "../model.ts";
import { AUDIT_NAMESPACE } from "../names.ts";

const parsed = (json: string): unknown => JSON.parse(json) as unknown;

/** An entry as its agent sees it. */
export function presentEntry(record: EntryContent) {
  return {
    key: record.key,
    namespace: record.namespace,
    value: parsed(record.valueJson),
    tags: record.tags,
    version: record.version,
    ttlSeconds: record.ttlSeconds as number | null,
    expiresAt: record.expiresAt.toISOString() as string | null,
    createdAt: record.createdAt.toISOString(),
    updatedAt: record.updatedAt.toISOString(),
  };
}

/** An entry in an answer. */
export type PresentedEntry = ReturnType<typeof presentEntry>;

/** An audit entry in the format of other entries. */
export function presentAudit({ key, valueJson, tags, createdAt }: AuditRecord): PresentedEntry {
  const at = createdAt.toISOString();
  return {
    key,
    namespace: AUDIT_NAMESPACE,
    value: parsed(valueJson),
    tags,
    version: 1,
    ttlSeconds: null,
    expiresAt: null,
    createdAt: at,
    updatedAt: at,
  };
}

/** One version in a history. */
export function presentVersion({ version, valueJson, tags, updatedAt }: EntryVersion) {
  return { version, value: parsed(valueJson), tags, updatedAt: updatedAt.toISOString() };
}

export type PresentedVersion = ReturnType<typeof presentVersion>;
