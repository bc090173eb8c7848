import path from "node:path";

import type { Provider, Signer } from "ethers";

import { EscrowV2__factory } from "../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import { describeDifferences, findDifferences } from "../check/check.ts";
import { implementationOf } from "../system/code.ts";
import { create2Address, ensureCreated } from "../system/create2.ts";
import type { ContractKey, Deployment } from "../system/deployment-file.ts";
import { readDeployment, writeDeployment } from "../system/deployment-file.ts";
import { BYTECODES, implementationCode, isOfBuild } from "../system/implementations.ts";
import { problem } from "../system/problem.ts";
import { readProposal } from "./timelock.ts";

/** An implementation to upgrade a proxy to. */
export interface Candidate {
  /** Name of the contract. */
  name: string;
  /** Creation code without the constructor arguments, which are the deployment's own. */
  bytecode: string;
  /** Reasons against the upgrade: unsafe code, or storage that would be misread. */
  objections: readonly string[];
}

/** The inputs of `hardhat upgrade`. */
export interface UpgradeRun {
  targetName: string;
  /** Pays for and sends the upgrade; without it the run is dry and only reports what it would do. */
  deployer?: Signer;
  provider: Provider;
  deploymentsDir: string;
  candidates: Record<ContractKey, Candidate>;
  log: (line: string) => void;
}

/** The step that the run took or would take for one contract. */
export interface UpgradeStep {
  contract: ContractKey;
  implementation: string;
  outcome: "current" | "planned" | "upgraded" | "recorded" | "proposed";
}

/** The candidates of the current build. */
export function candidatesOfBuild(objections: Record<string, readonly string[]>): Record<ContractKey, Candidate> {
  const candidate = (name: string, bytecode: string): Candidate => ({
    name,
    bytecode,
    objections: objections[name] ?? [],
  });
  return {
    escrow: candidate("EscrowV2", BYTECODES.escrow),
    score: candidate("ScoreV2", BYTECODES.score),
    resolver: candidate("ResolverV2", BYTECODES.resolver),
  };
}

/**
 * Upgrades the proxies whose implementation differs from the candidate. When the deployer owns the contracts, this
 * sends the upgrade. Under a timelock it prints the calls for the multisig, and a run after their execution records the
 * new implementation. Sends nothing when a candidate has an objection or the chain differs from the file. Records what
 * is on the chain even when the run fails afterwards.
 */
export async function runUpgrade(run: UpgradeRun): Promise<UpgradeStep[]> {
  const { provider } = run;
  const file = path.join(run.deploymentsDir, `${run.targetName}.json`);
  const deployment = await readDeployment(file);
  if (!deployment) throw problem(`${file} does not exist: there is nothing to upgrade`);

  const candidates = Object.entries(run.candidates) as [ContractKey, Candidate][];
  const objections = candidates.flatMap(([, { name, objections: all }]) =>
    all.map((objection) => `  ${name}: ${objection}`),
  );
  if (objections.length > 0) throw problem(`The upgrade is not safe:\n${objections.join("\n")}`);

  const record = async (): Promise<void> => {
    if (run.deployer) await writeDeployment(file, deployment);
  };
  const steps: UpgradeStep[] = [];
  for (const [contract, candidate] of candidates) {
    const step = await standing(run, deployment, contract, candidate);
    if (step) steps.push(step);
  }
  if (steps.some(({ outcome }) => outcome === "recorded")) await record();
  const differences = await findDifferences(provider, deployment);
  if (differences.length > 0) {
    throw problem(`The chain differs from ${file}, so nothing was sent:\n${describeDifferences(differences)}`);
  }

  for (const [contract, candidate] of candidates) {
    if (steps.some((step) => step.contract === contract)) continue;
    const step = await upgradeOne(run, deployment, contract, candidate);
    steps.push(step);
    if (step.outcome === "upgraded") await record();
  }
  const later = await findDifferences(provider, deployment);
  if (later.length > 0) throw problem(`After the upgrade the chain differs:\n${describeDifferences(later)}`);
  return candidates.flatMap(([contract]) => steps.filter((step) => step.contract === contract));
}

/** The step of a contract that already has its candidate, recorded by this run or before; otherwise undefined. */
async function standing(
  { provider, deployer, log }: UpgradeRun,
  deployment: Deployment,
  contract: ContractKey,
  candidate: Candidate,
): Promise<UpgradeStep | undefined> {
  const record = deployment.contracts[contract];
  const actual = await implementationOf(provider, record.proxy);
  if (actual === record.implementation && isOfBuild(deployment, contract, candidate.bytecode)) {
    log(`${contract}: ${candidate.name} at ${actual} is current`);
    return { contract, implementation: actual, outcome: "current" };
  }
  const implementation = create2Address(implementationCode(deployment, contract, candidate.bytecode));
  if (actual !== implementation) return undefined;
  record.implementation = implementation;
  log(`${contract}: the chain has ${implementation} already; ${deployer ? "recorded" : "it would be recorded"}`);
  return { contract, implementation, outcome: deployer ? "recorded" : "planned" };
}

async function upgradeOne(
  { provider, deployer, log }: UpgradeRun,
  deployment: Deployment,
  contract: ContractKey,
  candidate: Candidate,
): Promise<UpgradeStep> {
  const record = deployment.contracts[contract];
  const initCode = implementationCode(deployment, contract, candidate.bytecode);
  const implementation = create2Address(initCode);
  const step = (outcome: UpgradeStep["outcome"]): UpgradeStep => ({ contract, implementation, outcome });
  const proxy = EscrowV2__factory.connect(record.proxy, provider);
  const owner = await proxy.owner();
  if (!deployer) {
    log(`${contract}: would create ${candidate.name} at ${implementation}`);
    log(`${contract}: would have the owner ${owner} send upgradeToAndCall to ${record.proxy}`);
    return step("planned");
  }

  const { created } = await ensureCreated(deployer, provider, initCode);
  log(`${contract}: ${created ? "created" : "found"} ${candidate.name} at ${implementation}`);
  if (owner !== (await deployer.getAddress())) {
    await proposeUpgrade(provider, deployment, owner, record.proxy, implementation, log);
    return step("proposed");
  }
  const upgrade = await proxy.connect(deployer).upgradeToAndCall(implementation, "0x");
  await upgrade.wait();
  record.implementation = implementation;
  log(`${contract}: upgraded by ${upgrade.hash}`);
  return step("upgraded");
}

/** Prints what the owner sends to the timelock: the schedule call and, after the delay, the execute call. */
async function proposeUpgrade(
  provider: Provider,
  { governance }: Deployment,
  owner: string,
  proxy: string,
  implementation: string,
  log: (line: string) => void,
): Promise<void> {
  const call = EscrowV2__factory.createInterface().encodeFunctionData("upgradeToAndCall", [implementation, "0x"]);
  if (governance?.timelock !== owner) {
    log(`  the owner ${owner} has to send to ${proxy}: ${call}`);
    return;
  }
  const { schedule, execute, readyAt } = await readProposal(provider, governance, proxy, call);
  log(`  the multisig ${governance.multisig} has to send to the timelock ${governance.timelock}:`);
  if (readyAt === undefined) {
    log(`  first ${schedule}`);
    log(`  and after ${governance.minDelaySeconds} s ${execute}`);
  } else {
    log(`  scheduled already; from ${new Date(readyAt * 1_000).toISOString()} on ${execute}`);
  }
  log("  then run this command again: it verifies the upgrade and records it");
}
