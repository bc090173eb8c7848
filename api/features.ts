import { adminModule } from "./features/admin/module.ts";
import { agentsModule } from "./features/agents/module.ts";
import { analyticsModule } from "./features/analytics/module.ts";
import { approvalsModule } from "./features/approvals/module.ts";
import { categoriesModule } from "./features/categories/module.ts";
import { chainFollowerModule } from "./features/chain-follower/module.ts";
import { checkoutModule } from "./features/checkout/module.ts";
import { crawlersModule } from "./features/crawlers/module.ts";
import { criteriaModule } from "./features/criteria/module.ts";
import { developerModule } from "./features/developer/module.ts";
import { disputesModule } from "./features/disputes/module.ts";
import { docsModule } from "./features/docs/module.ts";
import { downloadsModule } from "./features/downloads/module.ts";
import { erc8004Module } from "./features/erc8004/module.ts";
import { eventsModule } from "./features/events/module.ts";
import { faucetModule } from "./features/faucet/module.ts";
import { feesModule } from "./features/fees/module.ts";
import { healthModule } from "./features/health/module.ts";
import { idempotencyModule } from "./features/idempotency/module.ts";
import { identityModule } from "./features/identity/module.ts";
import { keeperModule } from "./features/keeper/module.ts";
import { kyaModule } from "./features/kya/module.ts";
import { limitsModule } from "./features/limits/module.ts";
import { listingsModule } from "./features/listings/module.ts";
import { marketModule } from "./features/market/module.ts";
import { memoryModule } from "./features/memory/module.ts";
import { messagesModule } from "./features/messages/module.ts";
import { moderationModule } from "./features/moderation/module.ts";
import { networksModule } from "./features/networks/module.ts";
import { outboxModule } from "./features/outbox/module.ts";
import { reconciliationModule } from "./features/reconciliation/module.ts";
import { discoveryModule } from "./features/discovery/module.ts";
import { sandboxModule } from "./features/sandbox/module.ts";
import { sessionsModule } from "./features/sessions/module.ts";
import { stackWalletsModule } from "./features/stack-wallets/module.ts";
import { pagesModule } from "./features/pages/module.ts";
import { timelineModule } from "./features/timeline/module.ts";
import { transactionsModule } from "./features/transactions/module.ts";
import { webhooksModule } from "./features/webhooks/module.ts";
import { x402Module } from "./features/x402/module.ts";
import { PIPELINE_TIMINGS } from "./http/pipeline.ts";

/** Every feature, in the order in which the API's description has their routes. What they take of each other is wired in `container.ts`. */
export const FEATURES = {
  identity: identityModule,
  sessions: sessionsModule,
  limits: limitsModule,
  agents: agentsModule,
  kya: kyaModule,
  developer: developerModule,
  fees: feesModule,
  categories: categoriesModule,
  listings: listingsModule,
  discovery: discoveryModule,
  checkout: checkoutModule,
  approvals: approvalsModule,
  moderation: moderationModule,
  transactions: transactionsModule,
  criteria: criteriaModule,
  disputes: disputesModule,
  events: eventsModule,
  memory: memoryModule,
  webhooks: webhooksModule,
  messages: messagesModule,
  timeline: timelineModule,
  x402: x402Module,
  analytics: analyticsModule,
  market: marketModule,
  networks: networksModule,
  faucet: faucetModule,
  sandbox: sandboxModule,
  stackWallets: stackWalletsModule,
  health: healthModule,
  chainFollower: chainFollowerModule,
  docs: docsModule,
  downloads: downloadsModule,
  crawlers: crawlersModule,
  erc8004: erc8004Module,
  pages: pagesModule,
  admin: adminModule,
  idempotency: idempotencyModule,
  keeper: keeperModule,
  outbox: outboxModule,
  reconciliation: reconciliationModule,
};

type Feature = (typeof FEATURES)[keyof typeof FEATURES];
type Intersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** What all features give their routes' handlers, by name. */
export type FeatureServices = Intersection<ReturnType<Feature["create"]>["services"]>;

/** Durations for waits and background work. Tests shorten them. */
export type Timings = Intersection<NonNullable<Feature["timings"]> | typeof PIPELINE_TIMINGS>;

/** Every route of the API. */
export const FEATURE_ROUTES = Object.values(FEATURES).flatMap(({ routes }) => [...routes]);

/** The default timings. */
export const TIMINGS = Object.assign(
  {},
  PIPELINE_TIMINGS,
  ...Object.values(FEATURES).map(({ timings }: { timings?: object }) => timings),
) as Timings;
