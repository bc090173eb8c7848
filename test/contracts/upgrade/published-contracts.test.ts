import { readFile } from "node:fs/promises";

import { expect } from "chai";

import type { PublishedContract } from "../../../deploy/check/published-contracts.ts";
import { publishedContracts } from "../../../deploy/check/published-contracts.ts";
import { candidatesOfBuild, runUpgrade } from "../../../deploy/run/run-upgrade.ts";
import { create2Address } from "../../../deploy/system/create2.ts";
import type { Deployment } from "../../../deploy/system/deployment-file.ts";
import { TimelockController__factory } from "../../../typechain-types/factories/@openzeppelin/contracts/governance/TimelockController__factory.ts";
import { EscrowV2__factory } from "../../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import { ResolverV2__factory } from "../../../typechain-types/factories/contracts/ResolverV2__factory.ts";
import { NextEscrow__factory } from "../../../typechain-types/factories/contracts/mocks/NextGeneration.sol/NextEscrow__factory.ts";
import type { DeployChain } from "../fixtures/deployment.ts";
import { deployChain, deployMultisig, placeTokens, rolesOf } from "../fixtures/deployment.ts";

const KEYS = ["escrow", "score", "resolver"] as const;

describe("hardhat verify-deployment", function () {
  this.timeout(60_000);
  let chain: DeployChain;
  let deployment: Deployment;
  afterEach(() => chain.remove());

  const recorded = async (): Promise<Deployment> => JSON.parse(await readFile(chain.file, "utf8")) as Deployment;

  /** Code of a contract without its own address, which an implementation keeps in it. */
  const codeOf = async (address: string): Promise<string> =>
    (await chain.ethers.provider.getCode(address)).replaceAll(address.slice(2).toLowerCase(), "self");
  /**
   * Hash over all that a contract stores. The resolver contract stores the second of its creation, so it is read by
   * what it answers.
   */
  const storageOf = async (address: string, title: string): Promise<string> => {
    if (title === "ResolverV2, proxy") return answersOf(address);
    return ((await chain.request("eth_getProof", [address, [], "latest"])) as { storageHash: string }).storageHash;
  };
  const answersOf = async (address: string): Promise<string> => {
    const resolver = ResolverV2__factory.connect(address, chain.ethers.provider);
    const { version, verifyingContract } = await resolver.eip712Domain();
    expect(verifyingContract).to.equal(address);
    return JSON.stringify([
      version,
      await resolver.owner(),
      await resolver.escrowContract(),
      await Promise.all([0, 1].map((role) => resolver.resolverOf(role))),
    ]);
  };
  const create = async ({ contract, constructorArgs }: PublishedContract): Promise<string> => {
    const twin = await chain.ethers.deployContract(contract.split(":")[1] ?? "", constructorArgs, chain.deployer);
    return twin.getAddress();
  };

  describe("of a system that its deployer owns", () => {
    beforeEach(async () => {
      chain = await deployChain("localBaseSepolia", 84_532);
      deployment = await chain.run();
    });

    it("names sources and constructor arguments that make the same contracts, in code and storage", async () => {
      const published = publishedContracts(deployment);
      expect(published.map(({ address }) => address)).to.deep.equal(
        KEYS.flatMap((key) => [deployment.contracts[key].implementation, deployment.contracts[key].proxy]),
      );
      for (const contract of published) {
        const twin = await create(contract);
        expect(await codeOf(twin), contract.title).to.equal(await codeOf(contract.address));
        expect(await storageOf(twin, contract.title), contract.title).to.equal(
          await storageOf(contract.address, contract.title),
        );
      }
    });

    it("names the same for the proxies after an upgrade and changes of roles and tokens", async () => {
      const { deployer, signers, ethers } = chain;
      const [usdc] = deployment.tokens;
      const proxies = publishedContracts(deployment).filter(({ title }) => title.endsWith("proxy"));
      const born = await Promise.all(proxies.map(({ address, title }) => storageOf(address, title)));

      const candidates = {
        ...candidatesOfBuild({}),
        escrow: { name: "NextEscrow", bytecode: NextEscrow__factory.bytecode, objections: [] },
      };
      await runUpgrade({
        targetName: "localBaseSepolia",
        deployer,
        provider: ethers.provider,
        deploymentsDir: chain.dir,
        candidates,
        log: () => undefined,
      });
      const escrow = EscrowV2__factory.connect(deployment.contracts.escrow.proxy, deployer);
      const resolver = ResolverV2__factory.connect(deployment.contracts.resolver.proxy, deployer);
      const [treasury, admin] = [signers[8], signers[9]];
      if (!usdc || !treasury || !admin) throw new Error("The test chain has too few accounts or tokens");
      await escrow.setTreasury(treasury);
      await resolver.transferResolver(1, admin);
      await resolver.connect(admin).acceptResolver(1);
      await escrow.delistToken(usdc.address);
      const file = await recorded();
      expect(file.contracts.escrow.implementation).not.to.equal(deployment.contracts.escrow.implementation);
      file.roles = { ...file.roles, treasury: treasury.address, adminResolver: admin.address };
      file.tokens = [];

      const later = publishedContracts(file);
      expect(later.filter(({ title }) => title.endsWith("proxy"))).to.deep.equal(proxies);
      expect(later[0]?.address).to.equal(file.contracts.escrow.implementation);
      for (const [index, proxy] of proxies.entries()) {
        const twin = await create(proxy);
        expect(await codeOf(twin), proxy.title).to.equal(await codeOf(proxy.address));
        expect(await storageOf(twin, proxy.title), proxy.title).to.equal(born[index]);
      }
    });
  });

  it("names the timelock with the arguments that it was created with, even if its multisig has changed", async () => {
    chain = await deployChain("base", 8_453);
    await chain.placeFactory();
    await placeTokens(chain);
    const multisig = await deployMultisig(chain);
    deployment = await chain.run({ env: rolesOf(chain, multisig) });
    const { governance } = deployment;
    if (!governance) throw new Error("Base has a timelock");
    const file = { ...deployment, governance: { ...governance, multisig: chain.deployer.address, minDelaySeconds: 1 } };
    const timelock = publishedContracts(file).at(-1);
    expect(timelock?.address).to.equal(governance.timelock);
    const { provider } = chain.ethers;
    const initCode = chain.ethers.concat([
      TimelockController__factory.bytecode,
      TimelockController__factory.createInterface().encodeDeploy(
        (timelock?.constructorArgs ?? []) as Parameters<
          ReturnType<typeof TimelockController__factory.createInterface>["encodeDeploy"]
        >[0],
      ),
    ]);
    // The address follows from code and arguments.
    expect(create2Address(initCode)).to.equal(governance.timelock);
    expect(await provider.getCode(governance.timelock)).not.to.equal("0x");
  });
});
