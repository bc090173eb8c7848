import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { Role } from "./actions.ts";
import { TRANSACTION_STATUSES } from "./model.ts";
import type { TransactionModel, TransactionRecord, TransactionStatus } from "./model.ts";
import type { ChainProgress, Reached } from "./ports.ts";
import { UNFUNDED, escrowOf } from "./reader.ts";
import { withChain } from "./snapshot.ts";

/** The query of a list. */
export interface ListFilter {
  status?: TransactionStatus | undefined;
  role?: Role | undefined;
  network?: Network | undefined;
  serviceId?: string | undefined;
  limit: number;
  /** Last id of the previous page. */
  after?: string | undefined;
}

/** One entry of a list. */
export interface ListEntry {
  record: TransactionRecord;
  role: Role;
  indexedBlock: number | null;
}

/** Dependencies of the lists. */
export interface ListReaderOptions {
  transactions: TransactionModel;
  progress: Pick<ChainProgress, "reached">;
  indexers: Readonly<Record<Network, Indexer>>;
  /** How long a list waits for the subgraph to reach the block that it needs, in milliseconds. */
  waitMs: number;
}

/** What a seller sees: everything except unpaid checkouts (decision 15). */
const SEEN_BY_SELLER = TRANSACTION_STATUSES.filter((status) => !UNFUNDED.includes(status));

/**
 * The transactions of an agent whose copy matches the filter, as one query per side. Each gives every index field
 * before `_id` a value, or all values if the filter leaves it open. MongoDB merges these ranges in order and reads
 * little more than the page (see the indexes in model.ts). It wouldn't plan a single query for both sides that way.
 */
export function byCopy(agentId: string, filter: ListFilter) {
  const sides = [
    { role: "buyer", side: { buyerAgentId: agentId }, statuses: TRANSACTION_STATUSES },
    { role: "seller", side: { sellerAgentId: agentId }, statuses: SEEN_BY_SELLER },
  ] as const;
  return sides
    .filter(({ role }) => filter.role === undefined || filter.role === role)
    .map(({ side, statuses }) => ({
      ...side,
      ...(filter.serviceId === undefined ? {} : { serviceId: filter.serviceId }),
      network: { $in: filter.network === undefined ? NETWORKS : [filter.network] },
      status: { $in: statuses.filter((status) => filter.status === undefined || filter.status === status) },
      ...(filter.after === undefined ? {} : { _id: { $lt: filter.after } }),
    }));
}

/** The transactions of an agent whose copy is older than what a party has reported, regardless of the copy's status. */
export function behindParty(agentId: string, filter: ListFilter, reached: Reached) {
  const sides = [{ buyerAgentId: agentId }, { sellerAgentId: agentId }].slice(
    filter.role === "seller" ? 1 : 0,
    filter.role === "buyer" ? 1 : 2,
  );
  const networks = filter.network === undefined ? NETWORKS : [filter.network];
  const { serviceId, after } = filter;
  // One branch for each side and network, because each is a range of an index.
  const branches = sides.flatMap((side) =>
    networks.map((network) => ({
      ...side,
      network,
      minBlock: { $gt: reached.get(network) ?? 0 },
      ...(serviceId === undefined ? {} : { serviceId }),
      ...(after === undefined ? {} : { _id: { $lt: after } }),
    })),
  );
  return { $or: branches };
}

/** The block at which a list entry is current. The follower may write copies before it moves its cursor. */
function indexedBlockOf({ network, escrow }: TransactionRecord, reached: Reached): number | null {
  const block = Math.max(reached.get(network) ?? -1, escrow?.updatedBlock ?? -1);
  return block < 0 ? null : block;
}

/** Lists transactions for their parties from the follower's copies (decisions 15 and 41). */
export function createListReader({ transactions, progress, indexers, waitMs }: ListReaderOptions) {
  /** The records whose copy is older than what a party has reported, read with one query per network's subgraph. */
  async function readBehind(records: TransactionRecord[], reached: Reached, signal: AbortSignal | undefined) {
    const behind = records.filter((record) => record.minBlock > (reached.get(record.network) ?? 0));
    const networks = [...new Set(behind.map((record) => record.network))];
    const readings = await Promise.all(
      networks.map(async (network) => {
        const ofNetwork = behind.filter((record) => record.network === network);
        const { block, escrows } = await indexers[network].escrows(
          ofNetwork.map((record) => record.escrowId),
          { minBlock: Math.max(...ofNetwork.map((record) => record.minBlock)), waitMs, signal },
        );
        return ofNetwork.map(
          (record) =>
            [record._id, { record: withChain(record, escrowOf(record, escrows)), indexedBlock: block.number }] as const,
        );
      }),
    );
    return new Map(readings.flat());
  }

  /**
   * A page of an agent's transactions, newest first. If a transaction's copy is too old, it is read from the subgraph,
   * and its status there decides whether it is in the list.
   * @returns at most `limit` entries, and the id after which the next page starts; null on the last page
   */
  return async function list(
    agentId: string,
    filter: ListFilter,
    signal?: AbortSignal,
  ): Promise<{ entries: ListEntry[]; next: string | null }> {
    // Read before the records: a copy is at least as new as a cursor that was read earlier.
    const reached = await progress.reached();
    const found = await Promise.all(
      [...byCopy(agentId, filter), behindParty(agentId, filter, reached)].map((query) =>
        transactions
          .find(query)
          .sort({ _id: -1 })
          .limit(filter.limit + 1)
          .lean<TransactionRecord[]>(),
      ),
    );
    // If a query has more records, everything after its last one belongs to the next page.
    const ends = found.flatMap((records) => records[filter.limit]?._id ?? []).sort();
    const end = ends.at(-1) ?? null;
    const records = new Map<string, TransactionRecord>();
    for (const record of found.flat()) {
      if (end !== null && record._id < end) continue;
      // A party may have reported a move between two of the queries.
      if (record.minBlock >= (records.get(record._id)?.minBlock ?? 0)) records.set(record._id, record);
    }
    const newer = await readBehind([...records.values()], reached, signal);
    const entries = [...records.values()]
      .map((copy): ListEntry => {
        const { record, indexedBlock } = newer.get(copy._id) ?? {
          record: copy,
          indexedBlock: indexedBlockOf(copy, reached),
        };
        return { record, role: record.buyerAgentId === agentId ? "buyer" : "seller", indexedBlock };
      })
      .filter(({ record, role }) => {
        if (role === "seller" && UNFUNDED.includes(record.status)) return false;
        return filter.status === undefined || record.status === filter.status;
      })
      .sort((one, other) => (one.record._id < other.record._id ? 1 : -1));
    const page = entries.slice(0, filter.limit);
    return { entries: page, next: entries.length > filter.limit ? (page.at(-1)?.record._id ?? null) : end };
  };
}

/** Lists transactions for their parties. */
export type ListReader = ReturnType<typeof createListReader>;
