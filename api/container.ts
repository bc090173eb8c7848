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
  /** The loops of every feature, for each process of the API. */
  apiLoops: readonly BackgroundLoop[];
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
  const features = createFeatures(commonOf(platform, timings));
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
    loops: [platform.changes.loop, ...parts.flatMap(({ loops = [] }) => loops)],
    apiLoops: parts.flatMap(({ apiLoops = [] }) => apiLoops),
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

/** The parts of each feature, by the feature's name. */
type Features = { [Name in keyof typeof FEATURES]: ReturnType<(typeof FEATURES)[Name]["create"]> };
/** What any feature may take. */
type Common = ReturnType<typeof commonOf>;
/** The dependencies of a feature that aren't common. */
type Own<Deps> = {
  [
    Name in keyof Deps as Name extends keyof Common ? (Common[Name] extends Deps[Name] ? never : Name) : Name
  ]: Deps[Name];
};
type OwnOf<Name extends keyof Features> = Own<Parameters<(typeof FEATURES)[Name]["create"]>[0]>;

function commonOf(platform: Platform, timings: Timings) {
  const { env, clock, connection, chains } = platform;
  const progress = chainProgress(connection);
  return {
    ...platform,
    timings,
    progress,
    now: () => clock.now(),
    processId: `${hostname()}:${process.pid}:${randomBytes(PROCESS_ID_BYTES).toString("hex")}`,
    etherPrice: createEtherPrice(chains, clock),
    reached: () => progress.reached(),
    publicUrl: env.publicUrl,
    isLocalStack: env.isLocalStack,
    publicSubgraphUrls: env.publicSubgraphUrls,
    rpcUrls: env.rpcUrls,
    allowedPrivateHosts: env.webhookAllowPrivateHosts,
  };
}

/** What features take from the configuration and from each other, if they need more than what is common. */
const WIRING: {
  [Name in keyof Features as keyof OwnOf<Name> extends never ? never : Name]: (
    features: Features,
    common: Common,
  ) => OwnOf<Name>;
} = {
  identity: ({ agents: { models, standings }, stackWallets }, { connection }) => ({
    models,
    standings,
    requireStackWallet: (address) => stackWallets.list.require(address),
    onRegistered: async (agent, session) => {
      await newcomersOf(connection).add(agent, session);
      await standings.adopt(agent.agentId, agent.wallet, session);
    },
  }),
  sessions: ({ agents, identity, stackWallets }) => ({
    models: agents.models,
    verifySignIn: identity.verifySignIn,
    apiKeys: identity.services.apiKeys,
    requireStackWallet: (address) => stackWallets.list.require(address),
  }),
  limits: ({ agents }, { env }) => ({ models: agents.models, limits: env.limits }),
  agents: (_, { connection }) => {
    const scores = scoreCopiesOf(connection);
    return {
      declinesOf: declineRecordsOf(connection),
      onScores: (copied, options) => scores.take(copied, options),
    };
  },
  kya: ({ agents }) => ({ agents: agents.models }),
  developer: ({ kya }, { env }) => ({ mail: env.mail, levels: kya.levels }),
  fees: (_, { chains, indexers }) => ({ chain: chains[MAINNET], indexer: indexers[MAINNET] }),
  listings: ({ agents, discovery }) => ({
    embedder: discovery.embedder,
    search: discovery.discovery,
    standings: agents.standings,
  }),
  discovery: ({ agents: { standings, directory } }, { env }) => ({
    standings,
    directory,
    provider: env.embeddingProvider,
    indexUrl: env.searchIndexUrl,
    indexStore: env.searchIndexStore,
  }),
  checkout: ({ listings, kya, criteria, approvals }) => ({
    findListing: (serviceId) => listings.listings.get(serviceId),
    kyaLevelOf: (agentId) => kya.levels.readLevel(agentId),
    evaluator: criteria.evaluator,
    approvals: approvals.services.approvals,
  }),
  approvals: ({ events }) => ({ recorder: events.recorder }),
  moderation: ({ agents, events, limits, listings, messages }) => ({
    agents: agents.models.agents,
    listings: listings.models.listings,
    recorder: events.recorder,
    countCall: limits.countCall,
    findReceived: (agentId, messageId) => messages.findReceived(agentId, messageId),
  }),
  transactions: ({ events, listings, webhooks }, { env }) => ({
    recorder: events.recorder,
    endpoints: listings.endpoints,
    secrets: env.webhookSigningSecrets.length === 0 ? undefined : webhooks.secrets,
  }),
  criteria: ({ transactions }) => ({ reader: transactions.reader }),
  disputes: ({ transactions, criteria, discovery }, { env }) => ({
    settings: env.disputes,
    transactions: transactions.models.transactions,
    reader: transactions.reader,
    evaluator: criteria.evaluator,
    // Its numbers are tuned to this encoder, and evidence is sent to no other server.
    encoder: discovery.encoders.embedded,
  }),
  events: ({ outbox, memory, identity }, { connection }) => ({
    outbox: outbox.writer,
    subscriptions: subscriptionsOf(connection),
    audit: memory.audit,
    keys: identity.keyStates,
  }),
  memory: ({ discovery: { encoders, embedder, indexes } }, { env }) => ({
    encoders,
    embedder,
    indexes,
    quota: env.memoryQuota,
  }),
  webhooks: ({ outbox, events }, { env }) => ({
    outbox,
    recorder: events.recorder,
    eventLog: events.services.eventLog,
    signingSecrets: env.webhookSigningSecrets,
  }),
  messages: ({ agents, events, transactions }) => ({
    recorder: events.recorder,
    events: events.models.events,
    findAgent: (agentId) => agents.directory.byId(agentId),
    findTransaction: (transactionId, agentId) => transactions.reader.read(transactionId, agentId),
  }),
  timeline: ({ transactions, memory, outbox, messages }) => ({
    reader: transactions.reader,
    audit: memory.audit,
    dispatches: outbox.models.dispatches,
    messagesOf: messages.messagesOf,
  }),
  x402: ({ limits }) => ({
    credit: (agentId, kind, calls, session) => limits.credit(agentId, kind, calls, session),
  }),
  analytics: ({ agents, transactions }) => ({
    standings: agents.standings,
    transactions: transactions.models.transactions,
  }),
  market: ({ agents, analytics, disputes, health, listings, transactions }, { env }) => ({
    figures: analytics.models.figures,
    disputes: disputes.models.disputes,
    listings: listings.models.listings,
    transactions: transactions.models.transactions,
    models: agents.models,
    standings: agents.standings,
    directory: agents.directory,
    chainNow: (network) => transactions.reader.chainNow(network),
    readiness: health.services.readiness,
    confirmations: env.confirmations,
  }),
  health: ({ discovery, chainFollower, disputes, keeper, outbox }) => ({
    search: discovery.state,
    encoders: discovery.encoders,
    quarantined: (network) => chainFollower.quarantined(network),
    disputeDelays: (network) => disputes.delays(network),
    keeper: (network) => keeper.state(network),
    outbox: () => outbox.state(),
  }),
  chainFollower: ({ agents, events, listings, transactions, disputes, webhooks }, { env }) => ({
    pushSecret: env.internalWebhookSecret,
    confirmations: env.confirmations,
    recorder: events.recorder,
    endpoints: listings.endpoints,
    transactions: transactions.models.transactions,
    wallets: agents.directory,
    disputes: disputes.store,
    onSettled: async (network, wallets) => {
      await agents.standings.sync(network, wallets);
    },
    onAnnounced: () => {
      webhooks.dispatcher.wake();
    },
  }),
  faucet: ({ limits }) => ({ countCall: limits.countCall }),
  sandbox: ({ limits }) => ({ countCall: limits.countCall }),
  stackWallets: ({ faucet }) => ({ faucet: faucet.services.faucet }),
  downloads: (_, { env }) => ({ dir: env.downloadsDir }),
  crawlers: ({ listings, docs }) => ({ published: listings.published, guideNames: docs.guideNames }),
  erc8004: ({ agents, limits }, { env }) => ({
    registries: env.identityRegistries,
    directory: agents.directory,
    countClient: (ip) => limits.admissionControl.countAnonymous(ip),
  }),
  pages: (_, { env }) => ({ dir: env.webDir }),
  admin: (_, { env }) => ({ adminApiKey: env.adminApiKey }),
  keeper: ({ events, transactions, webhooks }, { env, chains }) => ({
    settings: env.keeper,
    deployments: { "base-sepolia": chains["base-sepolia"].deployment, base: chains.base.deployment },
    recorder: events.recorder,
    transactions: transactions.models.transactions,
    onAnnounced: () => {
      webhooks.dispatcher.wake();
    },
  }),
  reconciliation: ({ agents, transactions }, { connection }) => ({
    standings: agents.models.standings,
    transactions: transactions.models.transactions,
    rechecks: recheckQueueOf(connection),
    syncScores: (network, wallets) => agents.standings.sync(network, wallets),
  }),
};

/** Creates every feature, each before the first one that takes something of it. */
function createFeatures(common: Common): Features {
  const features = {} as Features;
  const wiring: Readonly<Record<string, (features: Features, common: Common) => object>> = WIRING;
  for (const [name, { create }] of Object.entries(FEATURES)) {
    const replace = (property: PropertyDescriptor) =>
      Object.defineProperty(features, name, { ...property, enumerable: true, configurable: true });
    replace({
      get() {
        const parts = create({ ...common, ...wiring[name]?.(features, common) } as never);
        replace({ value: parts });
        return parts;
      },
    });
  }
  return { ...features };
}
