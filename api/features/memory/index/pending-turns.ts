import type { EntryContent, MemoryModels } from "../model.ts";
import { endOfEntries } from "../names.ts";

/** An entry that waits to be embedded. */
export type PendingEntry = EntryContent;

/** Maximum number of an agent's entries in one turn. */
const TURN = 50;

/** The position of an agent that has entries left after a turn. */
interface Rest {
  /** The model that embedded the entries; null for none. */
  embeddedBy: string | null;
  agentId: string;
  /** Id of the last entry of the turn. */
  after: string;
}

/**
 * The entries that certain models have embedded, or none, each once. Agents take turns, so that one with thousands of entries doesn't delay
 * the others. A run may end before all agents have had a turn, so it begins with a random one.
 * @param models names of models; null stands for none
 * @param leftOut agents that get no further turn; the caller adds to it during the run
 */
export async function* pendingInTurns(
  { entries, totals }: Pick<MemoryModels, "entries" | "totals">,
  models: readonly (string | null)[],
  leftOut: ReadonlySet<string>,
): AsyncGenerator<PendingEntry> {
  const rests: Rest[] = [];

  /** The first entries of a range, at most `TURN`, in the order of the index. */
  async function read(embeddedBy: string | null, after: string, end: string | undefined): Promise<PendingEntry[]> {
    return await entries
      .find(
        { "embedding.model": embeddedBy, _id: { $gt: after, ...(end === undefined ? {} : { $lt: end }) } },
        { embedding: 0 },
      )
      .sort({ "embedding.model": 1, _id: 1 })
      .limit(TURN)
      .lean();
  }

  async function* firstTurns(embeddedBy: string | null, start: string, end?: string): AsyncGenerator<PendingEntry> {
    let after = start;
    for (;;) {
      const page = await read(embeddedBy, after, end);
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < TURN) return;
      const { agentId } = last;
      const isOneAgents = page[0]?.agentId === agentId;
      if (isOneAgents) rests.push({ embeddedBy, agentId, after: last._id });
      after = isOneAgents ? endOfEntries(agentId) : last._id;
    }
  }

  const [sampled] = await totals.aggregate<{ _id: string }>([{ $sample: { size: 1 } }, { $project: { _id: 1 } }]);
  const middle = sampled?._id ?? "";
  for (const embeddedBy of models) {
    yield* firstTurns(embeddedBy, middle);
    yield* firstTurns(embeddedBy, "", middle);
  }
  // The loop appends to the list that it reads.
  for (const { embeddedBy, agentId, after } of rests) {
    if (leftOut.has(agentId)) continue;
    const page = await read(embeddedBy, after, endOfEntries(agentId));
    yield* page;
    const last = page.at(-1);
    if (last !== undefined && page.length === TURN) rests.push({ embeddedBy, agentId, after: last._id });
  }
}

/** The other models that have embedded entries. Each takes one index lookup. */
export async function earlierModels(entries: MemoryModels["entries"], model: string): Promise<string[]> {
  const found: string[] = [];
  for (let after = ""; ;) {
    const next = await entries
      .findOne({ "embedding.model": { $gt: after } })
      .select("embedding.model")
      .sort({ "embedding.model": 1, _id: 1 })
      .lean();
    if (!next?.embedding) return found;
    after = next.embedding.model;
    if (after !== model) found.push(after);
  }
}
