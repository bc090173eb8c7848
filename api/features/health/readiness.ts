import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import type { Network } from "../../config/constants.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import { Kept } from "../../lib/kept.ts";
import type { Logger } from "../../lib/logger.ts";
import type { OutboxState } from "../outbox/state.ts";
import type { EncoderState } from "../../search/embedding/encoders.ts";
import { probe } from "./probe.ts";
import type { Probe } from "./probe.ts";

/** How far the copies of a network are behind its chain; null where that isn't known. */
export interface FollowerState {
  block: number | null;
  lagBlocks: number | null;
  lagSeconds: number | null;
  /** Escrows whose moves wait because one of them couldn't be applied, counted up to a bound. */
  quarantined: number | null;
}

/** Overdue rulings, and rulings that can't be put on chain. */
export interface DisputeDelays {
  /** Disputes whose ruling is overdue, counted up to a bound. */
  overdue: number;
  /** How long ago the evidence period of the oldest one ended. */
  oldestSeconds: number | null;
  /** Rulings that can't be put on chain now, by problem. */
  held: Readonly<Record<string, number>>;
}

/** Moves that the keeper makes. */
export interface KeeperState {
  /** Whether this service has a key for them. */
  enabled: boolean;
  /** Moves that aren't on chain. */
  waiting: number;
  /** How long ago the oldest of them was found. */
  oldestSeconds: number | null;
  /** Those that can't be put on chain now, by problem. */
  held: Readonly<Record<string, number>>;
  /** Cost of this UTC day's transactions, including reservations for those in flight, and its daily cap, in wei. */
  spentTodayWei: string;
  dailyCapWei: string;
}

/** The state of one network. */
export interface NetworkState {
  /** Whether its chain and its subgraph can be read. */
  ok: boolean;
  rpc: Probe<{ headBlock: number; headTimestamp: number }>;
  subgraph: Probe<{ indexedBlock: number; blocksBehind: number | null }>;
  follower: FollowerState;
  /** Rulings that should be on chain and aren't; null where that isn't known. */
  disputes: DisputeDelays | null;
  keeper: KeeperState | null;
}

/** The state of the service. */
export interface Readiness {
  database: Probe<object>;
  search: Probe<{ listings: number }>;
  /** How texts are embedded; null while the database is unavailable. */
  encoder: EncoderState | null;
  networks: Readonly<Record<Network, NetworkState>>;
  /** Null while the database is unavailable. */
  outbox: { waiting: number; oldestSeconds: number | null } | null;
}

/** Sources of the readiness checks. */
export interface ReadinessSources {
  connection: Connection;
  chains: Readonly<Record<Network, Pick<ChainClient, "head" | "block">>>;
  indexers: Readonly<Record<Network, Pick<Indexer, "head">>>;
  /** How many listings can be found, and for how long the index hasn't followed the changes. */
  search: { listings(): Promise<number>; lagMs(): Promise<number> };
  encoders: { state(): Promise<EncoderState> };
  /** For each network, the last block whose events have been applied. */
  reached: () => Promise<ReadonlyMap<Network, number>>;
  quarantined: (network: Network) => Promise<number>;
  disputeDelays: (network: Network) => Promise<DisputeDelays>;
  keeper: (network: Network) => Promise<KeeperState>;
  outbox: () => Promise<OutboxState>;
  now: () => Date;
  /** Milliseconds of a monotonic clock. */
  elapsedMs?: () => number;
  log: Logger;
}

/** The longest that a change may take to be found. */
const MAX_SEARCH_LAG_MS = 60_000;
/** How long an answer is shared. Under any load, a process checks at most once a second. */
const MAX_AGE_MS = 1_000;

/** Checks everything that the service depends on. */
export function createReadiness(sources: ReadinessSources): () => Promise<Readiness> {
  const { connection, chains, indexers, search, log, elapsedMs = () => performance.now() } = sources;

  async function readNetwork(network: Network, reached: Promise<number | undefined>): Promise<NetworkState> {
    const rpc = probe(`rpc:${network}`, log, async () => {
      const { number, timestamp } = await chains[network].head();
      return { headBlock: number, headTimestamp: timestamp };
    });
    const subgraph = probe(`subgraph:${network}`, log, async () => {
      const { number, hasIndexingErrors } = await indexers[network].head();
      if (hasIndexingErrors) throw new Error(`The subgraph of ${network} has stopped with an indexing error`);
      const head = (await rpc).facts?.headBlock;
      return { indexedBlock: number, blocksBehind: head === undefined ? null : Math.max(0, head - number) };
    });
    const follower = readFollower(network, await reached, (await rpc).facts);
    const disputes = probe(`disputes:${network}`, log, () => sources.disputeDelays(network));
    const keeper = probe(`keeper:${network}`, log, () => sources.keeper(network));
    const state = {
      rpc: await rpc,
      subgraph: await subgraph,
      follower: await follower,
      disputes: (await disputes).facts ?? null,
      keeper: (await keeper).facts ?? null,
    };
    return { ok: state.rpc.ok && state.subgraph.ok, ...state };
  }

  async function readFollower(
    network: Network,
    block: number | undefined,
    chain: { headBlock: number; headTimestamp: number } | undefined,
  ): Promise<FollowerState> {
    const { facts: quarantined = null } = await probe(`quarantine:${network}`, log, () => sources.quarantined(network));
    if (block === undefined || chain === undefined) {
      return { block: block ?? null, lagBlocks: null, lagSeconds: null, quarantined };
    }
    const lagBlocks = Math.max(0, chain.headBlock - block);
    if (lagBlocks === 0) return { block, lagBlocks, lagSeconds: 0, quarantined };
    const { facts } = await probe(`follower:${network}`, log, () => chains[network].block(block));
    const lagSeconds = facts === undefined || facts === null ? null : chain.headTimestamp - facts.timestamp;
    return { block, lagBlocks, lagSeconds, quarantined };
  }

  async function look(): Promise<Readiness> {
    const reached = probe("follower", log, () => sources.reached());
    const reachedOn = async (network: Network) => (await reached).facts?.get(network);
    const [database, index, encoder, outbox, testnet, mainnet] = await Promise.all([
      probe("mongodb", log, () => connection.getClient().db("admin").command({ ping: 1 })),
      probe("search", log, async () => {
        const lagMs = await search.lagMs();
        if (lagMs > MAX_SEARCH_LAG_MS) throw new Error(`The search index is ${Math.round(lagMs / 1_000)} s behind`);
        return { listings: await search.listings() };
      }),
      probe("encoder", log, () => sources.encoders.state()),
      probe("outbox", log, async () => {
        const { waiting, oldestDueAt } = await sources.outbox();
        const ageMs = oldestDueAt === null ? null : sources.now().getTime() - oldestDueAt.getTime();
        return { waiting, oldestSeconds: ageMs === null ? null : Math.max(0, Math.floor(ageMs / 1_000)) };
      }),
      readNetwork("base-sepolia", reachedOn("base-sepolia")),
      readNetwork("base", reachedOn("base")),
    ]);
    const networks = { "base-sepolia": testnet, base: mainnet };
    return { database, search: index, encoder: encoder.facts ?? null, networks, outbox: outbox.facts ?? null };
  }

  const kept = new Kept(look, MAX_AGE_MS, elapsedMs);
  return () => kept.get();
}
