import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile } from "node:fs/promises";

import { expect } from "chai";

import { findDifferences } from "../../../deploy/check/check.ts";
import { TimelockController__factory } from "../../../typechain-types/factories/@openzeppelin/contracts/governance/TimelockController__factory.ts";
import { EscrowV2__factory } from "../../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import type { DeployChain } from "../fixtures/deployment.ts";
import { deployChain, deployMultisig, placeTokens, rolesOf } from "../fixtures/deployment.ts";

const TWO_DAYS = 48 * 60 * 60;

describe("hardhat deploy on a live network", function () {
  this.timeout(60_000);
  let chain: DeployChain;

  beforeEach(async () => {
    chain = await deployChain("base", 8_453);
    await chain.placeFactory();
    await placeTokens(chain);
  });
  afterEach(() => chain.remove());

  it("sets a timelock of 48 hours under the multisig as owner of all three contracts [D14]", async () => {
    const { run, ethers, deployer } = chain;
    const multisig = await deployMultisig(chain);
    const deployment = await run({ env: rolesOf(chain, multisig) });
    const { governance, roles, contracts } = deployment;
    const terms = { multisig, minDelaySeconds: TWO_DAYS };
    expect(governance).to.deep.equal({ timelock: roles.owner, ...terms, created: terms });
    expect(await findDifferences(ethers.provider, deployment)).to.deep.equal([]);
    const timelock = TimelockController__factory.connect(roles.owner, ethers.provider);
    expect(await timelock.getMinDelay()).to.equal(BigInt(TWO_DAYS));
    for (const role of [
      await timelock.PROPOSER_ROLE(),
      await timelock.EXECUTOR_ROLE(),
      await timelock.CANCELLER_ROLE(),
    ]) {
      expect(await timelock.hasRole(role, multisig)).to.equal(true);
      expect(await timelock.hasRole(role, deployer.address)).to.equal(false);
      expect(await timelock.hasRole(role, ethers.ZeroAddress)).to.equal(false);
    }
    const escrow = EscrowV2__factory.connect(contracts.escrow.proxy, deployer);
    await escrow.setTreasury.staticCall(deployer.address).then(
      () => expect.fail("the deployer kept power"),
      (error: unknown) => {
        const data = (error as { data?: string }).data ?? "";
        expect(escrow.interface.parseError(data)?.name).to.equal("OwnableUnauthorizedAccount");
      },
    );
  });

  it("allows a change only 48 hours after the multisig proposed it [D14]", async () => {
    const { run, ethers, deployer, signers, connection } = chain;
    const address = await deployMultisig(chain);
    const { roles, contracts } = await run({ env: rolesOf(chain, address) });
    const multisig = await ethers.getContractAt("SmartWallet", address, deployer);
    const escrow = EscrowV2__factory.connect(contracts.escrow.proxy, ethers.provider);
    const timelock = TimelockController__factory.connect(roles.owner, ethers.provider);
    const treasury = signers[9]?.address ?? "";
    const change = escrow.interface.encodeFunctionData("setTreasury", [treasury]);
    const none = ethers.ZeroHash;
    const operation = [contracts.escrow.proxy, 0, change, none, none] as const;
    const schedule = (delay: number): string =>
      timelock.interface.encodeFunctionData("schedule", [...operation, delay]);
    const execute = timelock.interface.encodeFunctionData("execute", [...operation]);

    await refused(multisig.execute(timelock, schedule(TWO_DAYS - 1)), "TimelockInsufficientDelay");
    await multisig.execute(timelock, schedule(TWO_DAYS));
    await refused(multisig.execute(timelock, execute), "TimelockUnexpectedOperationState");
    await connection.networkHelpers.time.increase(TWO_DAYS);
    await multisig.execute(timelock, execute);
    expect(await escrow.treasury()).to.equal(treasury);

    async function refused(attempt: Promise<unknown>, name: string): Promise<void> {
      await attempt.then(
        () => expect.fail(`not refused with ${name}`),
        (error: unknown) => {
          const { data = "" } = error as { data?: string };
          const inner = multisig.interface.parseError(data)?.args[0] as string;
          expect(timelock.interface.parseError(inner)?.name).to.equal(name);
        },
      );
    }
  });

  it("does nothing the second time", async () => {
    const { run, ethers, lines } = chain;
    const env = rolesOf(chain, await deployMultisig(chain));
    const first = await run({ env });
    const block = await ethers.provider.getBlockNumber();
    expect(await run({ env })).to.deep.equal(first);
    expect(await ethers.provider.getBlockNumber()).to.equal(block);
    expect(lines.join("\n")).to.contain("nothing to do");
  });

  it("refuses an EOA as upgrader and deploys nothing [D14]", async () => {
    const { run, ethers, signers } = chain;
    const block = await ethers.provider.getBlockNumber();
    await rejected(
      run({ env: rolesOf(chain, signers[5]?.address ?? "") }),
      /must be a multisig contract, never an EOA/,
    );
    expect(await ethers.provider.getBlockNumber()).to.equal(block);
  });

  it("refuses an EOA that lends itself a contract's code (EIP-7702): one key would still upgrade [D14]", async () => {
    const { run, request, signers } = chain;
    const wallet = signers[5]?.address ?? "";
    const multisig = await deployMultisig(chain);
    await request("hardhat_setCode", [wallet, `0xef0100${multisig.slice(2)}`]);
    await rejected(run({ env: rolesOf(chain, wallet) }), /must be a multisig contract, never an EOA/);
  });

  it("names every role that is missing or no address, and deploys nothing", async () => {
    const { run, ethers } = chain;
    const block = await ethers.provider.getBlockNumber();
    const env = {
      ...rolesOf(chain, await deployMultisig(chain)),
      PAUSER_ADDRESS: "somebody",
      TREASURY_ADDRESS: undefined,
    };
    await rejected(run({ env }), /TREASURY_ADDRESS is not set to an address; PAUSER_ADDRESS is not set to an address/);
    await rejected(run(), /MULTISIG_ADDRESS is not set to an address/);
    expect(await ethers.provider.getBlockNumber()).to.equal(block + 1);
  });

  it("never overwrites a file whose contracts are not on the chain", async () => {
    const { run } = chain;
    const other = await deployChain("base", 8_453);
    try {
      await other.placeFactory();
      await placeTokens(other);
      await other.run({ env: rolesOf(other, await deployMultisig(other)), targetName: "base" });
      await copyFile(other.file, chain.file);
    } finally {
      await other.remove();
    }
    await rejected(run({ env: {} }), /names contracts that are not on the chain/);
  });

  it("names the missing deployer key and how to set it", async () => {
    const env = { ...process.env };
    delete env.DEPLOYER_PRIVATE_KEY;
    const child = spawn("hardhat", ["deploy", "--network", "base-sepolia", "--out-dir", chain.dir], {
      env: { ...env, HOME: chain.dir, XDG_CONFIG_HOME: chain.dir },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    child.stdout.on("data", (part: Buffer) => (output += part.toString()));
    child.stderr.on("data", (part: Buffer) => (output += part.toString()));
    const [code] = (await once(child, "close")) as [number];
    expect(code).to.equal(1);
    expect(output).to.contain("DEPLOYER_PRIVATE_KEY is not set");
    expect(output).to.contain("hardhat keystore set DEPLOYER_PRIVATE_KEY");
  });
});

async function rejected(attempt: Promise<unknown>, message: RegExp): Promise<void> {
  await attempt.then(
    () => expect.fail("it was not refused"),
    (error: unknown) => {
      expect((error as Error).message).to.match(message);
    },
  );
}
