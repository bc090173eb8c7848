import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Deployment } from "../../deploy/system/deployment-file.ts";
import { readDeployment } from "../../deploy/system/deployment-file.ts";
import { rpc } from "./chain.ts";
import { hashFiles } from "./file-hash.ts";
import { withLock } from "./lock.ts";
import type { NetworkName } from "./networks.ts";
import { HARDHAT_NETWORKS } from "./networks.ts";
import { CACHE_DIR, CONTRACTS, ROOT, SCRIPTS } from "./paths.ts";
import type { RunJob } from "./supervisor.ts";

/** The result of a step: "done", or "unchanged" when there was nothing to do. */
export type StepResult = "done" | "unchanged";

/** Which contracts to compile: all, or those that a stack deploys and calls, which takes two thirds of the time. */
export type ContractScope = "all" | "deployed";

/** Sources of what the deploy tasks, the demos and the stack's wallets use, by the names that Hardhat gives them. */
const DEPLOYED = [
  "contracts/EscrowV2.sol",
  "contracts/ScoreV2.sol",
  "contracts/ResolverV2.sol",
  "contracts/MarketplaceDeployment.sol",
  "contracts/interfaces/IPriceFeed.sol",
  "contracts/mocks/IdentityRegistry.sol",
  "contracts/mocks/IUsdc.sol",
  "contracts/mocks/IWeth9.sol",
  "contracts/mocks/MockPriceFeed.sol",
  "contracts/mocks/ReputationRegistry.sol",
  "contracts/mocks/UsdcFaucet.sol",
  "npm:@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol",
  "npm:@openzeppelin/contracts/governance/TimelockController.sol",
] as const;

/**
 * Compiles the contracts and generates their bindings, unless that was done for the same sources. Stacks of one
 * checkout take turns, because they share the compiler's output.
 * @param signal ends the wait for another stack
 */
export async function buildContracts(run: RunJob, signal: AbortSignal, scope: ContractScope): Promise<StepResult> {
  return await withLock(join(CACHE_DIR, "contracts.lock"), signal, async () => {
    const stampOf = (compiled: ContractScope): string => join(CONTRACTS.cache, `local-build-${compiled}.txt`);
    const hash = hashFiles([CONTRACTS.sources, CONTRACTS.config, join(ROOT, "package-lock.json")]);
    const stands = [CONTRACTS.artifacts, CONTRACTS.types].every((path) => existsSync(path));
    const stamps = [stampOf("all"), stampOf(scope)];
    if (stands && stamps.some((stamp) => existsSync(stamp) && readFileSync(stamp, "utf8") === hash)) return "unchanged";
    await run({
      name: "contracts-build",
      command: process.execPath,
      args: [SCRIPTS.hardhat, "build", "--no-tests", ...(scope === "all" ? [] : DEPLOYED)],
      cwd: ROOT,
    });
    mkdirSync(CONTRACTS.cache, { recursive: true });
    writeFileSync(stampOf(scope), hash);
    return "done";
  });
}

/** The deploy task's output for a local network. */
export function deploymentFile(outDir: string, network: NetworkName): string {
  return join(outDir, `${HARDHAT_NETWORKS[network]}.json`);
}

/** Deploys the contracts to a local chain, unless those of the same sources are there. */
export async function deployContracts(
  network: NetworkName,
  rpcPort: number,
  outDir: string,
  run: RunJob,
): Promise<StepResult> {
  const stamp = join(outDir, `${network}.deployed.txt`);
  const hash = hashFiles([CONTRACTS.sources, CONTRACTS.deploy, CONTRACTS.config], isRecord);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === hash && (await standsOnChain(network, rpcPort, outDir))) {
    return "unchanged";
  }
  const url = `http://127.0.0.1:${String(rpcPort)}`;
  await run({
    name: `deploy-${network}`,
    command: process.execPath,
    args: [SCRIPTS.hardhat, "deploy", "--network", HARDHAT_NETWORKS[network], "--out-dir", outDir, "--no-compile"],
    cwd: ROOT,
    env: { [network === "base" ? "RPC_URL_BASE" : "RPC_URL_BASE_SEPOLIA"]: url },
  });
  writeFileSync(stamp, hash);
  return "done";
}

/** Reads the deployment of a local network. @throws Error when there is none */
export async function requireDeployment(network: NetworkName, outDir: string): Promise<Deployment> {
  const file = deploymentFile(outDir, network);
  const deployment = await readDeployment(file);
  if (deployment === undefined) throw new Error(`The deploy task did not write ${file}.`);
  return deployment;
}

async function standsOnChain(network: NetworkName, rpcPort: number, outDir: string): Promise<boolean> {
  const deployment = await readDeployment(deploymentFile(outDir, network));
  if (deployment === undefined) return false;
  const addresses = Object.values(deployment.contracts).flatMap(({ proxy, implementation }) => [proxy, implementation]);
  const codes = await Promise.all(addresses.map((address) => rpc(rpcPort, "eth_getCode", [address, "latest"])));
  return codes.every((code) => code !== "0x");
}

/** Deployments write files of their own below the deploy folder. */
const isRecord = (file: string): boolean => file.startsWith("deployments");
