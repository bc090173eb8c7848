import type { ChainTime } from "../../chain/chain-time.ts";
import type { Network } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { IndexedEscrow } from "../../indexer/schemas.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Role } from "./actions.ts";
import type { TransactionModel, TransactionRecord, TransactionStatus } from "./model.ts";
import { withChain } from "./snapshot.ts";

/** A transaction at a block of the subgraph, and the caller's side of it. */
export interface Reading {
  record: TransactionRecord;
  role: Role;
  indexedBlock: number;
  /**
   * The chain's time in unix seconds: the latest of the wall clock and all blocks that this process has seen. These include
   * the chain's latest block, read at most half a second ago.
   */
  chainNow: number;
}

/** Dependencies of the reader. */
export interface ReaderOptions {
  transactions: TransactionModel;
  indexers: Readonly<Record<Network, Indexer>>;
  chainTimes: Readonly<Record<Network, ChainTime>>;
  clock: Clock;
  /** How long a read waits for the subgraph to reach the block that it needs, in milliseconds. */
  waitMs: number;
}

/** The block that a read must include, and the limits of the wait for it. */
export interface ReadingAt {
  /** The first block at which the transaction may be read. */
  minBlock?: number | undefined;
  /** How long to wait for the caller's own move, in milliseconds; replaces `waitMs` of other reads. */
  moveWaitMs?: number;
  /** Ends the wait early. */
  signal?: AbortSignal | undefined;
}

/** Statuses of unfunded checkouts, which sellers don't see. */
export const UNFUNDED: readonly TransactionStatus[] = ["pending_funding", "expired"];

/** An agent's side of a transaction; undefined if it isn't a party. */
function roleOf(record: TransactionRecord, agentId: string): Role | undefined {
  if (record.buyerAgentId === agentId) return "buyer";
  return record.sellerAgentId === agentId ? "seller" : undefined;
}

/**
 * Reads transactions for their parties: the terms from the database, the state from the subgraph.
 */
export function createTransactionReader(options: ReaderOptions) {
  const { transactions, indexers, chainTimes, clock } = options;

  /** The stored record, for a party. @throws ApiError `not_found`, also for agents that aren't parties */
  async function find(transactionId: string, agentId: string): Promise<{ record: TransactionRecord; role: Role }> {
    const record = await transactions.findById(transactionId).lean();
    const role = record === null ? undefined : roleOf(record, agentId);
    if (record === null || role === undefined) throw new ApiError("not_found");
    return { record, role };
  }

  /**
   * The record with the subgraph's state at or after the required block. That block includes the call that a party has
   * reported and the last move in the copy, so any indexer may answer.
   */
  async function current(
    found: { record: TransactionRecord; role: Role },
    { minBlock: atLeast = 0, moveWaitMs, signal }: ReadingAt = {},
  ): Promise<Reading> {
    const { record, role } = found;
    const minBlock = Math.max(record.minBlock, record.escrow?.updatedBlock ?? 0, atLeast);
    const chainTime = chainTimes[record.network];
    const [{ block, escrows }] = await Promise.all([
      indexers[record.network].escrows([record.escrowId], {
        minBlock,
        signal,
        ...(moveWaitMs === undefined ? { waitMs: options.waitMs } : { waitMs: moveWaitMs, lane: "moves" }),
      }),
      chainTime.latest(),
    ]);
    chainTime.saw(block.timestamp ?? 0);
    const escrow = escrowOf(record, escrows);
    return {
      record: withChain(record, escrow),
      role,
      indexedBlock: block.number,
      // Read again, because the query may have waited for seconds.
      chainNow: await chainNow(record.network),
    };
  }

  /**
   * Reads a transaction for a party. The seller gets `transaction_not_funded` for a checkout that awaits its funding, and
   * `not_found` for one that has expired.
   * @throws ApiError `not_found`, `transaction_not_funded`
   */
  async function read(transactionId: string, agentId: string, at: ReadingAt = {}): Promise<Reading> {
    const reading = await current(await find(transactionId, agentId), at);
    const { status } = reading.record;
    if (reading.role !== "seller" || !UNFUNDED.includes(status)) return reading;
    if (status !== "pending_funding") throw new ApiError("not_found");
    const details = { transactionId, status, indexedBlock: reading.indexedBlock };
    throw new ApiError("transaction_not_funded", { details });
  }

  /**
   * Makes later reads and lists include the state that a party has been shown. The copy may be older until the follower
   * reaches that block. Writes nothing if the copy isn't older.
   */
  async function remember({ record }: Reading): Promise<void> {
    const shown = record.escrow?.updatedBlock ?? 0;
    if (shown <= record.minBlock) return;
    const ifOlder = { _id: record._id, "escrow.updatedBlock": { $not: { $gte: shown } } };
    await transactions.updateOne(ifOlder, { $max: { minBlock: shown } });
  }

  /** The latest of the wall clock and all blocks that this process has seen on a network, in unix seconds. */
  async function chainNow(network: Network): Promise<number> {
    const latestTime = await chainTimes[network].latest();
    return Math.max(toUnixSeconds(clock.now()), latestTime);
  }

  return { find, current, read, remember, chainNow };
}

/** Reads transactions for their parties. */
export type TransactionReader = ReturnType<typeof createTransactionReader>;

/** The escrow of a record among the subgraph's escrows; undefined if there is none. */
export function escrowOf(
  record: Pick<TransactionRecord, "escrowId">,
  escrows: ReadonlyMap<string, IndexedEscrow>,
): IndexedEscrow | undefined {
  return escrows.get(record.escrowId.toLowerCase());
}
