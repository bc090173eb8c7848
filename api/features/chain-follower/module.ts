import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { Changes } from "../../jobs/change-loop.ts";
import { Lease, leaseModel } from "../../jobs/lease.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { defineFeature } from "../feature.ts";
import { createMandateLedger } from "../mandates/ledger.ts";
import { expireCounted, expireQuotes } from "../transactions/expiry.ts";
import type { TransactionModel } from "../transactions/model.ts";
import type { ChainProgress, DisputeFollower, EndpointDirectory, WalletDirectory } from "../transactions/ports.ts";
import { Applier } from "./applier.ts";
import { Follower } from "./follower.ts";
import { followerModels } from "./model.ts";
import { chainNewcomers } from "./late-registration.ts";
import type { Newcomers } from "./late-registration.ts";
import { createChainProgress } from "./progress.ts";
import { chainPushRoutes } from "./push-route.ts";
import type { ChainPushDeps } from "./push-route.ts";
import { quarantineControl } from "./quarantine-control.ts";
import type { QuarantineControl } from "./quarantine-control.ts";
import { quarantineRoutes } from "./quarantine-routes.ts";
import type { QuarantineDeps } from "./quarantine-routes.ts";
import { recheckQueue } from "./recheck-queue.ts";
import type { RecheckQueue } from "./recheck-queue.ts";
import { WakeSignals } from "./wake-signals.ts";

export type { QuarantineRecord as QuarantinedEscrow } from "./model.ts";
export type { QuarantineControl } from "./quarantine-control.ts";

/** Durations for the background work. Tests shorten them. */
export interface FollowerTimings {
  /** Pause between reads of the subgraph while moves come, in milliseconds. */
  followerPollMs: number;
  /** How long a follower remains the leader after it dies, in milliseconds. */
  leaseMs: number;
  /** Minimum pause between searches for checkouts that nobody funded, in milliseconds. */
  expiryEveryMs: number;
}

const FOLLOWER_TIMINGS: FollowerTimings = {
  followerPollMs: 100,
  leaseMs: 5_000,
  expiryEveryMs: 5_000,
};

/** Dependencies of the chain follower. */
export interface ChainFollowerModuleDeps {
  connection: Connection;
  changes: Pick<Changes, "on">;
  chains: Readonly<Record<Network, ChainClient>>;
  indexers: Readonly<Record<Network, Indexer>>;
  clock: Clock;
  /** Signs what RPC providers push, INTERNAL_WEBHOOK_SECRET; undefined if there is none. */
  pushSecret: string | undefined;
  log: Logger;
  now: () => Date;
  /** Names this process in leases. */
  processId: string;
  transactions: TransactionModel;
  recorder: EventRecorder;
  wallets: WalletDirectory;
  endpoints: EndpointDirectory;
  disputes: DisputeFollower;
  /** Called when deals of these wallets have settled. */
  onSettled: (network: Network, wallets: readonly string[]) => Promise<void>;
  /** Called after something is put into the outbox. */
  onAnnounced: () => void;
  timings: FollowerTimings;
  /** How many blocks must follow a move's block before it is announced. */
  confirmations: Readonly<Record<Network, number>>;
}

/** How far the follower has come. It exists before the follower, because transactions need it. */
export function chainProgress(connection: Connection): ChainProgress {
  return createChainProgress(followerModels(connection));
}

/** Where registrations record wallets, so that the follower gives them their earlier escrows. */
export function newcomersOf(connection: Connection): Newcomers {
  return chainNewcomers(connection);
}

/** The quarantine as used by the operator's command. */
export function quarantineOf(connection: Connection): QuarantineControl {
  return quarantineControl(connection);
}

/** Has the follower read escrows again. */
export function recheckQueueOf(connection: Connection): RecheckQueue {
  return recheckQueue(connection);
}

const QUARANTINED_COUNTED = 1_000;

/** Follows the events of the chains into copies, events and outbox. */
export const chainFollowerModule = defineFeature({
  routes: [...chainPushRoutes, ...quarantineRoutes],
  timings: FOLLOWER_TIMINGS,
  create({ connection, chains, indexers, log, now, timings, transactions, ...options }: ChainFollowerModuleDeps) {
    const models = followerModels(connection);
    const leases = leaseModel(connection);
    const ledger = createMandateLedger(connection);

    function createNetworkFollower(network: Network): Follower {
      let expiredAt = 0;
      const chain = chains[network];
      const applier = new Applier({
        network,
        connection,
        transactions,
        models,
        now,
        chainId: chain.chainId,
        escrowContract: chain.deployment.escrow,
        recorder: options.recorder,
        wallets: options.wallets,
        endpoints: options.endpoints,
        disputes: options.disputes,
      });
      return new Follower({
        network,
        transactions,
        models,
        applier,
        log,
        now,
        indexer: indexers[network],
        chainHeight: async () => (await chain.head()).number,
        lease: new Lease({ leases, name: `follower:${network}`, owner: options.processId, ttlMs: timings.leaseMs }),
        pollMs: timings.followerPollMs,
        confirmations: options.confirmations[network],
        onStep: async ({ appliedTime, applied, withdrawn, settledWallets, hasMore }) => {
          if (applied + withdrawn > 0) options.onAnnounced();
          if (settledWallets.length > 0) {
            // Standings are only copies, and a job of the agents feature syncs them again.
            await options.onSettled(network, settledWallets).catch((error: unknown) => {
              log.warn({ err: error, network }, "couldn't sync standings");
            });
          }
          // Until the last page has been read, a checkout's funding may still be among the waiting events.
          if (hasMore || appliedTime === null || performance.now() - expiredAt < timings.expiryEveryMs) return;
          expiredAt = performance.now();
          await expireQuotes(transactions, network, appliedTime, now());
          await expireCounted({ connection, transactions, ledger }, network, appliedTime, now());
        },
      });
    }

    const wakes = new WakeSignals(connection);
    const followers = { "base-sepolia": createNetworkFollower("base-sepolia"), base: createNetworkFollower("base") };
    wakes.listen(options.changes, (network) => {
      followers[network].wake();
    });
    const wakeForUpkeep = () => {
      for (const network of NETWORKS) followers[network].wakeForUpkeep();
    };
    options.changes.on(models.newcomers, wakeForUpkeep);
    options.changes.on(models.quarantine, wakeForUpkeep);
    /** Wakes the followers of these networks in any process of the service. */
    const wake = (networks: readonly Network[]): Promise<void> => wakes.wake(networks);
    const services: ChainPushDeps & QuarantineDeps = {
      chainPush: { secret: options.pushSecret, clock: options.clock, wake },
      quarantine: quarantineControl(connection),
    };
    return {
      services,
      loops: NETWORKS.map((network) => followers[network]),
      models,
      /** Escrows of a network whose moves wait for an operator, counted up to a bound. */
      quarantined: (network: Network) => models.quarantine.countDocuments({ network }, { limit: QUARANTINED_COUNTED }),
      followers,
    };
  },
});
