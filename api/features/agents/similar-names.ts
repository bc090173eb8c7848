import { nameSkeletons } from "../../lib/name-skeleton.ts";
import type { AgentModels, AgentRecord } from "./model.ts";

/** Maximum number of agents that a record names as similar. */
export const MOST_SIMILAR = 10;
/** Agents read at once. More than ten for each name of a page, so that each read completes at least one of them. */
const READ_AT_ONCE = 2_100;

type Named = Pick<AgentRecord, "_id" | "agentName">;

/** Finds agents whose names can be taken for each other. */
export interface SimilarNames {
  /** The ids of the oldest agents with a name like that of each record, older than the record, oldest first, by its id. */
  olderThan(records: readonly Named[]): Promise<Map<string, string[]>>;
}

/** Compares the names in the database. */
export function createSimilarNames({ agents }: Pick<AgentModels, "agents">): SimilarNames {
  /** The oldest agents of each skeleton, up to the newest of the records. */
  async function oldestOf(skeletons: Iterable<string>, newest: string): Promise<Map<string, string[]>> {
    const oldest = new Map([...skeletons].map((skeleton): [string, string[]] => [skeleton, []]));
    const missing = new Set(oldest.keys());
    let after = "";
    while (missing.size > 0) {
      const wanted = { nameSkeletons: { $in: [...missing] }, _id: { $gt: after, $lt: newest } };
      const found = await agents.find(wanted, { nameSkeletons: 1 }).sort({ _id: 1 }).limit(READ_AT_ONCE).lean();
      for (const { _id: id, nameSkeletons: keys } of found) {
        for (const key of keys) {
          if (!missing.has(key)) continue;
          const ids = oldest.get(key);
          if (ids !== undefined && ids.push(id) === MOST_SIMILAR) missing.delete(key);
        }
        after = id;
      }
      if (found.length < READ_AT_ONCE) break;
    }
    return oldest;
  }

  return {
    async olderThan(records) {
      const keys = new Map(records.map(({ _id: id, agentName }) => [id, nameSkeletons(agentName)]));
      const newest = [...keys.keys()].sort().at(-1);
      if (newest === undefined) return new Map();
      const oldest = await oldestOf(new Set([...keys.values()].flat()), newest);
      const similarTo = (id: string, skeletons: readonly string[]) =>
        [...new Set(skeletons.flatMap((skeleton) => oldest.get(skeleton) ?? []))]
          .filter((other) => other < id)
          .sort()
          .slice(0, MOST_SIMILAR);
      return new Map([...keys].map(([id, skeletons]) => [id, similarTo(id, skeletons)]));
    },
  };
}
