import type { z } from "zod";

import type { Network } from "../config/constants.ts";
import { untilAborted } from "../lib/stopping.ts";
import { IndexerBehindError } from "./errors.ts";
import { createGraphqlClient } from "./graphql-client.ts";
import type { GraphqlClient } from "./graphql-client.ts";
import { createHeadWatcher } from "./head-watcher.ts";
import { joinReads } from "./joined-reads.ts";
import {
  AGENT_DAYS_QUERY,
  AGENT_RECORD_QUERY,
  AGENTS_QUERY,
  CHANGED_AGENTS_QUERY,
  DISPUTED_BEFORE_QUERY,
  ESCROWS_QUERY,
  EVENTS_QUERY,
  FIRST_PAID_QUERY,
  META_QUERY,
  PAID_SETTLEMENTS_QUERY,
  SELLER_VOLUMES_QUERY,
} from "./queries.ts";
import {
  agentDaysAnswer,
  agentRecordAnswer,
  agentsAnswer,
  escrowIdsAnswer,
  escrowsAnswer,
  eventsAnswer,
  firstPaidAnswer,
  hourlyAnswer,
  metaAnswer,
  paidSettlementsAnswer,
  sellerVolumesAnswer,
} from "./schemas.ts";
import type {
  HourlySum,
  IndexedAgent,
  IndexedAgentDay,
  IndexedEscrow,
  IndexedScoreChange,
  metaSchema,
  PaidSettlement,
  ReadEvent,
  SellerVolume,
} from "./schemas.ts";

import { hourlyQuery } from "./series-queries.ts";
import type { HourlyMetric } from "./series-queries.ts";

/** The block at which the subgraph read an answer. `timestamp` is in unix seconds. */
export interface IndexedBlock {
  number: number;
  /** Null if the subgraph doesn't report it for this kind of query. */
  hash: `0x${string}` | null;
  parentHash: `0x${string}` | null;
  timestamp: number | null;
  /** True once a handler has failed. The subgraph has then stopped. */
  hasIndexingErrors: boolean;
}

/** The block that an answer must include; by default it is the latest indexed one. */
export interface ReadAt {
  minBlock?: number;
  /** How long to wait for the subgraph to reach `minBlock`, in milliseconds; default 0. */
  waitMs?: number;
  /** Ends the wait and the read early, which then reject with the signal's reason. */
  signal?: AbortSignal | undefined;
  /**
   * The share of the connections that a read uses; default `reads`. Operations that wait for their own move use
   * `moves`, so a burst of them leaves connections for all other reads.
   */
  lane?: ReadLane;
}

/** A position in the order of agents: by the block of their last change, then by wallet. */
export interface AgentPlace {
  block: number;
  /** Wallet, lower case. */
  id: string;
}

/** Sorts after every wallet, so that a list after this position starts with the next block. */
export const AFTER_EVERY_WALLET = `0x${"ff".repeat(20)}`;

/** One wallet's history in a network's subgraph, read at one block. */
export interface AgentHistory {
  block: IndexedBlock;
  /** Null for a wallet without escrows. */
  agent: IndexedAgent | null;
  /** Newest first. */
  changes: IndexedScoreChange[];
  /** USD values (6 decimals) of the latest released deals in either role. */
  dealValuesUsd: bigint[];
}

/** The part of a wallet's history to read. */
export interface HistoryPage {
  /** Ordinal of the last change of the page before. */
  before?: bigint | undefined;
  /** Score changes in the page, at most 1000. */
  first: number;
  /** Released deals whose values are read, at most 1000. */
  deals: number;
}

/** A block at which the subgraph is read, whatever it has indexed since. */
export interface AtBlock {
  number: number;
  hash: `0x${string}`;
}

/** Shares of the connections to a subgraph. */
export type ReadLane = "reads" | "moves";

/** Reads one network's subgraph with bounded time and retries. */
export interface Indexer {
  readonly network: Network;
  /** The latest block that the subgraph has indexed. */
  head(): Promise<IndexedBlock>;
  /** The escrows that exist, by lower-case id, in a single query. */
  escrows(ids: readonly string[], at?: ReadAt): Promise<{ block: IndexedBlock; escrows: Map<string, IndexedEscrow> }>;
  /** Up to `first` (at most 1000) events in chain order, starting at an ordinal. */
  eventsFrom(ordinal: bigint, first: number): Promise<{ block: IndexedBlock; events: ReadEvent[] }>;
  /** Scores and counts of the known wallets, by lower-case address, with a query for each thousand wallets. */
  agents(wallets: readonly string[], at?: ReadAt): Promise<{ block: IndexedBlock; agents: Map<string, IndexedAgent> }>;
  /** Up to `first` (at most 1000) agents after a position in the order of their last change, as they are now. */
  changedAgents(after: AgentPlace, first: number): Promise<{ block: IndexedBlock; agents: IndexedAgent[] }>;
  /** A wallet's days with settlements as seller, from a UTC day (days since 1970) on, oldest first; at most 1000. */
  agentDays(wallet: string, fromDay: number): Promise<{ block: IndexedBlock; days: IndexedAgentDay[] }>;
  /** Days in a span (days since 1970, `to` exclusive) on which agents were paid as sellers, after an id of this order. */
  sellerVolumes(
    days: { from: number; to: number },
    afterId: string,
    first: number,
    block: AtBlock,
  ): Promise<SellerVolume[]>;
  /** The settlements that paid a seller in a span (unix seconds, `to` exclusive) after an earlier settlement, oldest first. */
  paidSettlements(
    seller: string,
    span: { from: number; to: number },
    after: PaidSettlement | undefined,
    first: number,
    block: AtBlock,
  ): Promise<PaidSettlement[]>;
  /** When an escrow first paid its seller, in unix seconds; undefined if none has. */
  firstPaidSettlement(block: AtBlock): Promise<number | undefined>;
  /**
   * Sums of the hours in a span (unix seconds, `to` exclusive, at most 1000 hours) that have ended, for all agents or for
   * a wallet. A wallet's hour has a row for each role in which it did something.
   */
  hourlySums(
    metric: HourlyMetric,
    wallet: string | undefined,
    span: { from: number; to: number },
  ): Promise<{ block: IndexedBlock; rows: HourlySum[] }>;
  /** Counts, score changes and deal values of a wallet. */
  agentHistory(wallet: string, page: HistoryPage): Promise<AgentHistory>;
  /** Up to `first` (at most 1000) disputes opened before a time (unix seconds) that haven't ended, after an escrow id. */
  disputedBefore(
    time: number,
    after: `0x${string}`,
    first: number,
  ): Promise<{ block: IndexedBlock; escrowIds: `0x${string}`[] }>;
  close(): Promise<void>;
}

/** Settings of a subgraph client. */
export interface IndexerOptions {
  network: Network;
  url: string;
  /** Timeout of one attempt in milliseconds; default 5000. */
  timeoutMs?: number;
  /** Attempts per query, including the first; default 3. */
  attempts?: number;
}

const DEFAULT_TIMEOUT_MS = 5_000;
const DEFAULT_ATTEMPTS = 3;
/** Concurrent queries per lane. The client has 32 connections. */
const LANE_QUERIES: Readonly<Record<ReadLane, number>> = { reads: 24, moves: 4 };
/** Maximum number of escrows in one query that several reads share. */
const JOINED_IDS = 100;
/** Sorts after every escrow id. */
const AFTER_EVERY_ESCROW = `0x${"ff".repeat(32)}`;
/** Above the ordinal of every log. */
const AFTER_EVERY_ORDINAL = 2n ** 63n;
/** In a second: the unit of the subgraph's series. */
const MICROSECONDS = 1_000_000n;
/** graph-node returns at most this many entities at once. */
const PAGE_SIZE = 1_000;

function toBlock(meta: z.infer<typeof metaSchema>): IndexedBlock {
  return {
    number: meta.block.number,
    hash: meta.block.hash ?? null,
    parentHash: meta.block.parentHash ?? null,
    timestamp: meta.block.timestamp ?? null,
    hasIndexingErrors: meta.hasIndexingErrors,
  };
}

const lowerCaseIds = (ids: readonly string[]): string[] => [...new Set(ids.map((id) => id.toLowerCase()))];

/** A client of one network's subgraph. */
export function createIndexer(options: IndexerOptions): Indexer {
  const { network } = options;
  const client = createGraphqlClient({
    network,
    url: options.url,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    attempts: options.attempts ?? DEFAULT_ATTEMPTS,
  });

  async function head(): Promise<IndexedBlock> {
    const block = toBlock((await client.query(META_QUERY, { minBlock: 0 }, metaAnswer))._meta);
    watcher.saw(block.number);
    return block;
  }

  const watcher = createHeadWatcher({ network, readHead: async () => (await head()).number });

  async function readEscrows(ids: readonly string[], minBlock: number) {
    const variables = { ids: lowerCaseIds(ids), minBlock, first: PAGE_SIZE };
    const answer = await client.query(ESCROWS_QUERY, variables, escrowsAnswer);
    const block = toBlock(answer._meta);
    watcher.saw(block.number);
    return { block, escrows: new Map(answer.escrows.map((escrow) => [escrow.id, escrow])) };
  }

  const createLane = (lane: ReadLane) =>
    joinReads({ maxRunning: LANE_QUERIES[lane], maxIds: JOINED_IDS, read: readEscrows });
  const lanes = { reads: createLane("reads"), moves: createLane("moves") };

  /** Reads once the subgraph has reached the block. Until the timeout, it reads again if another indexer is behind. */
  async function whenIndexed<T>(
    { minBlock = 0, waitMs = 0, signal }: ReadAt,
    read: (minBlock: number) => Promise<T>,
  ): Promise<T> {
    const giveUpAt = performance.now() + waitMs;
    if (waitMs > 0 && !watcher.hasSeen(minBlock)) await watcher.reached(minBlock, { waitMs, signal });
    for (;;) {
      try {
        return await untilAborted(read(minBlock), signal);
      } catch (error) {
        const leftMs = giveUpAt - performance.now();
        if (!(error instanceof IndexerBehindError) || leftMs <= 0) throw error;
        watcher.sawOnly(error.indexedBlock ?? 0);
        await watcher.reached(minBlock, { waitMs: leftMs, signal });
      }
    }
  }

  return {
    network,

    head,

    escrows: (ids, at = {}) => whenIndexed(at, (minBlock) => lanes[at.lane ?? "reads"](ids, minBlock)),

    async eventsFrom(ordinal, first) {
      const answer = await client.query(EVENTS_QUERY, { from: ordinal.toString(), first }, eventsAnswer);
      return { block: toBlock(answer._meta), events: answer.escrowEvents };
    },

    agents: (wallets, at = {}) => readAgents(client, wallets, (read) => whenIndexed(at, read)),

    async disputedBefore(time, after, first) {
      const variables = { before: time.toString(), after, first };
      const { _meta, escrows } = await client.query(DISPUTED_BEFORE_QUERY, variables, escrowIdsAnswer);
      return { block: toBlock(_meta), escrowIds: escrows.map(({ id }) => id) };
    },

    async changedAgents({ block, id }, first) {
      const variables = { block: block.toString(), id, first };
      const answer = await client.query(CHANGED_AGENTS_QUERY, variables, agentsAnswer);
      return { block: toBlock(answer._meta), agents: answer.agents };
    },

    async agentDays(wallet, fromDay) {
      const variables = { agent: wallet.toLowerCase(), from: fromDay, first: PAGE_SIZE };
      const answer = await client.query(AGENT_DAYS_QUERY, variables, agentDaysAnswer);
      return { block: toBlock(answer._meta), days: answer.agentDays };
    },

    ...feeReads(client),

    async hourlySums(metric, wallet, { from, to }) {
      const span = { from: String(BigInt(from) * MICROSECONDS), to: String(BigInt(to) * MICROSECONDS) };
      const variables = { ...span, ...(wallet === undefined ? {} : { wallet: wallet.toLowerCase() }) };
      const answer = await client.query(hourlyQuery(metric, wallet !== undefined), variables, hourlyAnswer);
      return { block: toBlock(answer._meta), rows: [...answer.one, ...answer.other] };
    },

    agentHistory: (wallet, page) => readHistory(client, wallet, page),

    close: () => client.close(),
  };
}

/** Reads wallets in pages, and reports the oldest block of them. */
async function readAgents(
  client: GraphqlClient,
  wallets: readonly string[],
  whenIndexed: <T>(read: (minBlock: number) => Promise<T>) => Promise<T>,
): ReturnType<Indexer["agents"]> {
  const ids = lowerCaseIds(wallets);
  const pages = Array.from({ length: Math.max(1, Math.ceil(ids.length / PAGE_SIZE)) }, (_, page) =>
    ids.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE),
  );
  const answers = await Promise.all(
    pages.map((page) =>
      whenIndexed((minBlock) => client.query(AGENTS_QUERY, { ids: page, minBlock, first: PAGE_SIZE }, agentsAnswer)),
    ),
  );
  const blocks = answers.map((answer) => toBlock(answer._meta)).sort((a, b) => a.number - b.number);
  const [oldest] = blocks;
  if (oldest === undefined) throw new RangeError("unreachable: at least one page is read");
  return {
    block: oldest,
    agents: new Map(answers.flatMap((answer) => answer.agents).map((agent) => [agent.id, agent])),
  };
}

async function readHistory(
  client: GraphqlClient,
  wallet: string,
  { before = AFTER_EVERY_ORDINAL, first, deals }: HistoryPage,
): Promise<AgentHistory> {
  const id = wallet.toLowerCase();
  const variables = { id, agent: id, before: before.toString(), first, deals };
  const { _meta, agent, scoreChanges, sold, bought } = await client.query(
    AGENT_RECORD_QUERY,
    variables,
    agentRecordAnswer,
  );
  const latest = [...sold, ...bought].sort((one, other) => other.settledAt - one.settledAt).slice(0, deals);
  return {
    block: toBlock(_meta),
    agent,
    changes: scoreChanges,
    dealValuesUsd: latest.map(({ valueUsd }) => valueUsd),
  };
}

/** The reads at a fixed block that statements of rebates rest on. */
function feeReads(client: GraphqlClient): Pick<Indexer, "sellerVolumes" | "paidSettlements" | "firstPaidSettlement"> {
  return {
    async sellerVolumes({ from, to }, afterId, first, { hash }) {
      const variables = { from, to, id: afterId, first, hash };
      return (await client.query(SELLER_VOLUMES_QUERY, variables, sellerVolumesAnswer)).agentDays;
    },

    async paidSettlements(seller, { from, to }, after, first, { hash }) {
      const place =
        after === undefined
          ? { at: String(from - 1), id: AFTER_EVERY_ESCROW }
          : { at: String(after.settledAt), id: after.id };
      const variables = { seller: seller.toLowerCase(), ...place, to: String(to), first, hash };
      return (await client.query(PAID_SETTLEMENTS_QUERY, variables, paidSettlementsAnswer)).escrows;
    },

    async firstPaidSettlement({ hash }) {
      const answer = await client.query(FIRST_PAID_QUERY, { hash }, firstPaidAnswer);
      return answer.escrows[0]?.settledAt;
    },
  };
}
