import { randomBytes } from "node:crypto";
import { hostname } from "node:os";

import type { Connection } from "mongoose";

import type { ChainClient } from "../chain/chain-client.ts";
import { NETWORKS } from "../config/constants.ts";
import type { Network } from "../config/constants.ts";
import type { Indexer } from "../indexer/indexer-client.ts";
import type { BackgroundLoop } from "../jobs/background-loop.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { CheckoutDeps } from "./checkout/routes.ts";
import { createCheckoutService } from "./checkout/service.ts";
import { createApplier } from "./chain-follower/applier.ts";
import { expireQuotes } from "./transactions/expiry.ts";
import { createFollower } from "./chain-follower/follower.ts";
import type { Follower } from "./chain-follower/follower.ts";
import { createLease } from "../jobs/lease.ts";
import { createEventLog } from "./events/log.ts";
import { eventModels } from "./events/model.ts";
import type { EventModels } from "./events/model.ts";
import type { EndpointDirectory, WalletDirectory } from "./chain-follower/ports.ts";
import { createEventRecorder } from "./events/recorder.ts";
import type { EventDeps } from "./events/routes.ts";
import type { Listing } from "./listings/listing.ts";
import { createDelivery } from "./transactions/delivery.ts";
import { createFunding } from "./transactions/funding.ts";
import { createJobAccess } from "./transactions/job-access.ts";
import { createListReader } from "./transactions/list-reader.ts";
import { transactionModel } from "./transactions/model.ts";
import type { TransactionModel } from "./transactions/model.ts";
import { createTransactionReader } from "./transactions/reader.ts";
import type { TransactionDeps } from "./transactions/routes.ts";
import { createTransactionService } from "./transactions/service.ts";
import { createDeliveryLog } from "./webhooks/delivery-log.ts";
import { createWebhookDispatcher } from "./webhooks/dispatcher.ts";
import type { WebhookDispatcher } from "./webhooks/dispatcher.ts";
import { deliveryModel, webhookSecretModel } from "./webhooks/model.ts";
import type { DeliveryModel } from "./webhooks/model.ts";
import { createOutbox, OUTBOX_DEFAULTS } from "./webhooks/outbox.ts";
import type { OutboxOptions } from "./webhooks/outbox.ts";
import type { WebhookDeps } from "./webhooks/routes.ts";
import { createWebhookSecrets } from "./webhooks/secrets.ts";
import { createWebhookSender } from "./webhooks/sender.ts";
import type { WebhookSender } from "./webhooks/sender.ts";

/** Spans of the deals' waiting and background work. Tests make them short. */
export interface DealTimings {
  /** Longest wait of fund, deliver and confirm for the subgraph, in milliseconds (decision 16). */
  indexWaitMs: number;
  /** Longest wait of a reading for a block that it must include, in milliseconds. */
  readWaitMs: number;
  /** Pause between two looks at the subgraph. */
  followerPollMs: number;
  /** Blocks that are read again when the head does not continue the last one seen. */
  overlapBlocks: number;
  /** How long a follower that died stays the leader. */
  leaseMs: number;
  /** Least pause between two searches for checkouts that nobody funded. */
  expiryEveryMs: number;
  /** Pause between two looks at an empty outbox. */
  outboxPollMs: number;
  outbox: OutboxOptions;
}

export const DEAL_TIMINGS: DealTimings = {
  indexWaitMs: 10_000,
  readWaitMs: 5_000,
  followerPollMs: 100,
  overlapBlocks: 128,
  leaseMs: 5_000,
  expiryEveryMs: 5_000,
  outboxPollMs: 100,
  outbox: OUTBOX_DEFAULTS,
};

/** What the deals need from the platform and from other features. */
export interface DealOptions {
  connection: Connection;
  chains: Readonly<Record<Network, ChainClient>>;
  indexers: Readonly<Record<Network, Indexer>>;
  clock: Clock;
  log: Logger;
  publicUrl: string;
  webhookSigningSecrets: readonly string[];
  webhookAllowPrivateHosts: readonly string[];
  findListing: (serviceId: string) => Promise<Listing>;
  wallets: WalletDirectory;
  endpoints: EndpointDirectory;
  /** Called when deals of these wallets have settled. */
  onSettled: (network: Network, wallets: readonly string[]) => Promise<void>;
  timings?: Partial<DealTimings>;
  /** Replaces the HTTP side of webhooks in tests. */
  sender?: WebhookSender;
}

/** Checkout, transactions, events and webhooks, wired. */
export interface Deals {
  services: CheckoutDeps & TransactionDeps & EventDeps & WebhookDeps;
  models: EventModels & { transactions: TransactionModel; deliveries: DeliveryModel };
  followers: Readonly<Record<Network, Follower>>;
  dispatcher: WebhookDispatcher;
  /** For the worker: a follower of each network and the dispatcher. */
  loops: readonly BackgroundLoop[];
}

const DISPATCH_CONCURRENCY = 32;
const DISPATCH_CONCURRENCY_PER_AGENT = 4;

/** Wires the features of a deal: they share records, the event log and the outbox. */
export function createDeals(options: DealOptions): Deals {
  const { connection, chains, indexers, clock, log } = options;
  const timings = { ...DEAL_TIMINGS, ...options.timings };
  const now = () => clock.now();
  const owner = `${hostname()}:${process.pid}:${randomBytes(4).toString("hex")}`;

  const models = eventModels(connection);
  const transactions = transactionModel(connection);
  const deliveries = deliveryModel(connection);
  const recorder = createEventRecorder(models, deliveries, now);
  const secrets = createWebhookSecrets(webhookSecretModel(connection), options.webhookSigningSecrets, now);
  const reader = createTransactionReader({ transactions, indexers, chains, clock, waitMs: timings.readWaitMs });

  function createNetworkFollower(network: Network): Follower {
    let expiredAt = 0;
    const applier = createApplier({
      network,
      chainId: chains[network].chainId,
      escrowContract: chains[network].deployment.escrow,
      connection,
      transactions,
      models,
      recorder,
      wallets: options.wallets,
      endpoints: options.endpoints,
      now,
    });
    return createFollower({
      network,
      indexer: indexers[network],
      chainHeight: async () => (await chains[network].head()).number,
      models,
      applier,
      lease: createLease(models.leases, `follower:${network}`, owner, timings.leaseMs),
      log,
      now,
      pollMs: timings.followerPollMs,
      overlapBlocks: timings.overlapBlocks,
      onStep: async ({ head, applied, withdrawn, settledWallets, hasMore }) => {
        if (applied + withdrawn > 0) dispatcher.wake();
        if (settledWallets.length > 0) {
          // A copy of what the subgraph says; a job of the agents repeats it.
          await options.onSettled(network, settledWallets).catch((error: unknown) => {
            log.warn({ err: error, network }, "standings not synced");
          });
        }
        // Before the last page the funding of a checkout may still be among the events that wait.
        if (hasMore || head.timestamp === null || performance.now() - expiredAt < timings.expiryEveryMs) return;
        expiredAt = performance.now();
        await expireQuotes(transactions, network, head.timestamp, now());
      },
    });
  }

  const dispatcher = createWebhookDispatcher({
    outbox: createOutbox(deliveries, timings.outbox, now),
    sender: options.sender ?? createWebhookSender({ allowedPrivateHosts: options.webhookAllowPrivateHosts }),
    secrets,
    log,
    now,
    owner,
    pollMs: timings.outboxPollMs,
    concurrency: DISPATCH_CONCURRENCY,
    concurrencyPerAgent: DISPATCH_CONCURRENCY_PER_AGENT,
  });
  const followers = { "base-sepolia": createNetworkFollower("base-sepolia"), base: createNetworkFollower("base") };

  return {
    services: {
      checkout: createCheckoutService({ findListing: options.findListing, transactions, chains, clock }),
      transactions: createTransactionService({
        reader,
        list: createListReader({ transactions, cursors: models.cursors, indexers, waitMs: timings.readWaitMs }),
        funding: createFunding({ transactions, reader, chains, waitMs: timings.indexWaitMs }),
        delivery: createDelivery({
          connection,
          transactions,
          applied: models.applied,
          recorder,
          reader,
          chains,
          clock,
          waitMs: timings.indexWaitMs,
        }),
        chains,
        // Without a master secret no token can be signed; the transaction can be read all the same.
        jobAccess:
          options.webhookSigningSecrets.length === 0
            ? () => Promise.resolve(undefined)
            : createJobAccess({ endpoints: options.endpoints, secrets, issuer: options.publicUrl }),
        waitMs: timings.indexWaitMs,
      }),
      eventLog: createEventLog(models.events),
      webhookSecrets: secrets,
      deliveryLog: createDeliveryLog(deliveries),
    },
    models: { ...models, transactions, deliveries },
    followers,
    dispatcher,
    loops: [
      ...NETWORKS.map((network) => ({
        name: `events.follow-${network}`,
        run: (signal: AbortSignal) => followers[network].run(signal),
      })),
      { name: "webhooks.dispatch", run: (signal: AbortSignal) => dispatcher.run(signal) },
    ],
  };
}
