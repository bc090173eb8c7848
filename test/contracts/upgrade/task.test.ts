import { readFile } from "node:fs/promises";

import { expect } from "chai";

import { findDifferences } from "../../../deploy/check/check.ts";
import type { Candidate, UpgradeStep } from "../../../deploy/run/run-upgrade.ts";
import { candidatesOfBuild, runUpgrade } from "../../../deploy/run/run-upgrade.ts";
import { implementationOf } from "../../../deploy/system/code.ts";
import { create2Address, ensureCreated } from "../../../deploy/system/create2.ts";
import type { ContractKey, Deployment } from "../../../deploy/system/deployment-file.ts";
import { implementationCode } from "../../../deploy/system/implementations.ts";
import { EscrowV2__factory } from "../../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import { NextEscrow__factory } from "../../../typechain-types/factories/contracts/mocks/NextGeneration.sol/NextEscrow__factory.ts";
import { NextScore__factory } from "../../../typechain-types/factories/contracts/mocks/NextGeneration.sol/NextScore__factory.ts";
import type { DeployChain } from "../fixtures/deployment.ts";
import { deployChain } from "../fixtures/deployment.ts";

const TARGET = "localBaseSepolia";

function nextCandidates(objections: readonly string[] = []): Record<ContractKey, Candidate> {
  return {
    ...candidatesOfBuild({}),
    escrow: { name: "NextEscrow", bytecode: NextEscrow__factory.bytecode, objections },
    score: { name: "NextScore", bytecode: NextScore__factory.bytecode, objections: [] },
  };
}

const nextEscrowCode = (deployment: Deployment): string =>
  implementationCode(deployment, "escrow", NextEscrow__factory.bytecode);
/** Where the next escrow implementation of a deployment is created. */
const nextEscrow = (deployment: Deployment): string => create2Address(nextEscrowCode(deployment));

describe("hardhat upgrade", function () {
  this.timeout(60_000);
  let chain: DeployChain;
  let deployment: Deployment;

  beforeEach(async () => {
    chain = await deployChain(TARGET, 84_532);
    deployment = await chain.run();
  });
  afterEach(() => chain.remove());

  const upgrade = (candidates: Record<ContractKey, Candidate>, dryRun: boolean, signer = 0): Promise<UpgradeStep[]> => {
    chain.lines.length = 0;
    return runUpgrade({
      targetName: TARGET,
      ...(!dryRun && { deployer: chain.signers[signer] ?? chain.deployer }),
      provider: chain.ethers.provider,
      deploymentsDir: chain.dir,
      candidates,
      log: (line) => chain.lines.push(line),
    });
  };
  const recorded = async (): Promise<Deployment> => JSON.parse(await readFile(chain.file, "utf8")) as Deployment;
  const outcomes = (steps: UpgradeStep[]): string[] => steps.map(({ contract, outcome }) => `${contract} ${outcome}`);

  it("does nothing when the build is what is deployed", async () => {
    const block = await chain.ethers.provider.getBlockNumber();
    const steps = await upgrade(candidatesOfBuild({}), false);
    expect(outcomes(steps)).to.deep.equal(["escrow current", "score current", "resolver current"]);
    expect(await chain.ethers.provider.getBlockNumber()).to.equal(block);
    expect(await recorded()).to.deep.equal(deployment);
  });

  it("says in a dry run what it would do and sends nothing", async () => {
    const block = await chain.ethers.provider.getBlockNumber();
    const steps = await upgrade(nextCandidates(), true);
    expect(outcomes(steps)).to.deep.equal(["escrow planned", "score planned", "resolver current"]);
    expect(chain.lines.join("\n")).to.contain(`would create NextEscrow at ${nextEscrow(deployment)}`);
    expect(await chain.ethers.provider.getBlockNumber()).to.equal(block);
    expect(await recorded()).to.deep.equal(deployment);
  });

  it("upgrades what differs, records it, and has nothing to do the second time", async () => {
    const { provider } = chain.ethers;
    expect(outcomes(await upgrade(nextCandidates(), false))).to.deep.equal([
      "escrow upgraded",
      "score upgraded",
      "resolver current",
    ]);
    const after = await recorded();
    expect(after.contracts.escrow.implementation).to.equal(nextEscrow(deployment));
    expect(await implementationOf(provider, after.contracts.escrow.proxy)).to.equal(
      after.contracts.escrow.implementation,
    );
    expect(after.contracts.escrow.proxy).to.equal(deployment.contracts.escrow.proxy);
    expect(await findDifferences(provider, after)).to.deep.equal([]);
    const block = await provider.getBlockNumber();
    expect(outcomes(await upgrade(nextCandidates(), false))).to.deep.equal([
      "escrow current",
      "score current",
      "resolver current",
    ]);
    expect(await provider.getBlockNumber()).to.equal(block);
  });

  it("sends nothing when one candidate has an objection", async () => {
    const block = await chain.ethers.provider.getBlockNumber();
    for (const dryRun of [true, false]) {
      await upgrade(nextCandidates(["delete of treasury"]), dryRun).then(
        () => expect.fail("the objection was ignored"),
        (error: unknown) => {
          expect((error as Error).message).to.contain("NextEscrow: delete of treasury");
        },
      );
    }
    expect(await chain.ethers.provider.getBlockNumber()).to.equal(block);
  });

  it("sends nothing when the chain is not as the file tells, in a dry run neither, and records what stands", async () => {
    const { ethers, deployer, signers } = chain;
    const { escrow, score } = deployment.contracts;
    const proxy = EscrowV2__factory.connect(escrow.proxy, deployer);
    const treasury = signers[9]?.address ?? "";
    await proxy.setTreasury(treasury);
    const block = await ethers.provider.getBlockNumber();
    const differs = async (dryRun: boolean): Promise<void> => {
      await upgrade(nextCandidates(), dryRun).then(
        () => expect.fail("the difference went unnoticed"),
        (error: unknown) => {
          expect((error as Error).message)
            .to.contain("so nothing was sent")
            .and.to.contain(`treasury: ${treasury}`);
        },
      );
    };
    await differs(true);
    await differs(false);
    expect(await ethers.provider.getBlockNumber()).to.equal(block);
    expect(await recorded()).to.deep.equal(deployment);

    // An upgrade that was made elsewhere stands, whatever else differs.
    await ensureCreated(deployer, ethers.provider, nextEscrowCode(deployment));
    await proxy.upgradeToAndCall(nextEscrow(deployment), "0x");
    await differs(true);
    expect(await recorded()).to.deep.equal(deployment);
    await differs(false);
    const after = await recorded();
    expect(after.contracts.escrow.implementation).to.equal(nextEscrow(deployment));
    expect(after.contracts.score).to.deep.equal(score);
  });

  it("records an upgrade that it sent although the chain differs afterwards", async () => {
    const { deployer, signers } = chain;
    const { escrow } = deployment.contracts;
    const treasury = signers[9]?.address ?? "";
    const candidates = { ...candidatesOfBuild({}), escrow: nextCandidates().escrow };
    // The owner sets another treasury while the upgrade is under way.
    const meddling = new Proxy(deployer, {
      get(target, property) {
        if (property !== "sendTransaction") return bound(target, property);
        return async (transaction: Parameters<typeof deployer.sendTransaction>[0]) => {
          if (transaction.to === escrow.proxy) {
            await EscrowV2__factory.connect(escrow.proxy, deployer).setTreasury(treasury);
          }
          return target.sendTransaction(transaction);
        };
      },
    });
    await runUpgrade({
      targetName: TARGET,
      deployer: meddling,
      provider: chain.ethers.provider,
      deploymentsDir: chain.dir,
      candidates,
      log: () => undefined,
    }).then(
      () => expect.fail("the difference went unnoticed"),
      (error: unknown) => {
        expect((error as Error).message).to.contain("After the upgrade the chain differs");
      },
    );
    expect((await recorded()).contracts.escrow.implementation).to.equal(nextEscrow(deployment));
  });

  it("only creates the implementation and says what the owner has to send when he is another, then records his upgrade", async () => {
    const { ethers, deployer } = chain;
    const steps = await upgrade(nextCandidates(), false, 9);
    expect(outcomes(steps)).to.deep.equal(["escrow proposed", "score proposed", "resolver current"]);
    expect(await recorded()).to.deep.equal(deployment);
    const [escrowCall, scoreCall] = chain.lines.flatMap(
      (line) => /has to send to \S+: (0x[0-9a-f]+)$/.exec(line)?.[1] ?? [],
    );
    await deployer.sendTransaction({ to: deployment.contracts.escrow.proxy, data: escrowCall ?? "" });
    await deployer.sendTransaction({ to: deployment.contracts.score.proxy, data: scoreCall ?? "" });
    expect(outcomes(await upgrade(nextCandidates(), false, 9))).to.deep.equal([
      "escrow recorded",
      "score recorded",
      "resolver current",
    ]);
    expect((await recorded()).contracts.escrow.implementation).to.equal(nextEscrow(deployment));
    expect(await findDifferences(ethers.provider, await recorded())).to.deep.equal([]);
  });
});

/** A property of an object, bound when it is a function. */
function bound(target: object, property: string | symbol): unknown {
  const value: unknown = Reflect.get(target, property, target);
  return typeof value === "function" ? (value as (...args: unknown[]) => unknown).bind(target) : value;
}
