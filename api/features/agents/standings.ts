import type { ClientSession } from "mongoose";

import { NETWORKS, TESTNET } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { IndexedAgent } from "../../indexer/schemas.ts";
import type { Clock } from "../../lib/clock.ts";
import type { AgentModels, StandingRecord } from "./model.ts";
import { rankingTrustOf } from "./score.ts";

/** Copies of what the subgraphs say about wallets, read by ranking, filters, registry and discovery score. */
export interface Standings {
  /** Reads wallets from a network's subgraph and stores what it says. Called after each settlement. */
  sync(network: Network, wallets: readonly string[]): Promise<void>;
  /** Copies by lower-case wallet. A wallet that was never copied is missing and counts as score 0. */
  of(network: Network, wallets: readonly string[]): Promise<Map<string, StandingRecord>>;
}

/** Writes copies. */
export interface StandingCopies {
  /**
   * Stores what the subgraph says about wallets at a block. A wallet that it doesn't know has settled nothing. A copy
   * that was read at a later block stays, except with `overNewer`: after a reorganisation the later block is gone.
   * @param agents by lower-case wallet
   */
  write(
    network: Network,
    wallets: readonly string[],
    agents: ReadonlyMap<string, IndexedAgent>,
    indexedBlock: number,
    options?: { overNewer?: boolean },
  ): Promise<void>;
  /**
   * Gives a new agent the testnet score that its wallet has already, within the transaction of its registration.
   * @param wallet lower case
   */
  adopt(agentId: string, wallet: string, session: ClientSession): Promise<void>;
}

/** Takes scores as soon as they are stored. */
export type ScoreListener = (
  scores: readonly Pick<StandingRecord, "network" | "walletKey" | "score" | "indexedBlock">[],
  options: { overNewer: boolean },
) => Promise<void>;

/** How sellers answer the orders of checkouts, by lower-case wallet; a wallet without declines may be missing. */
export type DeclinesOf = (
  network: Network,
  wallets: readonly string[],
) => Promise<ReadonlyMap<string, { earlyDeclines: number; earlyDeclineShare: number }>>;

/** Dependencies of the standings. Scores are read in bulk from the subgraphs. */
export interface StandingsDeps {
  models: Pick<AgentModels, "agents" | "standings">;
  indexers: Readonly<Record<Network, Pick<Indexer, "agents">>>;
  clock: Clock;
  /** Reads sellers' declines from this service's own records. */
  declinesOf: DeclinesOf;
  onScores: ScoreListener;
}

/** Standings stored in the database and filled from the subgraphs. */
export function createStandings(deps: StandingsDeps): Standings & StandingCopies {
  const { models, indexers, clock, onScores } = deps;
  const { standings } = models;

  const write: StandingCopies["write"] = async (network, wallets, agents, indexedBlock, { overNewer = false } = {}) => {
    if (wallets.length === 0) return;
    const syncedAt = clock.now();
    const walletKeys = [...new Set(wallets.map((wallet) => wallet.toLowerCase()))];
    const declines = await deps.declinesOf(network, walletKeys);
    const copies = walletKeys.map((walletKey): StandingRecord => {
      const earlyDeclineShare = declines.get(walletKey)?.earlyDeclineShare ?? 0;
      const history = { ...copyOf(network, walletKey, agents.get(walletKey)), earlyDeclineShare };
      return { ...history, trust: rankingTrustOf(history), indexedBlock, syncedAt };
    });
    // Before the copies: if the process dies between the two, the sync repeats both.
    if (network === TESTNET) await writeScores(copies, overNewer);
    await standings.bulkWrite(
      copies.map((copy) => {
        const replacement = overNewer ? { $literal: copy } : unlessNewer(copy);
        return { updateOne: { filter: { _id: copy._id }, update: [{ $replaceWith: replacement }], upsert: true } };
      }),
      { ordered: false },
    );
    await onScores(copies, { overNewer });
  };

  async function writeScores(copies: readonly StandingRecord[], overNewer: boolean): Promise<void> {
    await models.agents.bulkWrite(
      copies.map(({ walletKey, score, indexedBlock }) => ({
        updateOne: {
          filter: { walletKey, ...(overNewer ? {} : { testnetScoreBlock: { $lte: indexedBlock } }) },
          update: { $set: { testnetScore: score, testnetScoreBlock: indexedBlock } },
        },
      })),
      { ordered: false },
    );
  }

  return {
    write,
    async adopt(agentId, wallet, session) {
      const copy = await standings.findById(idOf(TESTNET, wallet), null, { session }).lean();
      if (copy === null) return;
      const { score, indexedBlock } = copy;
      await models.agents.updateOne(
        { _id: agentId },
        { testnetScore: score, testnetScoreBlock: indexedBlock },
        { session },
      );
    },
    async sync(network, wallets) {
      if (wallets.length === 0) return;
      const { block, agents } = await indexers[network].agents(wallets);
      await write(network, wallets, agents, block.number);
    },
    async of(network, wallets) {
      if (wallets.length === 0) return new Map();
      const ids = wallets.map((wallet) => idOf(network, wallet));
      const found = await standings.find({ _id: { $in: ids } }).lean();
      return new Map(found.map((standing) => [standing.walletKey, standing]));
    },
  };
}

function idOf(network: Network, wallet: string): string {
  return `${network}:${wallet.toLowerCase()}`;
}

/** The wallets on a network among the ids of standings. */
export function walletsOn(network: Network, standingIds: readonly string[]): string[] {
  const prefix = idOf(network, "");
  return standingIds.flatMap((id) => (id.startsWith(prefix) ? [id.slice(prefix.length)] : []));
}

function copyOf(
  network: Network,
  walletKey: string,
  agent: IndexedAgent | undefined,
): Omit<StandingRecord, "earlyDeclineShare" | "trust" | "indexedBlock" | "syncedAt"> {
  return {
    _id: idOf(network, walletKey),
    network,
    walletKey,
    score: Number(agent?.score ?? 0n),
    distinctCounterparties: agent?.distinctCounterparties ?? 0,
    topCounterpartyCount: agent?.topCounterpartyCount ?? 0,
    settledCount: agent?.settledCount ?? 0,
    released: agent?.released ?? 0,
    lateDeclines: agent?.lateDeclines ?? 0,
  };
}

/** Keeps the stored copy if it was read at a later block than this one: two processes may sync at the same time. */
function unlessNewer(copy: StandingRecord) {
  const isNewer = { $gt: [{ $ifNull: ["$indexedBlock", -1] }, copy.indexedBlock] };
  return { $cond: [isNewer, "$$ROOT", { $literal: copy }] };
}

/** A wallet's copied scores on both networks. */
export async function scoresOf(standings: Pick<Standings, "of">, wallet: string): Promise<Record<Network, number>> {
  const found = await Promise.all(
    NETWORKS.map(async (network) => {
      const { score } = (await standings.of(network, [wallet])).get(wallet.toLowerCase()) ?? NEW_STANDING;
      return [network, score] as const;
    }),
  );
  return Object.fromEntries(found) as Record<Network, number>;
}

/** The standing of a wallet that has never settled anything. */
export const NEW_STANDING = {
  score: 0,
  distinctCounterparties: 0,
  topCounterpartyCount: 0,
  settledCount: 0,
  released: 0,
  lateDeclines: 0,
  earlyDeclineShare: 0,
} as const;
