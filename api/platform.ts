import type { Connection } from "mongoose";

import { createChainClient } from "./chain/chain-client.ts";
import type { ChainClient } from "./chain/chain-client.ts";
import { readDeployment } from "./chain/deployment.ts";
import { ChainUnavailableError, WrongChainError } from "./chain/errors.ts";
import { NETWORKS } from "./config/constants.ts";
import type { Network } from "./config/constants.ts";
import type { ChainSettings, Env } from "./config/env.ts";
import { connectDatabase } from "./db/connection.ts";
import { watchPool } from "./db/pool-state.ts";
import { createIndexer } from "./indexer/indexer-client.ts";
import type { Indexer } from "./indexer/indexer-client.ts";
import { Changes } from "./jobs/change-loop.ts";
import { JobSystem } from "./jobs/job-system.ts";
import { systemClock } from "./lib/clock.ts";
import type { Clock } from "./lib/clock.ts";
import type { Logger } from "./lib/logger.ts";
import { createMetrics } from "./lib/metrics.ts";
import type { Metrics } from "./lib/metrics.ts";
import { DeadlineExceededError, withTimeout } from "./lib/timeout.ts";
import { createThreadEncoder } from "./search/embedding/encoder.ts";
import type { SentenceEncoder } from "./search/embedding/encoder.ts";
import { checkEncoder } from "./search/encoder/files.ts";

/** Connections and tools that features are built from. */
export interface Platform {
  env: Env;
  log: Logger;
  clock: Clock;
  connection: Connection;
  chains: Readonly<Record<Network, ChainClient>>;
  indexers: Readonly<Record<Network, Indexer>>;
  jobs: JobSystem;
  /** Wakes loops of the worker when a collection changes. */
  changes: Changes;
  metrics: Metrics;
  /** Embeds texts in this process. */
  embedded: SentenceEncoder;
  /** Aborted as soon as the process starts to stop. */
  shutdown: AbortSignal;
}

/**
 * Settings of the platform. Tests set the clock and the database name, share an encoder, and replace chains or subgraphs
 * with typed fakes.
 */
export interface PlatformOptions {
  env: Env;
  log: Logger;
  clock?: Clock;
  databaseName?: string;
  chains?: Readonly<Record<Network, ChainClient>>;
  indexers?: Readonly<Record<Network, Indexer>>;
  embedded?: SentenceEncoder;
  /** Of the embedded encoder's thread, see `ThreadOptions`. */
  encoderNiceness?: number;
}

/** Maximum wait for the chain id at start, in milliseconds. */
const CHAIN_ID_PATIENCE_MS = 3_000;

/**
 * Connects to the chains, the subgraphs and the database.
 * @throws EncoderUnusableError, DeploymentFileError, WrongChainError, DatabaseUnusableError
 */
export async function connectPlatform(options: PlatformOptions, shutdown: AbortSignal): Promise<Platform> {
  const { env, log, clock = systemClock } = options;
  if (options.embedded === undefined) await checkEncoder();
  const embedded = options.embedded ?? createThreadEncoder(log, { niceness: options.encoderNiceness });
  const chains = options.chains ?? (await connectChains(env));
  const indexers =
    options.indexers ?? byNetwork((network) => createIndexer({ network, url: env.subgraphUrls[network] }));
  const connection = await connectDatabase(env.mongodbUri, log, options.databaseName);
  const metrics = createMetrics();
  const pool = watchPool(connection);
  metrics.addGauge({
    name: "mongodb_connections",
    help: "Connections of this process to the database: open, in use, and requests that wait for one",
    labels: ["state"],
    read: () => Promise.resolve(Object.entries(pool()).map(([state, value]) => ({ labels: { state }, value }))),
  });
  const jobs = new JobSystem({ connection, log });
  const changes = new Changes({ connection, log });
  return { env, log, clock, connection, chains, indexers, jobs, changes, metrics, embedded, shutdown };
}

/**
 * The clients of both chains.
 * @throws DeploymentFileError, WrongChainError
 */
export async function connectChains(env: ChainSettings): Promise<Readonly<Record<Network, ChainClient>>> {
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

/** Fails the start for a wrong chain, but not for an unavailable server, which may come back. */
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
