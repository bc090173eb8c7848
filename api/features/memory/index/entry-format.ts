import { quoted } from "../../../search/engine/table-format.ts";
import type { TableFormat } from "../../../search/engine/table-format.ts";
import type { EntryRecord } from "../model.ts";
import { afterPrefix } from "../names.ts";
import { textOfValue } from "./search-text.ts";

/** Name of the index of all agents' entries. */
export const MEMORY_INDEX = "memory";
/**
 * Rises when rows are laid out in another way, or search-text.ts reads values in another way. An index of another number is
 * built again.
 */
export const MEMORY_FORMAT = 1;

/** What the index keeps of an entry. */
export interface IndexedEntry extends Pick<EntryRecord, "agentId" | "namespace" | "key" | "tags" | "expiresAt"> {
  id: string;
  /** The words of the value. */
  text: string;
}

/** What a search filters by before it ranks. An undefined field excludes nothing. */
export interface EntryFilter {
  agentId: string;
  namespace?: string | undefined;
  prefix?: string | undefined;
  /** An entry must have all of them. */
  tags: readonly string[];
  /** An entry must live longer than that. */
  now: Date;
}

/** What the index keeps of a record. */
export function indexedEntryOf(record: Omit<EntryRecord, "embedding">): IndexedEntry {
  const { _id: id, agentId, namespace, key, tags, expiresAt, valueJson } = record;
  return { id, agentId, namespace, key, tags, expiresAt, text: textOfValue(JSON.parse(valueJson)) };
}

/** How entries are kept in the engine: those of all agents in one table, and no search without the agent. */
export const entryFormat: TableFormat<IndexedEntry, EntryFilter> = {
  columns: { agentId: "key", namespace: "choice", key: "key", tags: "labels", expiresAt: "number" },
  valuesOf: ({ agentId, namespace, key, tags, expiresAt }) => ({
    agentId,
    namespace,
    key,
    tags,
    expiresAt: expiresAt.getTime(),
  }),
  wordsOf: ({ key, tags, text }) => [key, tags.join(" "), text].join("\n"),
  wordScore: "same",
  conditionOf,
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

function conditionOf({ agentId, namespace, prefix, tags, now }: EntryFilter): string {
  const conditions = [`"agentId" = ${quoted(agentId)}`, `"expiresAt" > ${now.getTime()}`];
  if (namespace !== undefined) conditions.push(`"namespace" = ${quoted(namespace)}`);
  if (prefix !== undefined) {
    const end = afterPrefix(prefix);
    conditions.push(`"key" >= ${quoted(prefix)}`, ...(end === undefined ? [] : [`"key" < ${quoted(end)}`]));
  }
  if (tags.length > 0) conditions.push(`array_has_all("tags", [${tags.map(quoted).join(", ")}])`);
  return conditions.join(" AND ");
}
