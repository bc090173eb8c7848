import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import { createChainTime, leadOf } from "../../chain/chain-time.ts";
import { NetworkSender } from "../../chain/sending/network-sender.ts";
import { SendingStore } from "../../chain/sending/store.ts";
import { SENDING_TIMINGS } from "../../chain/sending/timings.ts";
import type { SendingTimings } from "../../chain/sending/timings.ts";
import { createSendingChain } from "../../chain/sending-chain.ts";
import { createTransactionSigner } from "../../chain/signer.ts";
import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { KeeperSettings } from "../../config/keeper.ts";
import { StoredState } from "../../db/stored-state.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { Changes } from "../../jobs/change-loop.ts";
import { Lease, leaseModel } from "../../jobs/lease.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { defineFeature } from "../feature.ts";
import type { TransactionModel } from "../transactions/model.ts";
import type { ChainProgress } from "../transactions/ports.ts";
import { createDeliveries } from "./deliveries.ts";
import { createFinder, FINDER_LEASE_MS, FINDER_TIMINGS } from "./finder.ts";
import type { FinderTimings } from "./finder.ts";
import { keeperModels } from "./model.ts";
import { createKeeperOrders } from "./orders.ts";
import { createSpending } from "./spending.ts";
import { createKeeperWork, keeperAbi } from "./work.ts";

/** Durations of the keeper. Tests shorten them. */
export type KeeperTimings = FinderTimings & { keeperSending: Partial<SendingTimings> };

const KEEPER_TIMINGS: KeeperTimings = { ...FINDER_TIMINGS, keeperSending: {} };

/** Maximum age of the chain's time by which a day's spending is shown, in milliseconds. */
const CHAIN_TIME_MAX_AGE_MS = 1_000;

/** Dependencies of the keeper. */
export interface KeeperModuleDeps {
  connection: Connection;
  changes: Pick<Changes, "on">;
  deployments: Readonly<Record<Network, ChainClient["deployment"]>>;
  rpcUrls: Readonly<Record<Network, string>>;
  indexers: Readonly<Record<Network, Pick<Indexer, "disputedBefore">>>;
  transactions: TransactionModel;
  recorder: Pick<EventRecorder, "record">;
  progress: Pick<ChainProgress, "appliedDelivery">;
  settings: KeeperSettings;
  /** Called after something is put into the outbox. */
  onAnnounced: () => void;
  now: () => Date;
  log: Logger;
  /** Names this process in leases. */
  processId: string;
  timings: KeeperTimings;
}

/** Makes the moves that are open to anyone, so that no deal waits for somebody to send the last call. */
export const keeperModule = defineFeature({
  routes: [],
  timings: KEEPER_TIMINGS,
  create({ connection, settings, now, processId, transactions, recorder, progress, ...deps }: KeeperModuleDeps) {
    const models = keeperModels(connection);
    const leases = leaseModel(connection);
    const store = new SendingStore({ connection, model: models.orders, now });
    const timings = { ...SENDING_TIMINGS, ...deps.timings.keeperSending };
    const { privateKey } = settings;

    function createNetwork(network: Network) {
      const log = deps.log.child({ network });
      const chain = createSendingChain({ network, rpcUrl: deps.rpcUrls[network], abi: keeperAbi });
      const deployment = deps.deployments[network];
      const signer = privateKey === undefined ? undefined : createTransactionSigner(network, privateKey);
      const capWei = settings.dailyCapWei[network];
      const spending = createSpending({ network, chain, model: models.spending, capWei });
      const sender = new NetworkSender({
        name: "keeper.send",
        network,
        chain,
        store,
        log,
        now,
        timings,
        work: createKeeperWork({ chain, deployment, signer, budget: spending }),
        lanes: [{ filter: {}, from: signer?.address }],
        lease: new Lease({ leases, name: `keeper.send:${network}`, owner: processId, ttlMs: timings.leaseMs }),
      });
      const finder = createFinder({
        network,
        chain,
        deployment,
        log,
        cursor: new StoredState(connection, `keeper.find:${network}`),
        indexer: deps.indexers[network],
        deliveries: createDeliveries({ network, connection, transactions, recorder, progress, now }),
        orders: createKeeperOrders(models.orders, network, now),
        hasKey: signer !== undefined,
        onAnnounced: deps.onAnnounced,
        lease: new Lease({ leases, name: `keeper.find:${network}`, owner: processId, ttlMs: FINDER_LEASE_MS }),
        timings: deps.timings,
      });
      const chainTime = createChainTime({ chain, maxAgeMs: CHAIN_TIME_MAX_AGE_MS });
      return { finder, sender, spending, capWei, chainTime };
    }

    const networks = { "base-sepolia": createNetwork("base-sepolia"), base: createNetwork("base") };
    deps.changes.on(models.orders, () => {
      for (const network of NETWORKS) networks[network].sender.loop.wake();
    });
    return {
      services: {},
      models,
      loops: NETWORKS.flatMap((network) => [networks[network].finder.loop, networks[network].sender.loop]),
      /** Its parts by network, for tests that drive them step by step. */
      networks,
      /** Moves that aren't on chain and what the day has cost, for readiness and metrics. */
      async state(network: Network) {
        const { spending, capWei, chainTime } = networks[network];
        const [waiting, latest] = await Promise.all([store.waiting(network), chainTime.latest()]);
        const wallTime = toUnixSeconds(now());
        // The cap's days are the chain's.
        const committedWei = await spending.committedOn(wallTime + leadOf({ chainTime: latest, wallTime }));
        const ageMs = waiting.oldest === null ? null : now().getTime() - waiting.oldest.getTime();
        return {
          enabled: privateKey !== undefined,
          waiting: waiting.count,
          oldestSeconds: ageMs === null ? null : Math.max(0, Math.floor(ageMs / 1_000)),
          held: waiting.problems,
          spentTodayWei: String(committedWei),
          dailyCapWei: String(capWei),
        };
      },
    };
  },
});
