import type { Connection } from "mongoose";

import { createChainClient } from "./chain/chain-client.ts";
import type { ChainClient } from "./chain/chain-client.ts";
import { readDeployment } from "./chain/deployment.ts";
import { ChainUnavailableError, WrongChainError } from "./chain/errors.ts";
import { NETWORKS } from "./config/constants.ts";
import type { Network } from "./config/constants.ts";
import type { Env } from "./config/env.ts";
import { connectDatabase, createIndexes } from "./db/connection.ts";
import { createDependencies } from "./features/health/dependencies.ts";
import { createAgentDirectory } from "./features/agents/directory.ts";
import { agentJobs } from "./features/agents/jobs.ts";
import { createAgentModels } from "./features/agents/model.ts";
import type { AgentsDeps } from "./features/agents/routes.ts";
import { createStandings } from "./features/agents/standings.ts";
import { createApiKeys } from "./features/auth/keys.ts";
import type { AuthDeps } from "./features/auth/routes.ts";
import { createAuthService } from "./features/auth/service.ts";
import { createThreadEncoder } from "./features/search/encoder.ts";
import { createIndexFeed } from "./features/search/index-feed.ts";
import { discoverJobs } from "./features/search/jobs.ts";
import type { DiscoverDeps } from "./features/search/routes.ts";
import { createSearchIndex } from "./features/search/search-index.ts";
import { createDiscoverService, createListingEmbedder } from "./features/search/service.ts";
import { createDeals } from "./features/deals.ts";
import type { Deals, DealTimings } from "./features/deals.ts";
import type { HealthDeps } from "./features/health/routes.ts";
import type { NetworksDeps } from "./features/networks/routes.ts";
import { createEndpointDirectory } from "./features/listings/endpoints.ts";
import { listListings } from "./features/listings/list.ts";
import { createListingModel } from "./features/listings/model.ts";
import type { ServicesDeps } from "./features/listings/routes.ts";
import { createListingService } from "./features/listings/service.ts";
import { createAuthenticator } from "./http/authenticate.ts";
import type { Authenticator } from "./http/pipeline.ts";
import { createIndexer } from "./indexer/indexer-client.ts";
import type { Indexer } from "./indexer/indexer-client.ts";
import { createJobSystem } from "./jobs/agenda.ts";
import type { JobSystem } from "./jobs/agenda.ts";
import type { BackgroundLoop } from "./jobs/background-loop.ts";
import type { JobDefinition } from "./jobs/define-job.ts";
import { systemClock } from "./lib/clock.ts";
import type { Clock } from "./lib/clock.ts";
import type { Logger } from "./lib/logger.ts";
import { DeadlineExceededError, withTimeout } from "./lib/timeout.ts";

/** What route handlers are given: the sum of what the features' routes ask for. */
export type Services = HealthDeps &
  AuthDeps &
  AgentsDeps &
  NetworksDeps &
  ServicesDeps &
  DiscoverDeps &
  Deals["services"];

/** Connections and tools that services are built from. */
export interface Platform {
  env: Env;
  log: Logger;
  clock: Clock;
  connection: Connection;
  chains: Readonly<Record<Network, ChainClient>>;
  indexers: Readonly<Record<Network, Indexer>>;
  jobs: JobSystem;
  /** Aborted as soon as the process begins to stop. */
  shutdown: AbortSignal;
}

/** The wired application without its HTTP side: shared by the API and the worker. */
export interface Container extends Platform {
  authenticator: Authenticator;
  services: Services;
  /** The jobs of every feature, for the worker. */
  jobDefinitions: readonly JobDefinition<never>[];
  /** Followers and outbox, for the worker. */
  loops: readonly BackgroundLoop[];
  /** Checkout, transactions, events and webhooks, for tests that drive their background work step by step. */
  deals: Deals;
  /** Loads the search index and keeps it up to date: for processes that answer searches. */
  startSearch(): Promise<void>;
  /** Tells everything that waits or streams to come to an end; `close` follows. */
  beginShutdown(): void;
  /** Ends what runs in the background and closes connections. */
  close(): Promise<void>;
}

/** What a container is made from. Tests replace the clock, the database name, and chains or subgraphs by typed fakes. */
export interface ContainerOptions {
  env: Env;
  log: Logger;
  clock?: Clock;
  databaseName?: string;
  chains?: Readonly<Record<Network, ChainClient>>;
  indexers?: Readonly<Record<Network, Indexer>>;
  dealTimings?: Partial<DealTimings>;
}

/** How long the start waits for a chain to say which one it is, in milliseconds. */
const CHAIN_ID_PATIENCE_MS = 3_000;

/**
 * Wires the application: connections first, then services with their dependencies as arguments, then the jobs.
 * @throws ConfigurationError, DeploymentFileError, WrongChainError, DatabaseUnusableError when it cannot run
 */
export async function createContainer(options: ContainerOptions): Promise<Container> {
  const stopping = new AbortController();
  const platform = await connectPlatform(options, stopping.signal);
  const { env, log, clock, connection, chains, indexers } = platform;

  const agentModels = createAgentModels(connection);
  const listings = createListingModel(connection);

  const agents = createAgentDirectory(agentModels);
  const apiKeys = createApiKeys(agentModels, clock);
  const auth = createAuthService({ connection, models: agentModels, keys: apiKeys, clock, publicUrl: env.publicUrl });
  const standings = createStandings({ models: agentModels, indexers, clock });

  const encoder = createThreadEncoder(log);
  const searchIndex = createSearchIndex();
  const indexFeed = createIndexFeed({ listings, index: searchIndex, model: encoder.model, log });
  const discovery = createDiscoverService({ encoder, index: searchIndex, standings, log });
  const embedder = createListingEmbedder(encoder, log);
  const services = createListingService({ listings, embedder, clock });

  const deals = createDeals({
    ...{ connection, chains, indexers, clock, log },
    publicUrl: env.publicUrl,
    webhookSigningSecrets: env.webhookSigningSecrets,
    webhookAllowPrivateHosts: env.webhookAllowPrivateHosts,
    findListing: (serviceId) => services.get(serviceId),
    wallets: {
      agentIdsByWallet: async (wallets) =>
        new Map([...(await agents.byWallets(wallets))].map(([wallet, agent]) => [wallet, agent._id])),
    },
    endpoints: createEndpointDirectory(listings),
    onSettled: async (network, wallets) => {
      await standings.sync(network, wallets);
    },
    timings: { followerPollMs: env.followerPollMs, ...options.dealTimings },
  });

  await createIndexes(connection);

  return {
    ...platform,
    authenticator: createAuthenticator(apiKeys),
    services: {
      dependencies: createDependencies({
        ...{ connection, chains, indexers },
        search: { listings: () => searchIndex.size, isFollowing: () => indexFeed.isFollowing() },
      }),
      ...{ chains, indexers, publicSubgraphUrls: env.publicSubgraphUrls },
      ...{ auth, apiKeys, agents, standings, scoreReaders: chains },
      ...{ services, discovery },
      ...deals.services,
      listServices: (caller, query) => listListings(caller, query, { listings, search: discovery, standings }),
    },
    jobDefinitions: [...agentJobs(agentModels, standings), ...discoverJobs({ listings, encoder })],
    loops: deals.loops,
    deals,
    startSearch: () => indexFeed.start(),
    beginShutdown() {
      stopping.abort();
    },
    async close() {
      stopping.abort();
      await indexFeed.close();
      await encoder.close();
      await Promise.all(NETWORKS.map((network) => indexers[network].close()));
      await connection.close();
    },
  };
}

async function connectPlatform(options: ContainerOptions, shutdown: AbortSignal): Promise<Platform> {
  const { env, log, clock = systemClock } = options;
  const chains = options.chains ?? (await connectChains(env));
  const indexers =
    options.indexers ?? byNetwork((network) => createIndexer({ network, url: env.subgraphUrls[network] }));
  const connection = await connectDatabase(env.mongodbUri, log, options.databaseName);
  return { env, log, clock, connection, chains, indexers, jobs: createJobSystem(connection, log), shutdown };
}

async function connectChains(env: Env): Promise<Readonly<Record<Network, ChainClient>>> {
  const deployments = {
    "base-sepolia": await readDeployment(env.deploymentFiles["base-sepolia"], "base-sepolia"),
    base: await readDeployment(env.deploymentFiles.base, "base"),
  };
  const chains = byNetwork((network) =>
    createChainClient({ network, rpcUrl: env.rpcUrls[network], deployment: deployments[network] }),
  );
  await Promise.all(NETWORKS.map((network) => refuseWrongChain(chains[network])));
  return chains;
}

/** A mistake in the configuration is said at the start; a server that is away for now is not waited for. */
async function refuseWrongChain(chain: ChainClient): Promise<void> {
  try {
    await withTimeout(`rpc:${chain.network}`, CHAIN_ID_PATIENCE_MS, () => chain.assertChainId());
  } catch (error) {
    const isAway = error instanceof ChainUnavailableError || error instanceof DeadlineExceededError;
    if (error instanceof WrongChainError || !isAway) throw error;
  }
}

function byNetwork<T>(make: (network: Network) => T): Readonly<Record<Network, T>> {
  return { "base-sepolia": make("base-sepolia"), base: make("base") };
}
