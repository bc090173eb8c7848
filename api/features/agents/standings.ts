import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { IndexedAgent } from "../../indexer/schemas.ts";
import type { Clock } from "../../lib/clock.ts";
import type { AgentModels, StandingRecord } from "./model.ts";

/** Copies of what the subgraphs say of wallets: what ranking, filters and the discovery score read. */
export interface Standings {
  /**
   * Reads wallets from a network's subgraph and stores what it says. Called after each settlement, and from time to time
   * for everybody. A copy is never replaced by an older one.
   */
  sync(network: Network, wallets: readonly string[]): Promise<void>;
  /** Copies by lower-case wallet; wallets that were never copied are missing and count as score 0. */
  of(network: Network, wallets: readonly string[]): Promise<Map<string, StandingRecord>>;
}

/** What the standings need: the subgraphs are where scores are read in bulk. */
export interface StandingsDeps {
  models: Pick<AgentModels, "standings">;
  indexers: Readonly<Record<Network, Pick<Indexer, "agents">>>;
  clock: Clock;
}

/** The standings of the database, filled from the subgraphs. */
export function createStandings({ models: { standings }, indexers, clock }: StandingsDeps): Standings {
  return {
    async sync(network, wallets) {
      if (wallets.length === 0) return;
      const { block, agents } = await indexers[network].agents(wallets);
      const syncedAt = clock.now();
      const copies = [...new Set(wallets.map((wallet) => wallet.toLowerCase()))].map((walletKey) =>
        copyOf(network, walletKey, agents.get(walletKey), block.number, syncedAt),
      );
      await standings.bulkWrite(
        copies.map((copy) => ({
          updateOne: { filter: { _id: copy._id }, update: [{ $replaceWith: unlessNewer(copy) }], upsert: true },
        })),
        { ordered: false },
      );
    },
    async of(network, wallets) {
      const ids = wallets.map((wallet) => idOf(network, wallet));
      const found = await standings.find({ _id: { $in: ids } }).lean();
      return new Map(found.map((standing) => [standing.walletKey, standing]));
    },
  };
}

function idOf(network: Network, wallet: string): string {
  return `${network}:${wallet.toLowerCase()}`;
}

function copyOf(
  network: Network,
  walletKey: string,
  agent: IndexedAgent | undefined,
  indexedBlock: number,
  syncedAt: Date,
): StandingRecord {
  return {
    _id: idOf(network, walletKey),
    network,
    walletKey,
    score: Number(agent?.score ?? 0n),
    distinctCounterparties: agent?.distinctCounterparties ?? 0,
    topCounterpartyCount: agent?.topCounterpartyCount ?? 0,
    settledCount: agent?.settledCount ?? 0,
    indexedBlock,
    syncedAt,
  };
}

/** Keeps the stored copy when it was read at a later block than this one: two processes may sync at the same time. */
function unlessNewer(copy: StandingRecord) {
  const isNewer = { $gt: [{ $ifNull: ["$indexedBlock", -1] }, copy.indexedBlock] };
  return { $cond: [isNewer, "$$ROOT", { $literal: copy }] };
}

const SYNC_PAGE = 1_000;

/**
 * Syncs every registered wallet on both networks: what the settlement events may have missed. A network whose subgraph
 * fails is left until the next run, which does not keep the other one from being synced.
 * @throws AggregateError of what failed, after everything else is done
 */
export async function syncEveryStanding(
  { agents }: Pick<AgentModels, "agents">,
  standings: Standings,
  signal: AbortSignal,
): Promise<void> {
  const failures = new Map<Network, unknown>();
  let after = "";
  for (;;) {
    const page = await agents
      .find({ walletKey: { $gt: after } }, { walletKey: 1 })
      .sort({ walletKey: 1 })
      .limit(SYNC_PAGE)
      .lean();
    const wallets = page.map(({ walletKey }) => walletKey);
    const last = wallets.at(-1);
    if (last === undefined || signal.aborted) break;
    for (const network of NETWORKS.filter((candidate) => !failures.has(candidate))) {
      try {
        await standings.sync(network, wallets);
      } catch (error) {
        failures.set(network, error);
      }
    }
    if (failures.size === NETWORKS.length) break;
    after = last;
  }
  if (failures.size > 0) {
    throw new AggregateError(failures.values(), `Standings were not synced on ${[...failures.keys()].join(", ")}`);
  }
}

/** The standing of a wallet that has never settled anything. */
export const NEW_STANDING = { score: 0, distinctCounterparties: 0, topCounterpartyCount: 0, settledCount: 0 } as const;
