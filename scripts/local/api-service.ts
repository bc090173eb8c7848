import { readFileSync } from "node:fs";
import { join } from "node:path";

import { localAccount, roleAccount } from "./facts.ts";
import { NETWORKS } from "./networks.ts";
import type { NetworkName } from "./networks.ts";
import { ROOT, SCRIPTS } from "./paths.ts";
import type { StackSecrets } from "./secrets.ts";
import type { ServiceDefinition } from "./supervisor.ts";

/** The stack's facts that the API and its worker need. */
export interface ApiOptions {
  readonly port: number;
  /** Whether the stack runs the chains itself. */
  readonly ownsChains: boolean;
  readonly mongodbUri: string;
  readonly rpcUrls: Readonly<Record<NetworkName, string>>;
  readonly subgraphUrls: Readonly<Record<NetworkName, string>>;
  /** Folder of the search index. */
  readonly searchDir: string;
  /** Folder of the packages that the API hands out. */
  readonly downloadsDir: string;
  /** Folder of the web pages' bundle. */
  readonly webDir: string;
  /** Paths of the deployment files. */
  readonly deployments: Readonly<Record<NetworkName, string>>;
  readonly secrets: StackSecrets;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The HTTP API. It is ready when it reports itself and every network as ready. */
export function apiService(options: ApiOptions, env: Environment): ServiceDefinition {
  const url = `http://127.0.0.1:${String(options.port)}`;
  return {
    name: "api",
    command: process.execPath,
    args: [SCRIPTS.api],
    cwd: ROOT,
    env: apiEnvironment(options, env),
    stage: 2,
    stop: { signal: "SIGTERM", timeoutMs: 3_000 },
    isReady: async () => {
      const answers = NETWORKS.map(async (network) => fetch(`${url}/ready?network=${network}`));
      return (await Promise.all(answers)).every(({ status }) => status === 200);
    },
  };
}

/** The process that follows the chain, sends webhooks and runs every other job. Ready when its log says so. */
export function workerService(options: ApiOptions, env: Environment, dir: string): ServiceDefinition {
  return {
    name: "worker",
    command: process.execPath,
    args: [SCRIPTS.worker],
    cwd: ROOT,
    env: { ...apiEnvironment(options, env), ...workerMetrics(env) },
    stage: 2,
    stop: { signal: "SIGTERM", timeoutMs: 3_000 },
    isReady: () => Promise.resolve(readFileSync(join(dir, "logs", "worker.log"), "utf8").includes("worker runs")),
  };
}

/** The port after the API's, because two processes can't share one. 0 takes any free port, so both may have it. */
function workerMetrics(env: Environment): Record<string, string> {
  const port = Number(given(env, "METRICS_PORT", "0"));
  return port === 0 || !Number.isInteger(port) ? {} : { METRICS_PORT: String(port + 1) };
}

/** A variable's value. An empty variable counts as unset, as in the API. */
export function given(env: Environment, name: string, otherwise: string): string {
  const value = env[name] ?? "";
  return value === "" ? otherwise : value;
}

function apiEnvironment(options: ApiOptions, env: Environment): Record<string, string> {
  const mode = given(env, "NODE_ENV", "development");
  return {
    NODE_ENV: mode,
    // Opens the faucet and the sandbox.
    LOCAL_STACK: given(env, "LOCAL_STACK", options.ownsChains && mode !== "production" ? "true" : "false"),
    HOST: "127.0.0.1",
    PORT: String(options.port),
    PUBLIC_URL: given(env, "PUBLIC_URL", `http://127.0.0.1:${String(options.port)}`),
    MONGODB_URI: options.mongodbUri,
    RPC_URL_BASE_SEPOLIA: options.rpcUrls["base-sepolia"],
    RPC_URL_BASE: options.rpcUrls.base,
    SUBGRAPH_URL_BASE_SEPOLIA: options.subgraphUrls["base-sepolia"],
    SUBGRAPH_URL_BASE: options.subgraphUrls.base,
    DEPLOYMENT_BASE_SEPOLIA: options.deployments["base-sepolia"],
    DEPLOYMENT_BASE: options.deployments.base,
    DOWNLOADS_DIR: given(env, "DOWNLOADS_DIR", options.downloadsDir),
    WEB_DIR: given(env, "WEB_DIR", options.webDir),
    SEARCH_INDEX_URL: given(env, "SEARCH_INDEX_URL", options.searchDir),
    WEBHOOK_SIGNING_SECRET: given(env, "WEBHOOK_SIGNING_SECRET", options.secrets.webhookSigningSecret),
    // Agents under development receive their webhooks on this machine.
    WEBHOOK_ALLOW_PRIVATE_HOSTS: given(env, "WEBHOOK_ALLOW_PRIVATE_HOSTS", "127.0.0.1"),
    // Nothing reorganises the local chains but a test.
    CONFIRMATIONS_BASE_SEPOLIA: given(env, "CONFIRMATIONS_BASE_SEPOLIA", "0"),
    CONFIRMATIONS_BASE: given(env, "CONFIRMATIONS_BASE", "0"),
    ...paymentEnvironment(env),
    ...disputeEnvironment(env),
    // Set to nothing: no keeper.
    KEEPER_PRIVATE_KEY: env["KEEPER_PRIVATE_KEY"] ?? localAccount(KEEPER_ACCOUNT).privateKey,
  };
}

/** Account of the local chains that ends deals. No role and no test uses it. */
const KEEPER_ACCOUNT = 10;

/** On the local stack a dispute is ruled while you watch. */
const EVIDENCE_SECONDS = "5";

/** Disputes are ruled on the local stack, by keys that are public there. */
function disputeEnvironment(env: Environment): Record<string, string> {
  const system = roleAccount("systemResolver").privateKey;
  const admin = roleAccount("adminResolver").privateKey;
  return {
    DISPUTE_EVIDENCE_SECONDS: given(env, "DISPUTE_EVIDENCE_SECONDS", EVIDENCE_SECONDS),
    // Without a key there are no admin routes.
    ADMIN_API_KEY: given(env, "ADMIN_API_KEY", ""),
    RESOLVER_KEY_BASE_SEPOLIA: given(env, "RESOLVER_KEY_BASE_SEPOLIA", system),
    RESOLVER_KEY_BASE: given(env, "RESOLVER_KEY_BASE", system),
    ADMIN_RESOLVER_KEY_BASE_SEPOLIA: given(env, "ADMIN_RESOLVER_KEY_BASE_SEPOLIA", admin),
    ADMIN_RESOLVER_KEY_BASE: given(env, "ADMIN_RESOLVER_KEY_BASE", admin),
  };
}

/** Accounts of the local chains that take and settle x402 payments. No role and no test uses them. */
const PAY_TO_ACCOUNT = 8;
const SETTLEMENT_ACCOUNT = 9;

/** Calls can be paid for on the local stack: the service settles with a key of its own, which is public. */
function paymentEnvironment(env: Environment): Record<string, string> {
  const settlesElsewhere = given(env, "X402_FACILITATOR_URL", "") !== "" || given(env, "X402_PAY_TO", "") !== "";
  if (settlesElsewhere) return {};
  return {
    X402_PAY_TO: localAccount(PAY_TO_ACCOUNT).address,
    X402_SETTLEMENT_KEY: given(env, "X402_SETTLEMENT_KEY", localAccount(SETTLEMENT_ACCOUNT).privateKey),
  };
}
