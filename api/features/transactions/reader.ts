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

/** A transaction as the subgraph has it at a block, and the caller's side of it. */
export interface Reading {
  record: TransactionRecord;
  role: Role;
  indexedBlock: number;
  /**
   * Unix seconds of the chain: the latest of the wall clock and every block that this process has seen, among them the
   * chain's latest block, asked for at most half a second ago.
   */
  chainNow: number;
}

/** What reading needs. */
export interface ReaderOptions {
  transactions: TransactionModel;
  indexers: Readonly<Record<Network, Indexer>>;
  chainTimes: Readonly<Record<Network, ChainTime>>;
  clock: Clock;
  /** How long a reading waits for the subgraph to reach the block it needs, in milliseconds. */
  waitMs: number;
}

/** What a reading must include, and how it waits for it. */
export interface ReadingAt {
  /** The first block that it may be read at. */
  minBlock?: number | undefined;
  /** For a move of the caller's own: how long to wait for it, instead of `waitMs` of all readings. In milliseconds. */
  moveWaitMs?: number;
  /** Ends the wait early. */
  signal?: AbortSignal | undefined;
}

/** What the seller does not see: a checkout that nobody paid for (decision 15). */
export const UNFUNDED: readonly TransactionStatus[] = ["pending_funding", "expired"];

/** The side of a transaction that an agent is on; undefined for a stranger. */
function roleOf(record: TransactionRecord, agentId: string): Role | undefined {
  if (record.buyerAgentId === agentId) return "buyer";
  return record.sellerAgentId === agentId ? "seller" : undefined;
}

/** Reads transactions for their parties: the terms from the database, the state from the subgraph (decisions 15 and 41). */
export function createTransactionReader(options: ReaderOptions) {
  const { transactions, indexers, chainTimes, clock } = options;

  /** The record of a party, as it is stored. A stranger learns no more than that there is nothing (decision 33). */
  async function find(transactionId: string, agentId: string): Promise<{ record: TransactionRecord; role: Role }> {
    const record = await transactions.findById(transactionId).lean<TransactionRecord | null>();
    const role = record === null ? undefined : roleOf(record, agentId);
    if (record === null || role === undefined) throw new ApiError("not_found");
    return { record, role };
  }

  /**
   * The record with the state that the subgraph has at or after the block that it needs: that of the call which a party
   * told of, and that of the last move which the copy already knows, whichever indexer answers.
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
        ...{ minBlock, signal },
        ...(moveWaitMs === undefined ? { waitMs: options.waitMs } : { waitMs: moveWaitMs, lane: "moves" }),
      }),
      chainTime.latest(),
    ]);
    chainTime.saw(block.timestamp ?? 0);
    // Once more: the reading may have waited for seconds.
    const latestTime = await chainTime.latest();
    const escrow = escrowOf(record, escrows);
    return {
      record: withChain(record, escrow),
      role,
      indexedBlock: block.number,
      chainNow: Math.max(toUnixSeconds(clock.now()), latestTime),
    };
  }

  /** A party's reading; what a seller may not see yet does not exist for it. */
  async function read(transactionId: string, agentId: string, at: ReadingAt = {}): Promise<Reading> {
    const reading = await current(await find(transactionId, agentId), at);
    if (reading.role === "seller" && UNFUNDED.includes(reading.record.status)) throw new ApiError("not_found");
    return reading;
  }

  /**
   * Makes later readings and lists include the state that a party was answered with (decision 41). The copy may be older
   * until the follower comes to it; where it is not, nothing is written.
   */
  async function remember({ record }: Reading): Promise<void> {
    const shown = record.escrow?.updatedBlock ?? 0;
    if (shown <= record.minBlock) return;
    const ifOlder = { _id: record._id, "escrow.updatedBlock": { $not: { $gte: shown } } };
    await transactions.updateOne(ifOlder, { $max: { minBlock: shown } });
  }

  return { find, current, read, remember };
}

/** Reads transactions for their parties. */
export type TransactionReader = ReturnType<typeof createTransactionReader>;

/** The escrow of a record among those that the subgraph has; undefined when it has none. */
export function escrowOf(
  record: TransactionRecord,
  escrows: ReadonlyMap<string, IndexedEscrow>,
): IndexedEscrow | undefined {
  return escrows.get(record.escrowId.toLowerCase());
}
