import { expect } from "chai";

import { implementationOf } from "../../../../deploy/system/code.ts";
import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("Initializers", () => {
  it("leave the three contracts wired to each other and owned from their first block [S1.07] [S9.03]", async () => {
    const { escrow, score, resolver, implementations, deployment, actors } = await loadFixture(marketplace);
    expect([await escrow.scoreContract(), await escrow.resolverContract()]).to.deep.equal([
      await score.getAddress(),
      await resolver.getAddress(),
    ]);
    expect([await score.escrowContract(), await resolver.escrowContract()]).to.deep.equal([
      await escrow.getAddress(),
      await escrow.getAddress(),
    ]);
    for (const contract of [escrow, score, resolver]) expect(await contract.owner()).to.equal(actors.owner.address);
    for (const name of ["escrow", "score", "resolver"] as const) {
      const proxy = await { escrow, score, resolver }[name].getAddress();
      const implementation = await implementations[name].getAddress();
      expect(proxy).not.to.equal(implementation);
      expect(await implementationOf(ethers.provider, proxy), name).to.equal(implementation);
    }
    expect(await escrow.treasury()).to.equal(actors.treasury.address);
    expect(await escrow.pauser()).to.equal(actors.pauser.address);
    expect([await resolver.resolverOf(0), await resolver.resolverOf(1)]).to.deep.equal([
      actors.systemResolver.address,
      actors.adminResolver.address,
    ]);
    expect(await deployment.startBlock()).to.equal((await deployment.deploymentTransaction()?.wait())?.blockNumber);
  });

  it("run once on a proxy", async () => {
    const { escrow, score, resolver, actors } = await loadFixture(marketplace);
    const { owner, stranger } = actors;
    await expect(escrow.initialize(owner, owner, owner, score, resolver, [])).to.be.revertedWithCustomError(
      escrow,
      "InvalidInitialization",
    );
    await expect(score.initialize(stranger, stranger)).to.be.revertedWithCustomError(score, "InvalidInitialization");
    await expect(resolver.initialize(stranger, stranger, stranger, stranger)).to.be.revertedWithCustomError(
      resolver,
      "InvalidInitialization",
    );
  });

  it("are closed on the implementations", async () => {
    const { implementations, score, resolver, actors } = await loadFixture(marketplace);
    const { stranger } = actors;
    const bare = implementations;
    await expect(
      bare.escrow.initialize(stranger, stranger, stranger, score, resolver, []),
    ).to.be.revertedWithCustomError(bare.escrow, "InvalidInitialization");
    await expect(bare.score.initialize(stranger, stranger)).to.be.revertedWithCustomError(
      bare.score,
      "InvalidInitialization",
    );
    await expect(bare.resolver.initialize(stranger, stranger, stranger, stranger)).to.be.revertedWithCustomError(
      bare.resolver,
      "InvalidInitialization",
    );
    for (const contract of [bare.escrow, bare.score, bare.resolver]) {
      expect(await contract.owner()).to.equal(ethers.ZeroAddress);
    }
  });

  it("refuse roles and contracts that are missing", async () => {
    const { implementations, score, resolver, actors } = await loadFixture(marketplace);
    const [owner, treasury, pauser, stranger] = [actors.owner, actors.treasury, actors.pauser, actors.stranger].map(
      ({ address }) => address,
    ) as [string, string, string, string];
    const [scoreAddress, resolverAddress] = [await score.getAddress(), await resolver.getAddress()];
    const zero = ethers.ZeroAddress;

    const escrows: [args: [string, string, string, string, string], error: string, account: string][] = [
      [[zero, treasury, pauser, scoreAddress, resolverAddress], "OwnableInvalidOwner", zero],
      [[owner, zero, pauser, scoreAddress, resolverAddress], "InvalidAddress", zero],
      [[owner, treasury, zero, scoreAddress, resolverAddress], "InvalidAddress", zero],
      [[owner, treasury, pauser, stranger, resolverAddress], "InvalidAddress", stranger],
      [[owner, treasury, pauser, scoreAddress, stranger], "InvalidAddress", stranger],
    ];
    for (const [args, error, account] of escrows) {
      const data = implementations.escrow.interface.encodeFunctionData("initialize", [...args, []]);
      await expect(ethers.deployContract("ERC1967Proxy", [await implementations.escrow.getAddress(), data]))
        .to.be.revertedWithCustomError(implementations.escrow, error)
        .withArgs(account);
    }

    const scoreData = implementations.score.interface.encodeFunctionData("initialize", [owner, zero]);
    await expect(ethers.deployContract("ERC1967Proxy", [await implementations.score.getAddress(), scoreData]))
      .to.be.revertedWithCustomError(implementations.score, "InvalidAddress")
      .withArgs(zero);

    const resolvers: [string, string, string, string][] = [
      [owner, zero, stranger, stranger],
      [owner, stranger, zero, stranger],
      [owner, stranger, stranger, zero],
    ];
    for (const args of resolvers) {
      const data = implementations.resolver.interface.encodeFunctionData("initialize", args);
      await expect(ethers.deployContract("ERC1967Proxy", [await implementations.resolver.getAddress(), data]))
        .to.be.revertedWithCustomError(implementations.resolver, "InvalidAddress")
        .withArgs(zero);
    }
  });

  it("accept no proxy that was left without initialization", async () => {
    const { implementations } = await loadFixture(marketplace);
    const proxy = ethers.deployContract("ERC1967Proxy", [await implementations.escrow.getAddress(), "0x"]);
    await expect(proxy).to.be.revertedWithCustomError(
      await ethers.getContractFactory("ERC1967Proxy"),
      "ERC1967ProxyUninitialized",
    );
  });
});
