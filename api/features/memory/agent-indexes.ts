import { createInProcessIndex } from "../search/in-process-index.ts";
import type { SearchIndex } from "../search/search-index.ts";
import { fromBytes } from "../search/embedding/vectors.ts";
import { REMOVALS_KEPT_MS } from "./ledger.ts";
import type { EntryRecord, MemoryModels } from "./model.ts";
import { textOfValue } from "./search-text.ts";

/** What an index keeps of an entry. */
export interface IndexedEntry {
  /** The entry's id. */
  id: string;
  namespace: string;
  key: string;
  tags: readonly string[];
  text: string;
  expiresAt: Date;
}

/** What a search filters by before it ranks. An undefined field excludes nothing. */
export interface EntryFilter {
  namespace?: string | undefined;
  prefix?: string | undefined;
  /** An entry must have all of them. */
  tags: readonly string[];
  /** An entry must live longer than that. */
  now: Date;
}

/** An index of one agent's entries. */
export type EntryIndex = SearchIndex<IndexedEntry, EntryFilter>;

/** Dependencies of the indexes. */
export interface AgentIndexesDeps {
  models: Pick<MemoryModels, "entries" | "totals" | "removals">;
  /** Name of the encoder's model. Vectors of other models are ignored. */
  model: string;
  now: () => Date;
  /** How much all indexes together may keep in memory, in bytes; by estimate. */
  maxBytes?: number;
}

/** An index in memory and how far it has followed the agent's changes. */
interface Held {
  index: EntryIndex;
  change: number;
  /** When it was last known to be up to date. */
  syncedAt: Date;
  /** Estimated bytes by entry id, and their sum. */
  sizes: Map<string, number>;
  bytes: number;
  /** The last synchronisation; each waits for the one before. */
  syncing: Promise<void>;
}

const MAX_BYTES = 268_435_456;
const READ_AT_ONCE = 200;
/** What an entry takes besides its text and its vector: the words' postings above all. */
const OVERHEAD_BYTES = 2_000;
const BYTES_PER_CHARACTER = 2;

function createEntryIndex(): EntryIndex {
  return createInProcessIndex<IndexedEntry, EntryFilter>({
    textsOf: ({ key, tags, text }) => ({ key, tags: tags.join(" "), text }),
    weights: { key: 1, tags: 1, text: 1 },
    passes: ({ namespace, key, tags, expiresAt }, filter) =>
      expiresAt > filter.now &&
      (filter.namespace === undefined || filter.namespace === namespace) &&
      (filter.prefix === undefined || key.startsWith(filter.prefix)) &&
      filter.tags.every((tag) => tags.includes(tag)),
  });
}

/**
 * Search indexes by agent, in this process's memory. Before each search an index reads the number of the agent's last change,
 * and what has changed since its own, so a write by any process is found by the next search. The least recently used
 * indexes are dropped when all together become too large.
 */
export function createAgentIndexes({ models, model, now, maxBytes = MAX_BYTES }: AgentIndexesDeps) {
  const { entries, totals, removals } = models;
  /** The least recently used comes first. */
  const held = new Map<string, Held>();

  async function put(target: Held, record: EntryRecord): Promise<void> {
    const { _id: id, namespace, key, tags, valueJson, expiresAt, embedding } = record;
    const text = textOfValue(JSON.parse(valueJson));
    const vector = embedding?.model === model ? fromBytes(bytesOf(embedding.vector)) : null;
    await target.index.put({ id, namespace, key, tags, text, expiresAt }, vector);
    const size = OVERHEAD_BYTES + text.length * BYTES_PER_CHARACTER + (vector?.byteLength ?? 0);
    target.bytes += size - (target.sizes.get(id) ?? 0);
    target.sizes.set(id, size);
  }

  async function remove(target: Held, id: string): Promise<void> {
    await target.index.remove(id);
    target.bytes -= target.sizes.get(id) ?? 0;
    target.sizes.delete(id);
  }

  async function sync(agentId: string, target: Held): Promise<void> {
    const at = now();
    // Read first: what follows is at least as new, and what is newer is read again next time.
    const current = await totals.findById(agentId, { changes: 1 }).lean();
    const change = current?.changes ?? 0;
    if (change !== target.change) {
      const since = { agentId, change: { $gt: target.change } };
      for (const { entryId } of await removals.find(since, { entryId: 1 }).lean()) await remove(target, entryId);
      const changed = entries.find(since).sort({ change: 1 }).batchSize(READ_AT_ONCE).lean<EntryRecord[]>().cursor();
      for await (const record of changed) await put(target, record);
      target.change = change;
    }
    target.syncedAt = at;
  }

  function take(agentId: string): Held {
    const known = held.get(agentId);
    held.delete(agentId);
    const isFresh = known !== undefined && now().getTime() - known.syncedAt.getTime() < REMOVALS_KEPT_MS / 2;
    const target = isFresh
      ? known
      : {
          ...{ index: createEntryIndex(), change: 0, syncedAt: now(), sizes: new Map<string, number>(), bytes: 0 },
          syncing: Promise.resolve(),
        };
    held.set(agentId, target);
    return target;
  }

  function evict(): void {
    let bytes = [...held.values()].reduce((sum, target) => sum + target.bytes, 0);
    for (const [agentId, target] of held) {
      if (bytes <= maxBytes || held.size === 1) return;
      held.delete(agentId);
      bytes -= target.bytes;
    }
  }

  return {
    /** An agent's index, up to date with every write that ended before the call. */
    async of(agentId: string): Promise<EntryIndex> {
      const target = take(agentId);
      const synced = target.syncing.then(() => sync(agentId, target));
      target.syncing = synced.catch(() => undefined);
      await synced;
      evict();
      return target.index;
    },
    /** The agents whose indexes are in memory. */
    agents: (): string[] => [...held.keys()],
  };
}

/** Stored bytes are a BSON Binary in a lean record. */
function bytesOf(stored: unknown): Uint8Array {
  if (stored instanceof Uint8Array) return stored;
  return (stored as { buffer: Uint8Array }).buffer;
}

export type AgentIndexes = ReturnType<typeof createAgentIndexes>;
