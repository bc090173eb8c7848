import { setTimeout as sleep } from "node:timers/promises";

import type { z } from "zod";

import type { Network } from "../config/constants.ts";
import { IndexerBehindError } from "./errors.ts";
import { createGraphqlClient } from "./graphql-client.ts";
import { AGENTS_QUERY, ESCROWS_QUERY, EVENTS_QUERY, META_QUERY } from "./queries.ts";
import { agentsAnswer, escrowsAnswer, eventsAnswer, metaAnswer } from "./schemas.ts";
import type { IndexedAgent, IndexedEscrow, IndexedEventWithEscrow, metaSchema } from "./schemas.ts";

/** The block that an answer of the subgraph was read at. `timestamp` in unix seconds. */
export interface IndexedBlock {
  number: number;
  /** Null when the subgraph does not say it for this kind of query. */
  hash: `0x${string}` | null;
  parentHash: `0x${string}` | null;
  timestamp: number | null;
  /** True once a handler has failed; the subgraph then stands still. */
  hasIndexingErrors: boolean;
}

/** The first block that an answer has to include; the latest indexed one when left out. */
export interface ReadAt {
  minBlock?: number;
  /** How long to wait for the subgraph to reach `minBlock`, in milliseconds; default 0. */
  waitMs?: number;
}

/** Reads of one network's subgraph, bounded in time and retries. */
export interface Indexer {
  readonly network: Network;
  /** How far the subgraph is. */
  head(): Promise<IndexedBlock>;
  /** Waits until the subgraph has passed a block. Throws IndexerBehindError when it has not in time. */
  waitForBlock(blockNumber: number, waitMs: number): Promise<IndexedBlock>;
  /** Escrows by lower-case id, those that exist, in one query however many are asked for. */
  escrows(ids: readonly string[], at?: ReadAt): Promise<{ block: IndexedBlock; escrows: Map<string, IndexedEscrow> }>;
  /** Up to `first` (at most 1000) events from an ordinal on, in chain order. */
  eventsFrom(ordinal: bigint, first: number): Promise<{ block: IndexedBlock; events: IndexedEventWithEscrow[] }>;
  /** Scores and counts by lower-case wallet address, those that are known, in one query a thousand wallets. */
  agents(wallets: readonly string[], at?: ReadAt): Promise<{ block: IndexedBlock; agents: Map<string, IndexedAgent> }>;
  close(): Promise<void>;
}

/** Settings of a subgraph client. */
export interface IndexerOptions {
  network: Network;
  url: string;
  /** Milliseconds after which one attempt is given up; default 5000. */
  timeoutMs?: number;
  /** Attempts of one query, the first included; default 3. */
  attempts?: number;
}

const DEFAULT_TIMEOUT_MS = 5_000;
const DEFAULT_ATTEMPTS = 3;
/** Pause between two questions whether a block is indexed. */
const WAIT_POLL_MS = 25;
const WAIT_POLL_MAX_MS = 250;
/** graph-node gives at most this many entities at once. */
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

  /** Repeats a reading while the subgraph says that it has not reached the block, until the time allowed is over. */
  async function whenIndexed<T>(waitMs: number, read: () => Promise<T>): Promise<T> {
    const giveUpAt = performance.now() + waitMs;
    let pauseMs = WAIT_POLL_MS;
    for (;;) {
      try {
        return await read();
      } catch (error) {
        const leftMs = giveUpAt - performance.now();
        if (!(error instanceof IndexerBehindError) || leftMs <= 0) throw error;
        await sleep(Math.min(pauseMs, leftMs));
        pauseMs = Math.min(pauseMs * 1.5, WAIT_POLL_MAX_MS);
      }
    }
  }

  return {
    network,

    async head() {
      return toBlock((await client.query(META_QUERY, { minBlock: 0 }, metaAnswer))._meta);
    },

    async waitForBlock(blockNumber, waitMs) {
      const answer = await whenIndexed(waitMs, () => client.query(META_QUERY, { minBlock: blockNumber }, metaAnswer));
      return toBlock(answer._meta);
    },

    async escrows(ids, { minBlock = 0, waitMs = 0 } = {}) {
      const answer = await whenIndexed(waitMs, () =>
        client.query(ESCROWS_QUERY, { ids: lowerCaseIds(ids), minBlock, first: PAGE_SIZE }, escrowsAnswer),
      );
      return {
        block: toBlock(answer._meta),
        escrows: new Map(answer.escrows.map((escrow) => [escrow.id, escrow])),
      };
    },

    async eventsFrom(ordinal, first) {
      const answer = await client.query(EVENTS_QUERY, { from: ordinal.toString(), first }, eventsAnswer);
      return { block: toBlock(answer._meta), events: answer.escrowEvents };
    },

    async agents(wallets, { minBlock = 0, waitMs = 0 } = {}) {
      const ids = lowerCaseIds(wallets);
      const pages = Array.from({ length: Math.max(1, Math.ceil(ids.length / PAGE_SIZE)) }, (_, page) =>
        ids.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE),
      );
      const answers = await Promise.all(
        pages.map((page) =>
          whenIndexed(waitMs, () =>
            client.query(AGENTS_QUERY, { ids: page, minBlock, first: PAGE_SIZE }, agentsAnswer),
          ),
        ),
      );
      const blocks = answers.map((answer) => toBlock(answer._meta)).sort((a, b) => a.number - b.number);
      const [oldest] = blocks;
      if (oldest === undefined) throw new RangeError("unreachable: at least one page is read");
      return {
        block: oldest,
        agents: new Map(answers.flatMap((answer) => answer.agents).map((agent) => [agent.id, agent])),
      };
    },

    close: () => client.close(),
  };
}
