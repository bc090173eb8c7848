import type { QueryFilter } from "mongoose";

import { KYA_LEVELS, MAINNET, TESTNET } from "../../config/constants.ts";
import type { KyaLevel, Network } from "../../config/constants.ts";
import type { AgentModels, AgentRecord } from "./model.ts";
import type { SimilarNames } from "./similar-names.ts";
import { NEW_STANDING } from "./standings.ts";
import type { Standings } from "./standings.ts";

/** Orders of the registry: by name, highest score first, newest first. */
export const REGISTRY_ORDERS = ["name", "score", "newest"] as const;
export type RegistryOrder = (typeof REGISTRY_ORDERS)[number];

/** The last agent of a page. */
export interface RegistryPosition {
  order: RegistryOrder;
  id: string;
  name?: string | undefined;
  score?: number | undefined;
}

/** Filters, order and page of a registry list. */
export interface RegistryQuery {
  /** Start of the name, in any case. */
  name?: string | undefined;
  wallet?: `0x${string}` | undefined;
  kyaLevel?: KyaLevel | undefined;
  minScore?: number | undefined;
  maxScore?: number | undefined;
  limit: number;
  cursor?: RegistryPosition | undefined;
}

/** An agent with its scores and the agents that it may be taken for. */
export interface RegistryEntry {
  record: AgentRecord;
  scores: Record<Network, number>;
  /** Ids of at most ten older agents whose names can be taken for this one's, oldest first. */
  similarTo: readonly string[];
}

/** The public record of every registered agent. */
export interface AgentRegistry {
  /** A page of agents, and the position after which the next one starts; null on the last page. */
  list(query: RegistryQuery): Promise<{ entries: RegistryEntry[]; next: RegistryPosition | null }>;
  /** Adds scores and similar agents to a record. */
  toEntry(record: AgentRecord): Promise<RegistryEntry>;
}

/** A name as the registry compares it. Letters that only differ in case or in their compatibility form are equal. */
export function nameKeyOf(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}

/** The order of a query's pages: that of the index that serves its filters. */
export function registryOrderOf(query: Pick<RegistryQuery, "name" | "minScore" | "maxScore">): RegistryOrder {
  if (query.name !== undefined) return "name";
  return query.minScore === undefined && query.maxScore === undefined ? "newest" : "score";
}

type Filter = QueryFilter<AgentRecord>;
type Sort = Record<string, 1 | -1>;

const NEWEST: Sort = { _id: -1 };
const SORTS: Readonly<Record<RegistryOrder, Sort>> = {
  name: { nameKey: 1, _id: 1 },
  score: { testnetScore: -1, _id: -1 },
  newest: NEWEST,
};
/** Sorts after every other character. */
const LAST_CHARACTER = "\u{10ffff}";

/**
 * The agents that match a query as ranges of one index. The page is made of the first ones of the first range, then of
 * those of the next.
 */
export function registryRanges(query: RegistryQuery): { filter: Filter; sort: Sort }[] {
  const { name, wallet, kyaLevel, minScore, maxScore, cursor } = query;
  const sort = SORTS[registryOrderOf(query)];
  const filter: Filter = {
    kyaLevel: { $in: kyaLevel === undefined ? KYA_LEVELS : [kyaLevel] },
    ...(wallet === undefined ? {} : { walletKey: wallet.toLowerCase() }),
  };
  const scores = {
    ...(minScore === undefined ? {} : { $gte: minScore }),
    ...(maxScore === undefined ? {} : { $lte: maxScore }),
  };

  if (name !== undefined) {
    const prefix = nameKeyOf(name);
    const names = { $gte: prefix, $lt: prefix + LAST_CHARACTER };
    const named: Filter = { ...filter, ...(Object.keys(scores).length === 0 ? {} : { testnetScore: scores }) };
    if (cursor?.name === undefined) return [{ filter: { ...named, nameKey: names }, sort }];
    return [
      // Among equals the order is that of the ids; a sort by the name too would not be read from the index.
      { filter: { ...named, nameKey: { $eq: cursor.name }, _id: { $gt: cursor.id } }, sort: { _id: 1 } },
      { filter: { ...named, nameKey: { ...names, $gt: cursor.name } }, sort },
    ];
  }
  const after: Filter = cursor === undefined ? {} : { _id: { $lt: cursor.id } };
  if (Object.keys(scores).length === 0) return [{ filter: { ...filter, ...after }, sort }];
  const equal = minScore === maxScore ? minScore : cursor?.score;
  if (equal === undefined) return [{ filter: { ...filter, testnetScore: scores }, sort }];
  const equals = { filter: { ...filter, testnetScore: { $eq: equal }, ...after }, sort: NEWEST };
  return minScore === maxScore
    ? [equals]
    : [equals, { filter: { ...filter, testnetScore: { ...scores, $lt: equal } }, sort }];
}

/** Dependencies of the registry. */
export interface AgentRegistryDeps {
  models: Pick<AgentModels, "agents">;
  standings: Pick<Standings, "of">;
  similarNames: Pick<SimilarNames, "olderThan">;
}

/** The registry in the database. */
export function createAgentRegistry({ models: { agents }, standings, similarNames }: AgentRegistryDeps): AgentRegistry {
  async function readEntries(records: readonly AgentRecord[]): Promise<RegistryEntry[]> {
    const wallets = records.map(({ walletKey }) => walletKey);
    const [onMainnet, similar] = await Promise.all([standings.of(MAINNET, wallets), similarNames.olderThan(records)]);
    return records.map((record) => {
      const { score } = onMainnet.get(record.walletKey) ?? NEW_STANDING;
      const scores = { [TESTNET]: record.testnetScore, [MAINNET]: score } as Record<Network, number>;
      return { record, scores, similarTo: similar.get(record._id) ?? [] };
    });
  }

  return {
    async list(query) {
      const found: AgentRecord[] = [];
      for (const { filter, sort } of registryRanges(query)) {
        const missing = query.limit + 1 - found.length;
        if (missing > 0) found.push(...(await agents.find(filter).sort(sort).limit(missing).lean()));
      }
      const page = found.slice(0, query.limit);
      const last = page.at(-1);
      const hasMore = found.length > query.limit && last !== undefined;
      return { entries: await readEntries(page), next: hasMore ? positionOf(registryOrderOf(query), last) : null };
    },
    async toEntry(record) {
      const [entry] = await readEntries([record]);
      if (entry === undefined) throw new RangeError("unreachable: one record gives one entry");
      return entry;
    },
  };
}

function positionOf(order: RegistryOrder, { _id: id, nameKey, testnetScore }: AgentRecord): RegistryPosition {
  if (order === "name") return { order, id, name: nameKey };
  return order === "score" ? { order, id, score: testnetScore } : { order, id };
}
