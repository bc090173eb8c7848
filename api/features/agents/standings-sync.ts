import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { StoredState } from "../../db/stored-state.ts";
import { AFTER_EVERY_WALLET } from "../../indexer/indexer-client.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { AgentModels } from "./model.ts";
import type { StandingCopies } from "./standings.ts";

/** A block that the standings sync has reached. */
interface Checkpoint {
  number: number;
  hash: `0x${string}`;
}

/** How far the standings sync has come on a network. */
interface StandingCursor {
  /** Blocks up to which every change has been copied, newest first. */
  checkpoints: Checkpoint[];
  /** The pass in progress: the head when it started and the last agent copied. Null between passes. */
  pass: { head: Checkpoint; after: { block: number; id: string } } | null;
}

/** The stored cursor of each network. */
export type StandingCursors = Readonly<Record<Network, StoredState<StandingCursor>>>;

/** The cursors on a connection. */
export function standingCursors(connection: Connection): StandingCursors {
  return {
    "base-sepolia": new StoredState(connection, "standings:base-sepolia"),
    base: new StoredState(connection, "standings:base"),
  };
}

/** A cursor as it was read or written last. */
type Cursor = StandingCursor & { network: Network; version: number };

/** Dependencies of the standings sync. */
export interface StandingsSyncDeps {
  models: Pick<AgentModels, "standings">;
  cursors: StandingCursors;
  copies: StandingCopies;
  indexers: Readonly<Record<Network, Pick<Indexer, "head" | "agents" | "changedAgents">>>;
  /** Used to check which checkpoints are still on chain. */
  chains: Readonly<Record<Network, Pick<ChainClient, "block">>>;
}

/** Copies what changed on chain since the last run, on every network. */
export type SyncStandings = (signal: AbortSignal) => Promise<void>;

/** Agents per query (graph-node's maximum) and queries per run. A long backlog takes several runs. */
const PAGE_SIZE = 1_000;
const MAX_PAGES = 100;
/** Heads of earlier runs. After a reorganisation the sync goes back to the newest one that is still on chain. */
const CHECKPOINTS_KEPT = 50;
const BEFORE_ALL: Checkpoint = { number: -1, hash: "0x" };

/** Another process has written the cursor in the meantime and continues from there. */
class CursorMovedError extends Error {
  override readonly name = "CursorMovedError";
}

/**
 * The standings sync catches what the settlement events missed. It reads the agents that changed since the last run,
 * page by page, and keeps its place in the database. If it is killed, the next run continues.
 */
export function createStandingsSync({ models, cursors, copies, indexers, chains }: StandingsSyncDeps): SyncStandings {
  const { standings } = models;

  async function loadCursor(network: Network): Promise<Cursor> {
    const { value, version } = await cursors[network].read();
    return { checkpoints: [], pass: null, ...value, network, version };
  }

  async function writeCursor({ network, version, checkpoints, pass }: Cursor): Promise<Cursor> {
    if (!(await cursors[network].write({ checkpoints, pass }, version))) throw new CursorMovedError();
    return { network, version: version + 1, checkpoints, pass };
  }

  async function isOnChain(network: Network, { number, hash }: Checkpoint): Promise<boolean> {
    return (await chains[network].block(number))?.hash === hash;
  }

  /** The checkpoints that are still on chain. If one is, so are all earlier ones. */
  async function survivorsOf(network: Network, checkpoints: readonly Checkpoint[]): Promise<Checkpoint[]> {
    for (const [index, checkpoint] of checkpoints.entries()) {
      if (await isOnChain(network, checkpoint)) return checkpoints.slice(index);
    }
    return [];
  }

  /** Copies again each wallet whose copy was read above a block, as the subgraph has it now. */
  async function copyAgainAbove(network: Network, blockNumber: number): Promise<void> {
    // The ids of a network are `<network>:<wallet>`.
    let after = `${network}:`;
    const end = `${network};`;
    for (;;) {
      const page = await standings
        .find({ _id: { $gt: after, $lt: end }, indexedBlock: { $gt: blockNumber } }, { walletKey: 1 })
        .sort({ _id: 1 })
        .limit(PAGE_SIZE)
        .lean();
      const last = page.at(-1);
      if (last === undefined) return;
      const wallets = page.map(({ walletKey }) => walletKey);
      const { block, agents } = await indexers[network].agents(wallets);
      await copies.write(network, wallets, agents, block.number, { overNewer: true });
      after = last._id;
    }
  }

  /** Where this run starts: where the last one was interrupted, or a new pass from the last checkpoint. */
  async function begin(cursor: Cursor): Promise<Cursor> {
    const { network } = cursor;
    const heads = [...(cursor.pass === null ? [] : [cursor.pass.head]), ...cursor.checkpoints];
    const survivors = await survivorsOf(network, heads);
    if (cursor.pass !== null && survivors.length === heads.length) return cursor;
    const base = survivors[0] ?? BEFORE_ALL;
    if (survivors.length < heads.length) await copyAgainAbove(network, base.number);
    const { number, hash } = await indexers[network].head();
    if (hash === null) throw new RangeError(`The subgraph of ${network} reports its head without a hash`);
    if (hash === base.hash) {
      return survivors.length === heads.length
        ? cursor
        : writeCursor({ ...cursor, checkpoints: survivors, pass: null });
    }
    const pass = { head: { number, hash }, after: { block: base.number, id: AFTER_EVERY_WALLET } };
    return writeCursor({ ...cursor, checkpoints: survivors, pass });
  }

  async function syncNetwork(network: Network, signal: AbortSignal): Promise<void> {
    let cursor = await begin(await loadCursor(network));
    for (let page = 0; page < MAX_PAGES && cursor.pass !== null && !signal.aborted; page += 1) {
      const { head, after } = cursor.pass;
      const { block, agents } = await indexers[network].changedAgents(after, PAGE_SIZE);
      const byWallet = new Map(agents.map((agent) => [agent.id as string, agent]));
      await copies.write(network, [...byWallet.keys()], byWallet, block.number);
      const last = agents.at(-1);
      const isLastPage = last === undefined || agents.length < PAGE_SIZE;
      cursor = await writeCursor(
        isLastPage
          ? { ...cursor, checkpoints: [head, ...cursor.checkpoints].slice(0, CHECKPOINTS_KEPT), pass: null }
          : { ...cursor, pass: { head, after: { block: last.updatedBlock, id: last.id } } },
      );
    }
  }

  /**
   * If a network's chain or subgraph fails, that network waits for the next run. The others are synced.
   * @throws AggregateError of all failures, after the other networks are done
   */
  return async (signal) => {
    const failures = new Map<Network, unknown>();
    for (const network of NETWORKS) {
      try {
        await syncNetwork(network, signal);
      } catch (error) {
        if (!(error instanceof CursorMovedError)) failures.set(network, error);
      }
    }
    if (failures.size > 0) {
      throw new AggregateError(failures.values(), `Standings were not synced on ${[...failures.keys()].join(", ")}`);
    }
  };
}
