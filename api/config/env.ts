import { z } from "zod";

import { MEMORY_QUOTA } from "./constants.ts";
import type { Network } from "./constants.ts";
import { disputeProblems, disputeSettings, disputeVariables } from "./disputes.ts";
import type { DisputeSettings } from "./disputes.ts";
import { embeddingProblems, embeddingProvider, embeddingVariables } from "./embeddings.ts";
import type { EmbeddingProvider } from "./embeddings.ts";
import { identityRegistries, identityRegistryVariables } from "./identity-registries.ts";
import type { IdentityRegistries } from "./identity-registries.ts";
import { keeperSettings, keeperVariables, senderProblems } from "./keeper.ts";
import type { KeeperSettings } from "./keeper.ts";
import { limitsOf, limitVariables } from "./limits.ts";
import type { Limits } from "./limits.ts";
import { privateKey } from "./private-key.ts";
import { searchIndexProblems, searchIndexStore, searchIndexVariables } from "./search-index.ts";
import type { ObjectStoreSettings } from "./search-index.ts";
import { x402Problems, x402Settings, x402Variables } from "./x402.ts";
import type { X402Settings } from "./x402.ts";

/** Thrown when the environment is invalid. The message names each faulty variable and says what is wrong. */
export class ConfigurationError extends Error {
  constructor(problems: readonly string[]) {
    super(`The configuration is not usable:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.name = "ConfigurationError";
  }
}

const httpUrl = z.url({ protocol: /^https?$/, error: "must be an http or https address" });

/** A public URL, so it must not contain a secret. */
const publicHttpUrl = httpUrl.refine(
  (url) => !URL.canParse(url) || !hasCredentials(new URL(url)),
  "is public and must not contain a user name or password",
);

const commaSeparated = z.string().transform((text) =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== ""),
);

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`));

const MIN_SECRET_LENGTH = 32;
/** About four seconds on Base. Its reorganisations are rare and shallow. */
const DEFAULT_CONFIRMATIONS = 2;
const MAX_CONFIRMATIONS = 1_000;

const siteOrigin = z
  .string()
  .refine(
    (text) => text === "*" || (URL.canParse(text) && new URL(text).origin === text),
    "must list origins such as https://app.example, or be *",
  );
/** Visible ASCII without spaces, so that the key is one word of an Authorization header. */
const ADMIN_KEY = new RegExp(`^[\\x21-\\x7e]{${MIN_SECRET_LENGTH},}$`);

const variables = z.object({
  NODE_ENV: z.enum(["development", "test", "production"]).default("development"),
  LOCAL_STACK: z.enum(["true", "false"], "must be true or false").default("false"),
  LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
  HOST: z.string().default("127.0.0.1"),
  PORT: wholeNumber(0, 65_535).default(3_000),
  PUBLIC_URL: httpUrl.optional(),
  DOWNLOADS_DIR: z.string().default(".local/downloads"),
  WEB_DIR: z.string().default("web/dist"),
  CORS_ORIGINS: commaSeparated.pipe(z.array(siteOrigin)).default([]),
  METRICS_PORT: wholeNumber(0, 65_535).optional(),
  TRUST_PROXY: wholeNumber(0, 10).default(0),
  CONNECTIONS_PER_ADDRESS: wholeNumber(0, 1_000_000).default(200),
  MONGODB_URI: z.string().regex(/^mongodb(\+srv)?:\/\//, "must be a mongodb:// or mongodb+srv:// address"),
  RPC_URL_BASE_SEPOLIA: httpUrl,
  RPC_URL_BASE: httpUrl,
  SUBGRAPH_URL_BASE_SEPOLIA: httpUrl,
  SUBGRAPH_URL_BASE: httpUrl,
  SUBGRAPH_PUBLIC_URL_BASE_SEPOLIA: publicHttpUrl.optional(),
  SUBGRAPH_PUBLIC_URL_BASE: publicHttpUrl.optional(),
  DEPLOYMENT_BASE_SEPOLIA: z.string().default("deploy/deployments/base-sepolia.json"),
  DEPLOYMENT_BASE: z.string().default("deploy/deployments/base.json"),
  WEBHOOK_SIGNING_SECRET: commaSeparated.default([]),
  WEBHOOK_ALLOW_PRIVATE_HOSTS: commaSeparated.default([]),
  ADMIN_API_KEY: z
    .string()
    .regex(ADMIN_KEY, `must have ${MIN_SECRET_LENGTH} characters or more, all of them visible ASCII`)
    .optional(),
  REQUIRE_REQUEST_SIGNATURES: z.enum(["true", "false"], "must be true or false").default("false"),
  INTERNAL_WEBHOOK_SECRET: z
    .string()
    .min(MIN_SECRET_LENGTH, `must have ${MIN_SECRET_LENGTH} characters or more`)
    .optional(),
  SMTP_URL: z.url({ protocol: /^smtps?$/, error: "must be an smtp:// or smtps:// address" }).optional(),
  MAIL_FROM: z
    .string()
    .regex(/^[^\r\n]+@[^\r\n]+$/, "must be an address such as `Market <no-reply@market.example>`")
    .optional(),
  FOLLOWER_POLL_MS: wholeNumber(10, 60_000).default(100),
  CONFIRMATIONS_BASE_SEPOLIA: wholeNumber(0, MAX_CONFIRMATIONS).default(DEFAULT_CONFIRMATIONS),
  CONFIRMATIONS_BASE: wholeNumber(0, MAX_CONFIRMATIONS).default(DEFAULT_CONFIRMATIONS),
  MEMORY_MAX_ENTRIES: wholeNumber(1, 1_000_000).default(MEMORY_QUOTA.entries),
  MEMORY_MAX_BYTES: wholeNumber(1, 1_000_000_000_000).default(MEMORY_QUOTA.bytes),
  ...identityRegistryVariables,
  ...limitVariables,
  ...x402Variables,
  ...disputeVariables,
  ...keeperVariables,
  ...embeddingVariables,
  ...searchIndexVariables,
});

/** Configuration from the environment. */
export interface Env {
  mode: "development" | "test" | "production";
  /** Whether this is the local stack: it says so itself, and its chains are on loopback. */
  isLocalStack: boolean;
  logLevel: string;
  host: string;
  port: number;
  /** URL at which clients reach the API, without a trailing slash. Sign-in messages must name it. */
  publicUrl: string;
  /** Folder of the packages that the API hands out. */
  downloadsDir: string;
  /** Folder of the web pages' bundle. */
  webDir: string;
  /** Sites whose scripts may call the API; `*` for all. */
  corsOrigins: readonly string[];
  /** Port for Prometheus; undefined for none. */
  metricsPort: number | undefined;
  /** Number of proxies in front of the API; 0 means that the peer address is the client's. */
  trustedProxies: number;
  /** Connections that one client address may have at an API process; undefined for any number. */
  connectionsPerAddress: number | undefined;
  mongodbUri: string;
  rpcUrls: Readonly<Record<Network, string>>;
  /** Subgraph URLs to query. They are never shown, because a hosted gateway's URL contains its API key. */
  subgraphUrls: Readonly<Record<Network, string>>;
  /** Public subgraph URLs; null when there is none. */
  publicSubgraphUrls: Readonly<Record<Network, string | null>>;
  /** Paths of the deployment files. */
  deploymentFiles: Readonly<Record<Network, string>>;
  /** The registries of ERC-8004. */
  identityRegistries: IdentityRegistries;
  /** Master secrets that webhook secrets are derived from; the position in the list is the version. */
  webhookSigningSecrets: readonly string[];
  /** Private hosts and addresses that the address check allows. */
  webhookAllowPrivateHosts: readonly string[];
  /** Key of the admin routes; undefined for a service without them. */
  adminApiKey: string | undefined;
  /** Whether requests with an API key must be signed by the wallet. */
  requireRequestSignatures: boolean;
  /** Signs what RPC providers push to `/internal/webhooks/chain`. */
  internalWebhookSecret: string | undefined;
  /** The mail server; `log` outside of production without one, `none` in production without one. */
  mail: { smtpUrl: string; from: string } | "log" | "none";
  /** Where the search index is: a folder, or a prefix of an object store. API and worker need the same one. */
  searchIndexUrl: string;
  /** The object store that has it; undefined unless the address is one of S3. */
  searchIndexStore: ObjectStoreSettings | undefined;
  /** Interval at which the follower polls a subgraph, in milliseconds. */
  followerPollMs: number;
  /** How many blocks must follow a move's block before the move is announced. */
  confirmations: Readonly<Record<Network, number>>;
  limits: Limits;
  /** An agent's memory quota: entries, and bytes of all kept versions. */
  memoryQuota: { entries: number; bytes: number };
  /** Payments per call. */
  x402: X402Settings;
  disputes: DisputeSettings;
  keeper: KeeperSettings;
  /** The server that embeds texts; undefined for the embedded encoder. */
  embeddingProvider: EmbeddingProvider | undefined;
}

/**
 * Reads the configuration.
 * @param source the variables; the process environment by default
 * @throws ConfigurationError naming every missing or invalid variable
 */
export function loadEnv(source: Readonly<Record<string, string | undefined>> = process.env): Env {
  const env = readVariables(variables, source);
  const problems = [
    ...[...x402Problems(env), ...disputeProblems(env), ...senderProblems(env)],
    ...[...embeddingProblems(env), ...searchIndexProblems(env)],
  ];
  if (problems.length > 0) throw new ConfigurationError(problems);
  if (env.NODE_ENV === "production") refuseWeakProduction(env.WEBHOOK_SIGNING_SECRET, env.LOCAL_STACK);
  const publicUrl = (env.PUBLIC_URL ?? `http://${env.HOST}:${env.PORT}`).replace(/\/+$/, "");
  return {
    mode: env.NODE_ENV,
    isLocalStack: env.LOCAL_STACK === "true" && [env.RPC_URL_BASE_SEPOLIA, env.RPC_URL_BASE].every(isLoopback),
    logLevel: env.LOG_LEVEL,
    host: env.HOST,
    port: env.PORT,
    publicUrl,
    downloadsDir: env.DOWNLOADS_DIR,
    webDir: env.WEB_DIR,
    corsOrigins: env.CORS_ORIGINS,
    metricsPort: env.METRICS_PORT,
    trustedProxies: env.TRUST_PROXY,
    // Behind a proxy, all connections have its address.
    connectionsPerAddress:
      env.TRUST_PROXY > 0 || env.CONNECTIONS_PER_ADDRESS === 0 ? undefined : env.CONNECTIONS_PER_ADDRESS,
    mongodbUri: env.MONGODB_URI,
    ...chainSettingsOf(env),
    subgraphUrls: { "base-sepolia": env.SUBGRAPH_URL_BASE_SEPOLIA, base: env.SUBGRAPH_URL_BASE },
    publicSubgraphUrls: {
      "base-sepolia": env.SUBGRAPH_PUBLIC_URL_BASE_SEPOLIA ?? ifLoopback(env.SUBGRAPH_URL_BASE_SEPOLIA),
      base: env.SUBGRAPH_PUBLIC_URL_BASE ?? ifLoopback(env.SUBGRAPH_URL_BASE),
    },
    identityRegistries: identityRegistries(env),
    webhookSigningSecrets: env.WEBHOOK_SIGNING_SECRET,
    webhookAllowPrivateHosts: env.WEBHOOK_ALLOW_PRIVATE_HOSTS,
    adminApiKey: env.ADMIN_API_KEY,
    requireRequestSignatures: env.REQUIRE_REQUEST_SIGNATURES === "true",
    internalWebhookSecret: env.INTERNAL_WEBHOOK_SECRET,
    mail: mailOf(env, publicUrl),
    searchIndexUrl: env.SEARCH_INDEX_URL.replace(/\/+$/, ""),
    searchIndexStore: searchIndexStore(env),
    followerPollMs: env.FOLLOWER_POLL_MS,
    confirmations: { "base-sepolia": env.CONFIRMATIONS_BASE_SEPOLIA, base: env.CONFIRMATIONS_BASE },
    limits: limitsOf(env),
    memoryQuota: { entries: env.MEMORY_MAX_ENTRIES, bytes: env.MEMORY_MAX_BYTES },
    x402: x402Settings(env),
    disputes: disputeSettings(env),
    keeper: keeperSettings(env),
    embeddingProvider: embeddingProvider(env),
  };
}

/**
 * Reads the address of the database, for commands that need nothing else.
 * @throws ConfigurationError when it is missing or invalid
 */
export function loadDatabaseUri(source: Readonly<Record<string, string | undefined>> = process.env): string {
  return readVariables(variables.pick({ MONGODB_URI: true }), source).MONGODB_URI;
}

/** Settings of the commands that read the chains. */
export type ChainSettings = Pick<Env, "rpcUrls" | "deploymentFiles">;

/**
 * Reads where the chains are, for commands that need little else.
 * @throws ConfigurationError when it is missing or invalid
 */
export function loadChainSettings(source: Readonly<Record<string, string | undefined>> = process.env): ChainSettings {
  return chainSettingsOf(readVariables(variables.pick(CHAIN_VARIABLES), source));
}

/** Settings of the rebate payment. */
export interface RebateSettings {
  mongodbUri: string;
  /** JSON-RPC server of the mainnet. */
  rpcUrl: string;
  /** Key of the wallet that pays; undefined if none is configured. */
  payerKey: `0x${string}` | undefined;
}

/**
 * Reads the settings of `npm run rebates:pay`. No other process reads the key.
 * @throws ConfigurationError when one is missing or invalid
 */
export function loadRebateSettings(source: Readonly<Record<string, string | undefined>> = process.env): RebateSettings {
  const env = readVariables(
    variables.pick({ MONGODB_URI: true, RPC_URL_BASE: true }).extend({ REBATE_PAYER_KEY_BASE: privateKey.optional() }),
    source,
  );
  return { mongodbUri: env.MONGODB_URI, rpcUrl: env.RPC_URL_BASE, payerKey: env.REBATE_PAYER_KEY_BASE };
}

const CHAIN_VARIABLES = {
  RPC_URL_BASE_SEPOLIA: true,
  RPC_URL_BASE: true,
  DEPLOYMENT_BASE_SEPOLIA: true,
  DEPLOYMENT_BASE: true,
} as const;

function chainSettingsOf(env: Pick<z.output<typeof variables>, keyof typeof CHAIN_VARIABLES>): ChainSettings {
  return {
    rpcUrls: { "base-sepolia": env.RPC_URL_BASE_SEPOLIA, base: env.RPC_URL_BASE },
    deploymentFiles: { "base-sepolia": env.DEPLOYMENT_BASE_SEPOLIA, base: env.DEPLOYMENT_BASE },
  };
}

function readVariables<T>(schema: z.ZodType<T>, source: Readonly<Record<string, string | undefined>>): T {
  // An empty variable counts as unset: shells and compose files pass unset variables as empty.
  const given = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined && value !== ""));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new ConfigurationError(
    parsed.error.issues.map((issue) => {
      const name = issue.path.join(".");
      return given[name] === undefined ? `${name} is missing` : `${name} ${issue.message}`;
    }),
  );
}

function hasCredentials({ username, password }: URL): boolean {
  return username !== "" || password !== "";
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** The local stack's subgraph URL contains no key and can be public; any other URL might contain one. */
function ifLoopback(address: string): string | null {
  return isLoopback(address) && !hasCredentials(new URL(address)) ? address : null;
}

function isLoopback(address: string): boolean {
  return LOOPBACK.test(new URL(address).hostname);
}

/** Without a server, mails go to the log, but not in production: readers of its logs must not get tokens. */
function mailOf(
  { SMTP_URL, MAIL_FROM, NODE_ENV }: Pick<z.output<typeof variables>, "SMTP_URL" | "MAIL_FROM" | "NODE_ENV">,
  publicUrl: string,
): Env["mail"] {
  if (SMTP_URL === undefined) return NODE_ENV === "production" ? "none" : "log";
  return { smtpUrl: SMTP_URL, from: MAIL_FROM ?? `no-reply@${new URL(publicUrl).hostname}` };
}

/** Production requires a webhook signing secret: without one, receivers can't verify webhooks. It hands out no money. */
function refuseWeakProduction(secrets: readonly string[], localStack: "true" | "false"): void {
  if (localStack === "true") {
    throw new ConfigurationError(["LOCAL_STACK must not be true with NODE_ENV=production: it is for the local stack"]);
  }
  if (secrets.length === 0) throw new ConfigurationError(["WEBHOOK_SIGNING_SECRET is missing: production needs it"]);
  if (secrets.some((secret) => secret.length < MIN_SECRET_LENGTH)) {
    throw new ConfigurationError([`WEBHOOK_SIGNING_SECRET must have ${MIN_SECRET_LENGTH} characters or more each`]);
  }
}
