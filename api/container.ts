import { randomBytes } from "node:crypto";
import { hostname } from "node:os";

import { createEtherPrice } from "./chain/ether-price.ts";
import { MAINNET, NETWORKS } from "./config/constants.ts";
import { createIndexes } from "./db/connection.ts";
import { chainProgress, newcomersOf, recheckQueueOf } from "./features/chain-follower/module.ts";
import { scoreCopiesOf } from "./features/limits/module.ts";
import { declineRecordsOf } from "./features/transactions/module.ts";
import { subscriptionsOf } from "./features/webhooks/module.ts";
import type { FeatureParts } from "./features/feature.ts";
import { FEATURES, TIMINGS } from "./features.ts";
import type { FeatureServices, Timings } from "./features.ts";
import type { AdmissionControl } from "./http/admission.ts";
import type { IdempotencyKeys } from "./http/policies/idempotency.ts";
import type { Step } from "./http/pipeline.ts";
import type { SignatureNonces } from "./http/policies/request-signature.ts";
import type { PaymentGate } from "./http/policies/x402.ts";
import type { BackgroundLoop } from "./jobs/background-loop.ts";
import type { JobDefinition } from "./jobs/define-job.ts";
import { StoppingError } from "./lib/stopping.ts";
import { connectPlatform } from "./platform.ts";
import type { Platform, PlatformOptions } from "./platform.ts";

type Features = ReturnType<typeof createFeatures>;

/** The wired application without its HTTP side: shared by the API and the worker. */
export interface Container extends Platform {
  admissionControl: AdmissionControl;
  idempotencyKeys: IdempotencyKeys;
  /** Authorizes admin routes; undefined without `ADMIN_API_KEY`. */
  admin: Step | undefined;
  signatureNonces: SignatureNonces;
  paymentGate: PaymentGate;
  services: FeatureServices;
  /** The jobs of every feature, for the worker. */
  jobDefinitions: readonly JobDefinition[];
  /** The loops of every feature, for the worker. */
  loops: readonly BackgroundLoop[];
  /** The features themselves, for tests that drive their background work step by step. */
  features: Features;
  /** Aborted when requests that are still under way have to be answered. */
  drainEnd: AbortSignal;
  /** How long a request may wait for the service before it is answered 503, in milliseconds. */
  answerLimitMs: number;
  /** Ends everything that waits or streams; call `endDrain` and `close` afterwards. */
  beginShutdown(): void;
  /** Answers the requests that wait for a system which doesn't answer. */
  endDrain(): void;
  /** Ends background work and closes connections. */
  close(): Promise<void>;
}

/** Settings of a container. */
export interface ContainerOptions extends PlatformOptions {
  timings?: Partial<Timings>;
}

const PROCESS_ID_BYTES = 4;
/** Time that a paid call may take in addition to its settlement, in milliseconds. */
const BESIDE_SETTLEMENT_MS = 10_000;

/**
 * Wires the application: connections first, then the features.
 * @throws ConfigurationError, DeploymentFileError, WrongChainError, DatabaseUnusableError when it cannot run
 */
export async function createContainer(options: ContainerOptions): Promise<Container> {
  const stopping = new AbortController();
  const draining = new AbortController();
  const platform = await connectPlatform(options, stopping.signal);
  const { env, connection, indexers } = platform;
  const timings = { ...TIMINGS, followerPollMs: env.followerPollMs, ...options.timings };
  const features = createFeatures(platform, timings);
  const parts: readonly FeatureParts[] = Object.values(features);
  await Promise.all([createIndexes(connection), platform.jobs.ready]);
  await features.x402.checkPayee();

  return {
    ...platform,
    features,
    admissionControl: features.limits.admissionControl,
    idempotencyKeys: features.idempotency.keys,
    admin: features.admin.step,
    signatureNonces: features.identity.signatureNonces,
    paymentGate: features.x402.gate,
    services: Object.assign({}, ...parts.map(({ services }) => services)) as FeatureServices,
    jobDefinitions: parts.flatMap(({ jobs = [] }) => jobs),
    loops: parts.flatMap(({ loops = [] }) => loops),
    drainEnd: draining.signal,
    answerLimitMs:
      options.timings?.answerLimitMs ?? Math.max(timings.answerLimitMs, env.x402.timeoutMs + BESIDE_SETTLEMENT_MS),
    beginShutdown() {
      stopping.abort(new StoppingError());
    },
    endDrain() {
      draining.abort(new StoppingError());
    },
    async close() {
      stopping.abort(new StoppingError());
      await features.limits.flush();
      await features.discovery.close();
      await features.criteria.evaluator.close();
      await Promise.all(NETWORKS.map((network) => indexers[network].close()));
      await connection.close();
    },
  };
}

/** The features, each after those that it uses. */
function createFeatures(platform: Platform, timings: Timings) {
  const { env, log, clock, connection, chains, indexers } = platform;
  const { publicUrl, publicSubgraphUrls } = env;
  const now = () => clock.now();
  const processId = `${hostname()}:${process.pid}:${randomBytes(PROCESS_ID_BYTES).toString("hex")}`;

  const scores = scoreCopiesOf(connection);
  const agents = FEATURES.agents.create({
    connection,
    chains,
    indexers,
    clock,
    declinesOf: declineRecordsOf(connection),
    onScores: (copied, options) => scores.take(copied, options),
  });
  const { standings } = agents;
  const limits = FEATURES.limits.create({
    connection,
    clock,
    log,
    models: agents.models,
    limits: env.limits,
    metrics: platform.metrics,
  });
  const identity = FEATURES.identity.create({
    connection,
    clock,
    publicUrl,
    standings,
    models: agents.models,
    onRegistered: async (agent, session) => {
      await newcomersOf(connection).add(agent, session);
      await standings.adopt(agent.agentId, agent.wallet, session);
    },
  });
  const admin = FEATURES.admin.create({ connection, clock, adminApiKey: env.adminApiKey });
  const kya = FEATURES.kya.create({ connection, chains, clock, agents: agents.models });
  const developer = FEATURES.developer.create({
    connection,
    publicUrl,
    clock,
    log,
    timings,
    mail: env.mail,
    levels: kya.levels,
  });
  const fees = FEATURES.fees.create({ connection, chain: chains[MAINNET], indexer: indexers[MAINNET], clock, timings });
  const etherPrice = createEtherPrice(chains, clock);
  const discovery = FEATURES.discovery.create({
    connection,
    standings,
    directory: agents.directory,
    etherPrice,
    now,
    log,
    processId,
    metrics: platform.metrics,
    provider: env.embeddingProvider,
    embedded: platform.embedded,
    indexUrl: env.searchIndexUrl,
    indexStore: env.searchIndexStore,
  });
  const listings = FEATURES.listings.create({
    connection,
    chains,
    embedder: discovery.embedder,
    search: discovery.discovery,
    standings,
    etherPrice,
    clock,
  });
  const { endpoints } = listings;
  const outbox = FEATURES.outbox.create({ connection, log, now, processId, timings });
  const subscriptions = subscriptionsOf(connection);
  const memory = FEATURES.memory.create({
    connection,
    now,
    log,
    encoders: discovery.encoders,
    embedder: discovery.embedder,
    indexes: discovery.indexes,
    quota: env.memoryQuota,
  });
  const events = FEATURES.events.create({
    connection,
    outbox: outbox.writer,
    subscriptions,
    audit: memory.audit,
    now,
    timings,
    log,
    keys: identity.keyStates,
    metrics: platform.metrics,
    shutdown: platform.shutdown,
  });
  const { recorder } = events;
  const webhooks = FEATURES.webhooks.create({
    connection,
    now,
    outbox,
    recorder,
    eventLog: events.services.eventLog,
    signingSecrets: env.webhookSigningSecrets,
    allowedPrivateHosts: env.webhookAllowPrivateHosts,
  });
  const transactions = FEATURES.transactions.create({
    connection,
    chains,
    indexers,
    clock,
    recorder,
    endpoints,
    publicUrl,
    timings,
    progress: chainProgress(connection),
    secrets: env.webhookSigningSecrets.length === 0 ? undefined : webhooks.secrets,
  });
  const messages = FEATURES.messages.create({
    connection,
    clock,
    log,
    recorder,
    timings,
    processId,
    events: events.models.events,
    findAgent: (agentId) => agents.directory.byId(agentId),
    findTransaction: (transactionId, agentId) => transactions.reader.read(transactionId, agentId),
  });
  const criteria = FEATURES.criteria.create({ reader: transactions.reader });
  const checkout = FEATURES.checkout.create({
    connection,
    chains,
    clock,
    findListing: (serviceId) => listings.listings.get(serviceId),
    kyaLevelOf: (agentId) => kya.levels.levelOf(agentId),
    evaluator: criteria.evaluator,
  });
  const disputes = FEATURES.disputes.create({
    connection,
    chains,
    now,
    log,
    timings,
    processId,
    settings: env.disputes,
    rpcUrls: env.rpcUrls,
    allowedPrivateHosts: env.webhookAllowPrivateHosts,
    transactions: transactions.models.transactions,
    reader: transactions.reader,
    evaluator: criteria.evaluator,
    // Its numbers are tuned to this encoder, and evidence is sent to no other server.
    encoder: discovery.encoders.embedded,
  });
  const timeline = FEATURES.timeline.create({
    reader: transactions.reader,
    audit: memory.audit,
    dispatches: outbox.models.dispatches,
    messagesOf: messages.messagesOf,
  });
  const chainFollower = FEATURES.chainFollower.create({
    clock,
    pushSecret: env.internalWebhookSecret,
    connection,
    chains,
    indexers,
    log,
    now,
    processId,
    timings,
    recorder,
    endpoints,
    transactions: transactions.models.transactions,
    wallets: agents.directory,
    disputes: disputes.store,
    confirmations: env.confirmations,
    onSettled: async (network, wallets) => {
      await standings.sync(network, wallets);
    },
    onAnnounced: () => {
      webhooks.dispatcher.wake();
    },
  });
  const keeper = FEATURES.keeper.create({
    connection,
    indexers,
    recorder,
    now,
    log,
    processId,
    timings,
    settings: env.keeper,
    rpcUrls: env.rpcUrls,
    deployments: { "base-sepolia": chains["base-sepolia"].deployment, base: chains.base.deployment },
    transactions: transactions.models.transactions,
    progress: chainProgress(connection),
    onAnnounced: () => {
      webhooks.dispatcher.wake();
    },
  });
  const reconciliation = FEATURES.reconciliation.create({
    connection,
    chains,
    indexers,
    now,
    timings,
    metrics: platform.metrics,
    standings: agents.models.standings,
    transactions: transactions.models.transactions,
    progress: chainProgress(connection),
    rechecks: recheckQueueOf(connection),
    syncScores: (network, wallets) => standings.sync(network, wallets),
  });
  const idempotency = FEATURES.idempotency.create({ connection, log, timings });
  const x402 = FEATURES.x402.create({
    connection,
    chains,
    env,
    clock,
    log,
    timings,
    processId,
    metrics: platform.metrics,
    credit: (agentId, kind, calls, session) => limits.credit(agentId, kind, calls, session),
  });
  const analytics = FEATURES.analytics.create({
    connection,
    chains,
    indexers,
    standings,
    log,
    processId,
    timings,
    transactions: transactions.models.transactions,
    reached: () => chainProgress(connection).reached(),
  });
  const networks = FEATURES.networks.create({ chains, indexers, publicSubgraphUrls });
  const health = FEATURES.health.create({
    connection,
    chains,
    indexers,
    log,
    now,
    search: discovery.state,
    encoders: discovery.encoders,
    reached: () => chainProgress(connection).reached(),
    quarantined: (network) => chainFollower.quarantined(network),
    disputeDelays: (network) => disputes.delays(network),
    keeper: (network) => keeper.state(network),
    outbox: () => outbox.state(),
    metrics: platform.metrics,
  });
  return {
    admin,
    agents,
    analytics,
    categories: FEATURES.categories.create({}),
    chainFollower,
    checkout,
    criteria,
    developer,
    discovery,
    disputes,
    docs: FEATURES.docs.create({}),
    events,
    fees,
    health,
    idempotency,
    identity,
    keeper,
    kya,
    limits,
    listings,
    memory,
    messages,
    networks,
    outbox,
    reconciliation,
    timeline,
    transactions,
    webhooks,
    x402,
  } satisfies Record<keyof typeof FEATURES, FeatureParts>;
}
