import type { Connection } from "mongoose";

import { createChainClient } from "./chain/chain-client.ts";
import type { ChainClient } from "./chain/chain-client.ts";
import { readDeployment } from "./chain/deployment.ts";
import { NETWORKS } from "./config/constants.ts";
import type { Network } from "./config/constants.ts";
import type { Env } from "./config/env.ts";
import { connectDatabase, createIndexes } from "./db/connection.ts";
import { createDependencies } from "./features/health/dependencies.ts";
import type { HealthDeps } from "./features/health/routes.ts";
import { createAuthenticator } from "./http/authenticate.ts";
import type { Authenticator } from "./http/pipeline.ts";
import { createIndexer } from "./indexer/indexer-client.ts";
import type { Indexer } from "./indexer/indexer-client.ts";
import { createJobSystem } from "./jobs/agenda.ts";
import type { JobSystem } from "./jobs/agenda.ts";
import type { JobDefinition } from "./jobs/define-job.ts";
import { systemClock } from "./lib/clock.ts";
import type { Clock } from "./lib/clock.ts";
import type { Logger } from "./lib/logger.ts";

/** What route handlers are given: the sum of what the features' routes ask for. */
export type Services = HealthDeps;

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
}

/**
 * Wires the application: connections first, then services with their dependencies as arguments, then the jobs.
 * @throws ConfigurationError, DeploymentFileError, DatabaseUnusableError when it cannot run
 */
export async function createContainer(options: ContainerOptions): Promise<Container> {
  const stopping = new AbortController();
  const platform = await connectPlatform(options, stopping.signal);
  const { connection, chains, indexers } = platform;

  await createIndexes(connection);

  return {
    ...platform,
    authenticator: createAuthenticator({ findCaller: () => Promise.resolve(undefined) }),
    services: { dependencies: createDependencies({ connection, chains, indexers }) },
    jobDefinitions: [],
    beginShutdown() {
      stopping.abort();
    },
    async close() {
      stopping.abort();
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
    "base-sepolia": await readDeployment(env.deploymentFiles["base-sepolia"]),
    base: await readDeployment(env.deploymentFiles.base),
  };
  return byNetwork((network) =>
    createChainClient({ network, rpcUrl: env.rpcUrls[network], deployment: deployments[network] }),
  );
}

function byNetwork<T>(make: (network: Network) => T): Readonly<Record<Network, T>> {
  return { "base-sepolia": make("base-sepolia"), base: make("base") };
}
