import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { bytesWithout, fitting } from "../../db/pages.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { Role } from "./actions.ts";
import { TRANSACTION_STATUSES } from "./model.ts";
import type { ListedTransaction, TransactionModel, TransactionStatus } from "./model.ts";
import type { ChainProgress, Reached } from "./ports.ts";
import { UNFUNDED, escrowOf } from "./reader.ts";
import { withChain } from "./snapshot.ts";

/** The query of a list. */
export interface ListFilter {
  status?: TransactionStatus | undefined;
  role?: Role | undefined;
  network?: Network | undefined;
  serviceId?: string | undefined;
  /** The buyer's own. Leaves out what the agent sells. */
  intentId?: string | undefined;
  limit: number;
  /** Last id of the previous page. */
  after?: string | undefined;
  /** Omits response payloads, which have up to 256 KB each: they are null. */
  withoutResponses?: boolean;
}

/** One entry of a list. */
export interface ListEntry {
  record: ListedTransaction;
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

/** Statuses that a seller sees: all except those of unfunded checkouts. */
const SEEN_BY_SELLER = TRANSACTION_STATUSES.filter((status) => !UNFUNDED.includes(status));

/** The side that a filter asks for; undefined for both. */
function roleIn({ role, intentId }: ListFilter): Role | undefined {
  return intentId === undefined ? role : "buyer";
}

/**
 * The transactions of an agent whose copy matches the filter, as one query per side. Each gives every index field before
 * `_id` a value, or all values if the filter omits it. MongoDB merges these ranges in order and reads little more than the
 * page (see the indexes in model.ts). It wouldn't plan a single query for both sides that way.
 */
export function byCopy(agentId: string, filter: ListFilter) {
  const sides = [
    { role: "buyer", side: { buyerAgentId: agentId }, statuses: TRANSACTION_STATUSES },
    { role: "seller", side: { sellerAgentId: agentId }, statuses: SEEN_BY_SELLER },
  ] as const;
  const asRole = roleIn(filter);
  return sides
    .filter(({ role }) => asRole === undefined || asRole === role)
    .map(({ side, statuses }) => ({
      ...side,
      ...(filter.serviceId === undefined ? {} : { serviceId: filter.serviceId }),
      ...(filter.intentId === undefined ? {} : { intentId: filter.intentId }),
      network: { $in: filter.network === undefined ? NETWORKS : [filter.network] },
      status: { $in: statuses.filter((status) => filter.status === undefined || filter.status === status) },
      ...(filter.after === undefined ? {} : { _id: { $lt: filter.after } }),
    }));
}

/** The transactions of an agent whose copy is older than a block that a party has reported, with any status. */
export function behindParty(agentId: string, filter: ListFilter, reached: Reached) {
  const role = roleIn(filter);
  const sides = [{ buyerAgentId: agentId }, { sellerAgentId: agentId }].slice(
    role === "seller" ? 1 : 0,
    role === "buyer" ? 1 : 2,
  );
  const networks = filter.network === undefined ? NETWORKS : [filter.network];
  const { serviceId, intentId, after } = filter;
  // One branch for each side and network, because each is a range of an index.
  const branches = sides.flatMap((side) =>
    networks.map((network) => ({
      ...side,
      network,
      minBlock: { $gt: reached.get(network) ?? 0 },
      ...(serviceId === undefined ? {} : { serviceId }),
      ...(intentId === undefined ? {} : { intentId }),
      ...(after === undefined ? {} : { _id: { $lt: after } }),
    })),
  );
  return { $or: branches };
}

/** The block at which a list entry is current. The follower may write copies before it moves its cursor. */
function indexedBlockOf({ network, escrow }: ListedTransaction, reached: Reached): number | null {
  const block = Math.max(reached.get(network) ?? -1, escrow?.updatedBlock ?? -1);
  return block < 0 ? null : block;
}

/** Lists transactions for their parties from the follower's copies. */
export function createListReader({ transactions, progress, indexers, waitMs }: ListReaderOptions) {
  /** The records whose copy is older than a block that a party has reported, read with one query per network's subgraph. */
  async function readBehind(records: ListedTransaction[], reached: Reached, signal: AbortSignal | undefined) {
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
   * @returns at most `limit` entries and about 1 MB, and the id after which the next page starts; null on the last page
   */
  return async function list(
    agentId: string,
    filter: ListFilter,
    signal?: AbortSignal,
  ): Promise<{ entries: ListEntry[]; next: string | null }> {
    // Read before the records: a copy is at least as new as a cursor that was read earlier.
    const reached = await progress.reached();
    const { withoutResponses = false } = filter;
    const unread = ["criteriaJson", ...(withoutResponses ? ["responsePayloadJson"] : [])];
    const found = await Promise.all(
      [...byCopy(agentId, filter), behindParty(agentId, filter, reached)].map((query) =>
        transactions
          .find(query, bytesWithout(unread))
          .sort({ _id: -1 })
          .limit(filter.limit + 1)
          .lean<{ _id: string; bytes: number }[]>(),
      ),
    );
    // If a query has more records, everything after its last one belongs to the next page.
    const ends = found.flatMap((sizes) => sizes[filter.limit]?._id ?? []).sort();
    const lastRead = ends.at(-1) ?? null;
    // Two queries may find the same transaction.
    const sizes = new Map(found.flat().map((size) => [size._id, size]));
    const known = [...sizes.values()]
      .filter(({ _id }) => lastRead === null || _id >= lastRead)
      .sort((one, other) => (one._id < other._id ? 1 : -1));
    const kept = fitting(known);
    const end = kept.length < known.length ? (kept.at(-1)?._id ?? null) : lastRead;
    const stored = await transactions
      .find({ _id: { $in: kept.map(({ _id }) => _id) } })
      .select(unread.map((field) => `-${field}`))
      .lean();
    const records: ListedTransaction[] = withoutResponses
      ? stored.map((copy) => ({ ...copy, responsePayloadJson: null }))
      : stored;
    const newer = await readBehind(records, reached, signal);
    const entries = records
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
