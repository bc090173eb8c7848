import { quoted } from "../../../search/engine/table-format.ts";
import type { TableFormat } from "../../../search/engine/table-format.ts";
import type { EntryContent, EntryRecord } from "../model.ts";
import { afterPrefix } from "../names.ts";
import { textOfValue } from "./search-text.ts";

/** Name of the index of all agents' entries. */
export const MEMORY_INDEX = "memory";

/** An entry as the index stores it. */
export interface IndexedEntry extends Pick<EntryRecord, "agentId" | "namespace" | "key" | "tags" | "expiresAt"> {
  id: string;
  /** The words of the value. */
  text: string;
}

/** The filters of a search, applied before the ranking. An undefined field excludes nothing. */
export interface EntryFilter {
  agentId: string;
  namespace?: string | undefined;
  prefix?: string | undefined;
  /** Tags that an entry must have, all of them. */
  tags: readonly string[];
  /** Entries that expire at this time or earlier are excluded. */
  now: Date;
}

/** Converts a record to the index's form. */
export function toIndexedEntry(record: EntryContent): IndexedEntry {
  const { _id: id, agentId, namespace, key, tags, expiresAt, valueJson } = record;
  return { id, agentId, namespace, key, tags, expiresAt, text: textOfValue(JSON.parse(valueJson)) };
}

/** The table format of entries: all agents share one table, and every search filters by agent. */
export const entryFormat: TableFormat<IndexedEntry, EntryFilter> = {
  version: 2,
  searched: "entries",
  columns: { agentId: "key", namespace: "choice", key: "key", tags: "labels", expiresAt: "number" },
  toValues: ({ agentId, namespace, key, tags, expiresAt }) => ({
    agentId,
    namespace,
    key,
    tags,
    expiresAt: expiresAt.getTime(),
  }),
  wordsOf: ({ key, tags, text }) => [key, tags.join(" "), text].join("\n"),
  wordScore: "same",
  toCondition,
  passes: (entry, { agentId, namespace, prefix, tags, now }) =>
    entry.agentId === agentId &&
    entry.expiresAt > now &&
    (namespace === undefined || namespace === entry.namespace) &&
    (prefix === undefined || entry.key.startsWith(prefix)) &&
    tags.every((tag) => entry.tags.includes(tag)),
  serialize: (entry) => JSON.stringify(entry),
  deserialize(serialized) {
    const entry = JSON.parse(serialized) as IndexedEntry;
    return { ...entry, expiresAt: new Date(entry.expiresAt) };
  },
};

function toCondition({ agentId, namespace, prefix, tags, now }: EntryFilter): string {
  const conditions = [`"agentId" = ${quoted(agentId)}`, `"expiresAt" > ${now.getTime()}`];
  if (namespace !== undefined) conditions.push(`"namespace" = ${quoted(namespace)}`);
  if (prefix !== undefined) {
    const end = afterPrefix(prefix);
    conditions.push(`"key" >= ${quoted(prefix)}`, ...(end === undefined ? [] : [`"key" < ${quoted(end)}`]));
  }
  if (tags.length > 0) conditions.push(`array_has_all("tags", [${tags.map(quoted).join(", ")}])`);
  return conditions.join(" AND ");
}
