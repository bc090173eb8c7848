import { randomBytes } from "node:crypto";
import { hostname } from "node:os";

import { createEtherPrice } from "./chain/ether-price.ts";
import { MAINNET, NETWORKS } from "./config/constants.ts";
import { createIndexes } from "./db/connection.ts";
import { adminModule } from "./features/admin/module.ts";
import { agentsModule } from "./features/agents/module.ts";
import { analyticsModule } from "./features/analytics/module.ts";
import { authModule, scoreCopiesOf } from "./features/auth/module.ts";
import { categoriesModule } from "./features/categories/module.ts";
import { chainFollowerModule, chainProgress, newcomersOf, rereadsOf } from "./features/chain-follower/module.ts";
import { checkoutModule } from "./features/checkout/module.ts";
import { criteriaModule } from "./features/criteria/module.ts";
import { developerModule } from "./features/developer/module.ts";
import { disputesModule } from "./features/disputes/module.ts";
import { docsModule } from "./features/docs/module.ts";
import { eventsModule } from "./features/events/module.ts";
import { feesModule } from "./features/fees/module.ts";
import { healthModule } from "./features/health/module.ts";
import { idempotencyModule } from "./features/idempotency/module.ts";
import { keeperModule } from "./features/keeper/module.ts";
import { kyaModule } from "./features/kya/module.ts";
import { internalModule } from "./features/internal/module.ts";
import { listingsModule } from "./features/listings/module.ts";
import { memoryModule } from "./features/memory/module.ts";
import { messagesModule } from "./features/messages/module.ts";
import { networksModule } from "./features/networks/module.ts";
import { outboxModule } from "./features/outbox/module.ts";
import { reconciliationModule } from "./features/reconciliation/module.ts";
import { searchModule } from "./features/search/module.ts";
import { sellerQueueModule } from "./features/seller-queue/module.ts";
import { timelineModule } from "./features/timeline/module.ts";
import { declineRecordsOf, transactionsModule } from "./features/transactions/module.ts";
import { x402Module } from "./features/x402/module.ts";
import { subscriptionsOf, webhooksModule } from "./features/webhooks/module.ts";
import type { FeatureParts } from "./features/feature.ts";
import type { Doorkeeper } from "./http/admission.ts";
import type { IdempotencyKeys } from "./http/policies/idempotency.ts";
import type { Step } from "./http/pipeline.ts";
import type { SignatureNonces } from "./http/policies/request-signature.ts";
import type { PaymentGate } from "./http/policies/x402.ts";
import type { BackgroundLoop } from "./jobs/background-loop.ts";
import type { JobDefinition } from "./jobs/define-job.ts";
import { StoppingError } from "./lib/stopping.ts";
import { connectPlatform } from "./platform.ts";
import type { Platform, PlatformOptions } from "./platform.ts";
import { TIMINGS } from "./timings.ts";
import type { Timings } from "./timings.ts";

/** Every route of the API, in the order of its description. */
export const featureRoutes = [
  ...authModule.routes,
  ...agentsModule.routes,
  ...kyaModule.routes,
  ...developerModule.routes,
  ...feesModule.routes,
  ...categoriesModule.routes,
  ...listingsModule.routes,
  ...searchModule.routes,
  ...checkoutModule.routes,
  ...transactionsModule.routes,
  ...criteriaModule.routes,
  ...disputesModule.routes,
  ...sellerQueueModule.routes,
  ...eventsModule.routes,
  ...memoryModule.routes,
  ...webhooksModule.routes,
  ...messagesModule.routes,
  ...timelineModule.routes,
  ...x402Module.routes,
  ...analyticsModule.routes,
  ...networksModule.routes,
  ...healthModule.routes,
  ...internalModule.routes,
  ...docsModule.routes,
];

type Features = ReturnType<typeof createFeatures>;

/** The services of route handlers: everything that the features' routes need. */
export type Services = Features["agents"]["services"] &
  Features["auth"]["services"] &
  Features["kya"]["services"] &
  Features["developer"]["services"] &
  Features["fees"]["services"] &
  Features["listings"]["services"] &
  Features["search"]["services"] &
  Features["checkout"]["services"] &
  Features["transactions"]["services"] &
  Features["criteria"]["services"] &
  Features["disputes"]["services"] &
  Features["events"]["services"] &
  Features["memory"]["services"] &
  Features["webhooks"]["services"] &
  Features["messages"]["services"] &
  Features["timeline"]["services"] &
  Features["x402"]["services"] &
  Features["analytics"]["services"] &
  Features["networks"]["services"] &
  Features["health"]["services"] &
  Features["internal"]["services"];

/** The wired application without its HTTP side: shared by the API and the worker. */
export interface Container extends Platform {
  doorkeeper: Doorkeeper;
  idempotencyKeys: IdempotencyKeys;
  /** Authorizes admin routes; undefined without `ADMIN_API_KEY`. */
  admin: Step | undefined;
  signatureNonces: SignatureNonces;
  paymentGate: PaymentGate;
  services: Services;
  /** The jobs of every feature, for the worker. */
  jobDefinitions: readonly JobDefinition<never>[];
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
/** What a paid call may take beside its settlement, in milliseconds. */
const BESIDE_SETTLEMENT_MS = 10_000;

/**
 * Wires the application: connections first, then the features in the order of their imports.
 * @throws ConfigurationError, DeploymentFileError, WrongChainError, DatabaseUnusableError when it cannot run
 */
export async function createContainer(options: ContainerOptions): Promise<Container> {
  const stopping = new AbortController();
  const draining = new AbortController();
  const platform = await connectPlatform(options, stopping.signal);
  const { env, connection, indexers } = platform;
  const timings = { ...TIMINGS, followerPollMs: env.followerPollMs, ...options.timings };
  const features = createFeatures(platform, timings);
  const { search } = features;
  const parts: readonly FeatureParts[] = Object.values(features);
  await Promise.all([createIndexes(connection), platform.jobs.ready]);
  await features.x402.checkPayee();

  return {
    ...platform,
    features,
    doorkeeper: features.auth.doorkeeper,
    idempotencyKeys: features.idempotency.keys,
    admin: features.admin.step,
    signatureNonces: features.auth.signatureNonces,
    paymentGate: features.x402.gate,
    services: {
      ...features.agents.services,
      ...features.auth.services,
      ...features.kya.services,
      ...features.developer.services,
      ...features.fees.services,
      ...features.listings.services,
      ...features.search.services,
      ...features.checkout.services,
      ...features.transactions.services,
      ...features.criteria.services,
      ...features.disputes.services,
      ...features.events.services,
      ...features.memory.services,
      ...features.webhooks.services,
      ...features.messages.services,
      ...features.timeline.services,
      ...features.x402.services,
      ...features.analytics.services,
      ...features.networks.services,
      ...features.health.services,
      ...features.internal.services,
    },
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
      await features.auth.flush();
      await search.close();
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
  const agents = agentsModule.create({
    ...{ connection, chains, indexers, clock, declinesOf: declineRecordsOf(connection) },
    onScores: (copied, options) => scores.take(copied, options),
  });
  const { standings } = agents;
  const auth = authModule.create({
    ...{ connection, clock, log, publicUrl, standings, models: agents.models },
    ...{ limits: env.limits, metrics: platform.metrics },
    onRegistered: async (agent, session) => {
      await newcomersOf(connection).add(agent, session);
      await standings.adopt(agent.agentId, agent.wallet, session);
    },
  });
  const admin = adminModule.create({ connection, clock, adminApiKey: env.adminApiKey });
  const kya = kyaModule.create({ connection, chains, clock, agents: agents.models.agents });
  const developer = developerModule.create({
    ...{ connection, publicUrl, clock, log, timings, mail: env.mail, levels: kya.levels },
  });
  const fees = feesModule.create({ connection, chain: chains[MAINNET], indexer: indexers[MAINNET], clock, timings });
  const etherPrice = createEtherPrice(chains, clock);
  const search = searchModule.create({
    ...{
      connection,
      standings,
      directory: agents.directory,
      etherPrice,
      now,
      log,
      processId,
      metrics: platform.metrics,
    },
    ...{ provider: env.embeddingProvider, indexUrl: env.searchIndexUrl, indexStore: env.searchIndexStore },
  });
  const { discovery, embedder } = search;
  const listings = listingsModule.create({
    ...{ connection, chains, embedder, search: discovery, standings, etherPrice, clock },
  });
  const { endpoints } = listings;
  const outbox = outboxModule.create({ connection, log, now, processId, timings });
  const subscriptions = subscriptionsOf(connection);
  const memory = memoryModule.create({
    ...{ connection, now, log, encoders: search.encoders, embedder: search.embedder, indexes: search.indexes },
    quota: env.memoryQuota,
  });
  const events = eventsModule.create({
    ...{ connection, outbox: outbox.writer, subscriptions, audit: memory.audit, now, timings, log },
    ...{ keys: auth.keyStates, metrics: platform.metrics, shutdown: platform.shutdown },
  });
  const { recorder } = events;
  const webhooks = webhooksModule.create({
    ...{ connection, now, outbox, recorder, eventLog: events.services.eventLog },
    signingSecrets: env.webhookSigningSecrets,
    allowedPrivateHosts: env.webhookAllowPrivateHosts,
  });
  const transactions = transactionsModule.create({
    ...{ connection, chains, indexers, clock, recorder, endpoints, publicUrl, timings },
    progress: chainProgress(connection),
    secrets: env.webhookSigningSecrets.length === 0 ? undefined : webhooks.secrets,
  });
  const messages = messagesModule.create({
    ...{ connection, clock, log, recorder, timings, processId },
    events: events.models.events,
    findAgent: (agentId) => agents.directory.byId(agentId),
    findTransaction: (transactionId, agentId) => transactions.reader.read(transactionId, agentId),
  });
  const criteria = criteriaModule.create({ reader: transactions.reader });
  const checkout = checkoutModule.create({
    ...{ connection, chains, clock },
    findListing: (serviceId) => listings.listings.get(serviceId),
    kyaLevelOf: (agentId) => kya.levels.levelOf(agentId),
    evaluator: criteria.evaluator,
  });
  const disputes = disputesModule.create({
    ...{ connection, chains, now, log, timings, processId, settings: env.disputes, rpcUrls: env.rpcUrls },
    allowedPrivateHosts: env.webhookAllowPrivateHosts,
    transactions: transactions.models.transactions,
    reader: transactions.reader,
    evaluator: criteria.evaluator,
    // Its numbers are tuned to this encoder, and evidence is sent to no other server.
    encoder: search.encoders.embedded,
  });
  const timeline = timelineModule.create({
    ...{ reader: transactions.reader, audit: memory.audit, dispatches: outbox.models.dispatches },
    messagesOf: messages.messagesOf,
  });
  const chainFollower = chainFollowerModule.create({
    ...{ connection, chains, indexers, log, now, processId, timings, recorder, endpoints },
    transactions: transactions.models.transactions,
    wallets: agents.directory,
    disputes: disputes.book,
    confirmations: env.confirmations,
    onSettled: async (network, wallets) => {
      await standings.sync(network, wallets);
    },
    onAnnounced: () => {
      webhooks.dispatcher.wake();
    },
  });
  const keeper = keeperModule.create({
    ...{ connection, indexers, recorder, now, log, processId, timings, settings: env.keeper, rpcUrls: env.rpcUrls },
    deployments: { "base-sepolia": chains["base-sepolia"].deployment, base: chains.base.deployment },
    transactions: transactions.models.transactions,
    progress: chainProgress(connection),
    onAnnounced: () => {
      webhooks.dispatcher.wake();
    },
  });
  const reconciliation = reconciliationModule.create({
    ...{ connection, chains, indexers, now, timings, metrics: platform.metrics, standings: agents.models.standings },
    transactions: transactions.models.transactions,
    progress: chainProgress(connection),
    rereads: rereadsOf(connection),
    syncScores: (network, wallets) => standings.sync(network, wallets),
  });
  const internal = internalModule.create({
    ...{ secret: env.internalWebhookSecret, clock },
    wake: (changed) => chainFollower.wake(changed),
  });
  const idempotency = idempotencyModule.create({ connection, log, timings });
  const x402 = x402Module.create({
    ...{ connection, chains, env, clock, log, timings, processId, metrics: platform.metrics },
    credit: (agentId, kind, calls, session) => auth.credit(agentId, kind, calls, session),
  });
  const analytics = analyticsModule.create({
    ...{ connection, chains, indexers, standings, log, processId, timings },
    transactions: transactions.models.transactions,
    reached: () => chainProgress(connection).reached(),
  });
  const networks = networksModule.create({ chains, indexers, publicSubgraphUrls });
  const health = healthModule.create({
    ...{ connection, chains, indexers, log, now, search: search.state, encoders: search.encoders },
    reached: () => chainProgress(connection).reached(),
    quarantined: (network) => chainFollower.quarantined(network),
    disputeDelays: (network) => disputes.delays(network),
    keeper: (network) => keeper.state(network),
    outbox: () => outbox.state(),
    metrics: platform.metrics,
  });
  return {
    ...{
      admin,
      agents,
      auth,
      kya,
      developer,
      fees,
      search,
      listings,
      outbox,
      webhooks,
      events,
      memory,
      transactions,
      messages,
      checkout,
      criteria,
      disputes,
      keeper,
      reconciliation,
      timeline,
      chainFollower,
      idempotency,
      internal,
      x402,
      analytics,
      networks,
      health,
    },
  };
}
