import { readFile } from "node:fs/promises";

import { expect } from "chai";

import { findDifferences } from "../../../deploy/check/check.ts";
import type { Candidate } from "../../../deploy/run/run-upgrade.ts";
import { candidatesOfBuild, runUpgrade } from "../../../deploy/run/run-upgrade.ts";
import { implementationOf } from "../../../deploy/system/code.ts";
import { create2Address } from "../../../deploy/system/create2.ts";
import type { ContractKey, Deployment } from "../../../deploy/system/deployment-file.ts";
import { BYTECODES, implementationCode } from "../../../deploy/system/implementations.ts";
import { NextEscrow__factory } from "../../../typechain-types/factories/contracts/mocks/NextGeneration.sol/NextEscrow__factory.ts";
import type { DeployChain } from "../fixtures/deployment.ts";
import { deployChain, deployMultisig, placeTokens, rolesOf } from "../fixtures/deployment.ts";

const TARGET = "base";
const TWO_DAYS = 48 * 60 * 60;

type Candidates = Record<ContractKey, Candidate>;

describe("hardhat upgrade under the timelock", function () {
  this.timeout(60_000);
  let chain: DeployChain;
  let deployment: Deployment;
  let send: (target: string, data: string) => Promise<unknown>;

  beforeEach(async () => {
    chain = await deployChain(TARGET, 8_453);
    await chain.placeFactory();
    await placeTokens(chain);
    const address = await deployMultisig(chain);
    deployment = await chain.run({ env: rolesOf(chain, address) });
    const multisig = await chain.ethers.getContractAt("SmartWallet", address, chain.deployer);
    send = (target, data) => multisig.execute(target, data);
  });
  afterEach(() => chain.remove());

  /** Where `hardhat upgrade` creates an escrow implementation. */
  const later = (bytecode: string): string => create2Address(implementationCode(deployment, "escrow", bytecode));
  const second = (): Candidates => candidatesOfBuild({});
  const third = (): Candidates => ({
    ...second(),
    escrow: { name: "NextEscrow", bytecode: NextEscrow__factory.bytecode, objections: [] },
  });
  const upgrade = async (candidates: Candidates, dry = false): Promise<string | undefined> => {
    chain.lines.length = 0;
    const steps = await runUpgrade({
      targetName: TARGET,
      ...(!dry && { deployer: chain.deployer }),
      provider: chain.ethers.provider,
      deploymentsDir: chain.dir,
      candidates,
      log: (line) => chain.lines.push(line),
    });
    return steps.find(({ contract }) => contract === "escrow")?.outcome;
  };
  const recorded = async (): Promise<Deployment> => JSON.parse(await readFile(chain.file, "utf8")) as Deployment;
  const implementation = (): Promise<string> =>
    implementationOf(chain.ethers.provider, deployment.contracts.escrow.proxy);
  /** What the last run printed for the multisig to send, and where to. */
  const printed = (): { timelock: string; schedule: string; execute: string } => {
    const find = (pattern: RegExp): string => {
      const found = chain.lines.flatMap((line) => pattern.exec(line)?.[1] ?? []);
      expect(found, String(pattern)).to.have.length(1);
      return found[0] ?? "";
    };
    return {
      timelock: find(/has to send to the timelock (0x[0-9a-fA-F]{40}):$/),
      schedule: find(/^ {2}first (0x[0-9a-f]+)$/),
      execute: find(/^ {2}and after 172800 s (0x[0-9a-f]+)$/),
    };
  };

  /** Upgrades by nothing but what the command prints. */
  const carryOut = async (candidates: Candidates, expected: string): Promise<void> => {
    const before = await implementation();
    const file = await recorded();
    expect(await upgrade(candidates)).to.equal("proposed");
    expect(await recorded()).to.deep.equal(file);
    const { timelock, schedule, execute } = printed();
    expect(timelock).to.equal(deployment.governance?.timelock);
    await send(timelock, schedule);
    expect(await implementation()).to.equal(before);
    await chain.connection.networkHelpers.time.increase(TWO_DAYS);
    await send(timelock, execute);
    expect(await implementation()).to.equal(expected);
    expect(await upgrade(candidates)).to.equal("recorded");
    expect((await recorded()).contracts.escrow.implementation).to.equal(expected);
    expect(await findDifferences(chain.ethers.provider, await recorded())).to.deep.equal([]);
    expect(await upgrade(candidates)).to.equal("current");
  };

  it("prints two calls that carry it out after 48 hours, forth, back and forth again [D14]", async () => {
    await carryOut(third(), later(NextEscrow__factory.bytecode));
    await carryOut(second(), later(BYTECODES.escrow));
    await carryOut(third(), later(NextEscrow__factory.bytecode));
    await carryOut(second(), later(BYTECODES.escrow));
  });

  it("names the same operation until it is executed, and says when it is scheduled", async () => {
    await upgrade(third());
    const first = printed();
    await chain.connection.networkHelpers.mine(5);
    await upgrade(third());
    expect(printed()).to.deep.equal(first);

    await send(first.timelock, first.schedule);
    const scheduled = await chain.connection.networkHelpers.time.latest();
    expect(await upgrade(third())).to.equal("proposed");
    const from = new Date((scheduled + TWO_DAYS) * 1_000).toISOString();
    expect(chain.lines).to.include(`  scheduled already; from ${from} on ${first.execute}`);
    expect(chain.lines.join("\n")).not.to.contain("first 0x");
  });

  it("appears in a dry run, which needs no account and sends or writes nothing", async () => {
    const [block, file] = [await chain.ethers.provider.getBlockNumber(), await recorded()];
    expect(await upgrade(third(), true)).to.equal("planned");
    expect(chain.lines.join("\n")).to.contain(`would have the owner ${deployment.roles.owner} send upgradeToAndCall`);
    expect(await chain.ethers.provider.getBlockNumber()).to.equal(block);
    expect(await recorded()).to.deep.equal(file);
  });
});
