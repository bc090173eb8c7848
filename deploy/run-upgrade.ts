import path from "node:path";

import type { Provider, Signer } from "ethers";
import { ZeroHash } from "ethers";

import { TimelockController__factory } from "../typechain-types/factories/@openzeppelin/contracts/governance/TimelockController__factory.ts";
import { EscrowV2__factory } from "../typechain-types/factories/contracts/EscrowV2__factory.ts";
import { ResolverV2__factory } from "../typechain-types/factories/contracts/ResolverV2__factory.ts";
import { ScoreV2__factory } from "../typechain-types/factories/contracts/ScoreV2__factory.ts";
import { describeDifferences, differencesOf, implementationOf } from "./check.ts";
import { create2Address, ensureCreated } from "./create2.ts";
import type { Deployment } from "./deployment-file.ts";
import { readDeployment, writeDeployment } from "./deployment-file.ts";
import { problem } from "./problem.ts";

export type ContractKey = keyof Deployment["contracts"];

/** An implementation that a proxy may be upgraded to. */
export interface Candidate {
  /** Name of the contract. */
  name: string;
  bytecode: string;
  /** Reasons why the upgrade must not be made: unsafe code, or storage that would be read as something else. */
  objections: readonly string[];
}

/** What a run of `hardhat upgrade` works with. */
export interface UpgradeRun {
  targetName: string;
  deployer: Signer;
  provider: Provider;
  deploymentsDir: string;
  candidates: Record<ContractKey, Candidate>;
  /** Say what would be done and send nothing. */
  dryRun: boolean;
  log: (line: string) => void;
}

/** What the run did, or would do, for one contract. */
export interface UpgradeStep {
  contract: ContractKey;
  implementation: string;
  outcome: "current" | "planned" | "upgraded" | "recorded" | "proposed";
}

/** The candidates of the present build. */
export function candidatesOfBuild(objections: Record<string, readonly string[]>): Record<ContractKey, Candidate> {
  const candidate = (name: string, bytecode: string): Candidate => ({
    name,
    bytecode,
    objections: objections[name] ?? [],
  });
  return {
    escrow: candidate("EscrowV2", EscrowV2__factory.bytecode),
    score: candidate("ScoreV2", ScoreV2__factory.bytecode),
    resolver: candidate("ResolverV2", ResolverV2__factory.bytecode),
  };
}

/**
 * Upgrades the proxies whose implementation differs from the candidate. Where the deployer owns the contracts he sends
 * the upgrade; under a timelock the calls for the multisig are printed, and a run after their execution records the new
 * implementation. Nothing is sent when any candidate has an objection.
 */
export async function runUpgrade(run: UpgradeRun): Promise<UpgradeStep[]> {
  const file = path.join(run.deploymentsDir, `${run.targetName}.json`);
  const deployment = await readDeployment(file);
  if (!deployment) throw problem(`${file} does not exist: there is nothing to upgrade`);

  const objections = Object.values(run.candidates).flatMap(({ name, objections: all }) =>
    all.map((objection) => `  ${name}: ${objection}`),
  );
  if (objections.length > 0) throw problem(`The upgrade is not safe:\n${objections.join("\n")}`);

  const steps: UpgradeStep[] = [];
  for (const [contract, candidate] of Object.entries(run.candidates) as [ContractKey, Candidate][]) {
    steps.push(await upgradeOne(run, deployment, contract, candidate));
  }
  if (run.dryRun) return steps;

  const differences = await differencesOf(run.provider, deployment);
  if (differences.length > 0)
    throw problem(`After the upgrade the chain differs:\n${describeDifferences(differences)}`);
  await writeDeployment(file, deployment);
  return steps;
}

async function upgradeOne(
  run: UpgradeRun,
  deployment: Deployment,
  contract: ContractKey,
  candidate: Candidate,
): Promise<UpgradeStep> {
  const { provider, deployer, log } = run;
  const record = deployment.contracts[contract];
  const implementation = create2Address(candidate.bytecode);
  const step = (outcome: UpgradeStep["outcome"]): UpgradeStep => ({ contract, implementation, outcome });

  if ((await implementationOf(provider, record.proxy)) === implementation) {
    if (record.implementation === implementation) {
      log(`${contract}: ${candidate.name} at ${implementation} is current`);
      return step("current");
    }
    record.implementation = implementation;
    log(`${contract}: the chain has ${implementation} already; recorded`);
    return step(run.dryRun ? "planned" : "recorded");
  }
  const proxy = EscrowV2__factory.connect(record.proxy, deployer);
  const owner = await proxy.owner();
  const direct = owner === (await deployer.getAddress());
  if (run.dryRun) {
    log(`${contract}: would create ${candidate.name} at ${implementation}`);
    log(`${contract}: would ${direct ? "send" : `have ${owner} send`} upgradeToAndCall to ${record.proxy}`);
    return step("planned");
  }

  const { created } = await ensureCreated(deployer, provider, candidate.bytecode);
  log(`${contract}: ${created ? "created" : "found"} ${candidate.name} at ${implementation}`);
  if (!direct) {
    proposeUpgrade(deployment, owner, record.proxy, implementation, log);
    return step("proposed");
  }
  const upgrade = await proxy.upgradeToAndCall(implementation, "0x");
  await upgrade.wait();
  record.implementation = implementation;
  log(`${contract}: upgraded by ${upgrade.hash}`);
  return step("upgraded");
}

/** Prints what the owner has to send: through the timelock to schedule and, after its delay, to execute. */
function proposeUpgrade(
  deployment: Deployment,
  owner: string,
  proxy: string,
  implementation: string,
  log: (line: string) => void,
): void {
  const call = EscrowV2__factory.createInterface().encodeFunctionData("upgradeToAndCall", [implementation, "0x"]);
  const { governance } = deployment;
  if (governance?.timelock !== owner) {
    log(`  the owner ${owner} has to send to ${proxy}: ${call}`);
    return;
  }
  const timelock = TimelockController__factory.createInterface();
  const operation = [proxy, 0, call, ZeroHash, ZeroHash] as const;
  log(`  the multisig ${governance.multisig} has to send to the timelock ${governance.timelock}:`);
  log(`  first ${timelock.encodeFunctionData("schedule", [...operation, governance.minDelaySeconds])}`);
  log(`  and after ${governance.minDelaySeconds} s ${timelock.encodeFunctionData("execute", [...operation])}`);
  log("  then run this command again: it verifies the upgrade and records it");
}
