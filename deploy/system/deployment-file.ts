import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";

import type { SettlementNetwork } from "../networks.ts";
import { problem } from "./problem.ts";

/** A proxy's creation arguments. Upgrades and changes of roles or tokens don't alter them. */
export interface ProxyCreation {
  implementation: string;
  /** The initializing call. */
  initData: string;
}

/** The addresses of one contract. `txHash` is the transaction that created the proxy. */
export interface DeployedContract {
  proxy: string;
  implementation: string;
  txHash: string;
  created: ProxyCreation;
}

/** Who holds which role. */
export interface DeployedRoles {
  owner: string;
  treasury: string;
  pauser: string;
  systemResolver: string;
  adminResolver: string;
}

/** A listed token. `feed` is the zero address for a token valued at one US dollar; `minAmount` is in token units. */
export interface DeployedToken {
  symbol: string;
  address: string;
  decimals: number;
  feed: string;
  maxPriceAge: number;
  minAmount: string;
}

/** The timelock that owns the contracts on `base`. */
export interface DeployedGovernance {
  timelock: string;
  multisig: string;
  minDelaySeconds: number;
  /** Its creation arguments. */
  created: { multisig: string; minDelaySeconds: number };
}

/** `deployments/<network>.json`. */
export interface Deployment {
  network: SettlementNetwork;
  chainId: number;
  /** Block in which the proxies were created. */
  startBlock: number;
  contracts: { escrow: DeployedContract; score: DeployedContract; resolver: DeployedContract };
  /** The token that the escrow contract's implementations have as an immutable: the first one listed. */
  mainToken: string;
  roles: DeployedRoles;
  governance?: DeployedGovernance;
  tokens: DeployedToken[];
}

/** The three contracts by what they do. */
export type ContractKey = keyof Deployment["contracts"];

/** Reads a deployment file; undefined when it doesn't exist. */
export async function readDeployment(file: string): Promise<Deployment | undefined> {
  return (await readJson(file)) as Deployment | undefined;
}

/** Writes a deployment file atomically. */
export async function writeDeployment(file: string, deployment: Deployment): Promise<void> {
  await writeJson(file, deployment);
}

/** Writes a deployment to graph-cli's networks.json and keeps the other networks. */
export async function mergeNetworksFile(file: string, deployment: Deployment): Promise<void> {
  const networks = ((await readJson(file)) ?? {}) as Record<string, unknown>;
  const { escrow, score, resolver } = deployment.contracts;
  const { startBlock } = deployment;
  const merged = {
    ...networks,
    [deployment.network]: {
      EscrowV2: { address: escrow.proxy, startBlock },
      ScoreV2: { address: score.proxy, startBlock },
      ResolverV2: { address: resolver.proxy, startBlock },
    },
  };
  if (JSON.stringify(merged) !== JSON.stringify(networks)) await writeJson(file, merged);
}

async function readJson(file: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw problem(`${file} is not JSON: correct it, or remove it to have it written again`, error as Error);
  }
}

async function writeJson(file: string, value: unknown): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}.tmp`;
  await writeFile(draft, `${JSON.stringify(value, null, 2)}\n`);
  await rename(draft, file);
}
