import path from "node:path";

import type { Provider, Signer } from "ethers";

import { findCodeDifferences } from "../check/check-code.ts";
import { readNotes } from "../check/check-notes.ts";
import type { Difference } from "../check/check.ts";
import { describeDifferences, findDifferences, stands } from "../check/check.ts";
import { DEPLOY_TARGETS, NETWORKS } from "../networks.ts";
import type { RpcRequest } from "../system/connection.ts";
import { deploySystem } from "../system/contracts.ts";
import type { Deployment } from "../system/deployment-file.ts";
import { mergeNetworksFile, readDeployment, writeDeployment } from "../system/deployment-file.ts";
import { problem } from "../system/problem.ts";
import { prepareLocalChain } from "./local-chain.ts";
import { resolveRoles } from "./roles.ts";

/** The inputs of `hardhat deploy`. */
export interface DeploymentRun {
  /** Name of the Hardhat network, one of `DEPLOY_TARGETS`. */
  targetName: string;
  deployer: Signer;
  provider: Provider;
  request: RpcRequest;
  /** Account addresses of a local chain, in order. */
  accounts: readonly string[];
  env: Record<string, string | undefined>;
  /** Folder of the deployment file. */
  deploymentsDir: string;
  /** graph-cli's networks.json. */
  networksFile: string;
  log: (line: string) => void;
}

/**
 * Deploys the contracts and records their addresses. Safe to repeat at any time: it verifies what exists and finishes
 * what an interrupted run left undone.
 */
export async function runDeployment(run: DeploymentRun): Promise<Deployment> {
  const target = DEPLOY_TARGETS[run.targetName];
  if (!target) {
    throw problem(
      `hardhat deploy works with --network ${Object.keys(DEPLOY_TARGETS).join("|")}, not with "${run.targetName}"`,
    );
  }
  const { provider, deployer, log } = run;
  const network = target.settlement;
  const { chainId } = await provider.getNetwork();
  if (Number(chainId) !== NETWORKS[network].chainId) {
    throw problem(`${run.targetName} has chain id ${NETWORKS[network].chainId}, but the RPC node says ${chainId}`);
  }

  const file = path.join(run.deploymentsDir, `${run.targetName}.json`);
  const recorded = await readDeployment(file);
  if (target.local) await prepareLocalChain({ ...run, network });
  if (recorded && (await stands(provider, recorded))) {
    await verify(provider, recorded);
    await mergeNetworksFile(run.networksFile, recorded);
    log(`${run.targetName}: everything stands as ${file} tells; nothing to do`);
    for (const note of await readNotes(provider, recorded)) log(note);
    return recorded;
  }
  if (recorded && !target.local) {
    throw problem(`${file} names contracts that are not on the chain. Remove it to deploy them again.`);
  }

  const { roles, governance } = await resolveRoles({ ...run, target });
  const deployment = await deploySystem({ deployer, provider, network, roles, ...(governance && { governance }), log });
  await verify(provider, deployment);
  refuse(await findCodeDifferences(provider, deployment));
  await writeDeployment(file, deployment);
  await mergeNetworksFile(run.networksFile, deployment);
  log(`${run.targetName}: deployed and verified; written to ${file}`);
  return deployment;
}

async function verify(provider: Provider, deployment: Deployment): Promise<void> {
  refuse(await findDifferences(provider, deployment));
}

function refuse(differences: readonly Difference[]): void {
  if (differences.length === 0) return;
  throw problem(`The chain differs from the deployment:\n${describeDifferences(differences)}`);
}
