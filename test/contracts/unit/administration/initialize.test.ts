import { expect } from "chai";

import { implementationOf } from "../../../../deploy/system/code.ts";
import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("Initializers", () => {
  it("leave the three contracts wired to each other and owned from their first block [S1.07] [S9.03]", async () => {
    const { escrow, score, resolver, usdc, implementations, deployment, actors } = await loadFixture(marketplace);
    expect([await escrow.scoreContract(), await escrow.resolverContract()]).to.deep.equal([
      await score.getAddress(),
      await resolver.getAddress(),
    ]);
    expect([await score.escrowContract(), await resolver.escrowContract()]).to.deep.equal([
      await escrow.getAddress(),
      await escrow.getAddress(),
    ]);
    expect(await escrow.mainToken()).to.equal(await usdc.getAddress());
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
    await expect(escrow.initialize(owner, owner, owner, [])).to.be.revertedWithCustomError(
      escrow,
      "InvalidInitialization",
    );
    await expect(score.initialize(stranger)).to.be.revertedWithCustomError(score, "InvalidInitialization");
    await expect(resolver.initialize(stranger, stranger, stranger)).to.be.revertedWithCustomError(
      resolver,
      "InvalidInitialization",
    );
  });

  it("are closed on the implementations", async () => {
    const { implementations, actors } = await loadFixture(marketplace);
    const { stranger } = actors;
    const bare = implementations;
    await expect(bare.escrow.initialize(stranger, stranger, stranger, [])).to.be.revertedWithCustomError(
      bare.escrow,
      "InvalidInitialization",
    );
    await expect(bare.score.initialize(stranger)).to.be.revertedWithCustomError(bare.score, "InvalidInitialization");
    await expect(bare.resolver.initialize(stranger, stranger, stranger)).to.be.revertedWithCustomError(
      bare.resolver,
      "InvalidInitialization",
    );
    for (const contract of [bare.escrow, bare.score, bare.resolver]) {
      expect(await contract.owner()).to.equal(ethers.ZeroAddress);
    }
  });

  it("refuse roles that are missing", async () => {
    const { implementations, actors } = await loadFixture(marketplace);
    const [owner, treasury, pauser, stranger] = [actors.owner, actors.treasury, actors.pauser, actors.stranger].map(
      ({ address }) => address,
    ) as [string, string, string, string];
    const zero = ethers.ZeroAddress;

    const escrows: [args: [string, string, string], error: string][] = [
      [[zero, treasury, pauser], "OwnableInvalidOwner"],
      [[owner, zero, pauser], "InvalidTreasury"],
      [[owner, treasury, zero], "InvalidPauser"],
    ];
    for (const [args, error] of escrows) {
      const data = implementations.escrow.interface.encodeFunctionData("initialize", [...args, []]);
      await expect(ethers.deployContract("ERC1967Proxy", [await implementations.escrow.getAddress(), data]))
        .to.be.revertedWithCustomError(implementations.escrow, error)
        .withArgs(zero);
    }

    const resolvers: [args: [string, string, string], error: string][] = [
      [[zero, stranger, stranger], "OwnableInvalidOwner"],
      [[owner, zero, stranger], "InvalidResolver"],
      [[owner, stranger, zero], "InvalidResolver"],
    ];
    for (const [args, error] of resolvers) {
      const data = implementations.resolver.interface.encodeFunctionData("initialize", args);
      await expect(ethers.deployContract("ERC1967Proxy", [await implementations.resolver.getAddress(), data]))
        .to.be.revertedWithCustomError(implementations.resolver, error)
        .withArgs(zero);
    }
  });

  it("refuse implementations that name contracts which do not exist", async () => {
    const { implementations, score, resolver, usdc, actors } = await loadFixture(marketplace);
    const { owner, stranger } = actors;
    for (const [args, missing] of [
      [[stranger, resolver, usdc], stranger.address],
      [[score, stranger, usdc], stranger.address],
      [[ethers.ZeroAddress, resolver, usdc], ethers.ZeroAddress],
    ] as const) {
      const implementation = await ethers.deployContract("EscrowV2", [...args]);
      const data = implementation.interface.encodeFunctionData("initialize", [
        owner.address,
        owner.address,
        owner.address,
        [],
      ]);
      await expect(ethers.deployContract("ERC1967Proxy", [implementation, data]))
        .to.be.revertedWithCustomError(implementations.escrow, "PeerWithoutCode")
        .withArgs(missing);
    }
    for (const name of ["ScoreV2", "ResolverV2"] as const) {
      const factory = await ethers.getContractFactory(name as "ScoreV2");
      await expect(factory.deploy(ethers.ZeroAddress))
        .to.be.revertedWithCustomError(factory, "InvalidEscrow")
        .withArgs(ethers.ZeroAddress);
    }
  });

  it("take the main token first: the escrows that name it by its index are paid in it", async () => {
    const { implementations, score, resolver, usdc, weth, actors } = await loadFixture(marketplace);
    const implementation = await ethers.deployContract("EscrowV2", [score, resolver, usdc]);
    const config = { feed: ethers.ZeroAddress, maxPriceAge: 0, decimals: 18, listed: true, minAmount: 2 };
    const { owner } = actors;
    const data = implementation.interface.encodeFunctionData("initialize", [
      owner.address,
      owner.address,
      owner.address,
      [{ token: await weth.getAddress(), config }],
    ]);
    await expect(ethers.deployContract("ERC1967Proxy", [implementation, data]))
      .to.be.revertedWithCustomError(implementations.escrow, "MainTokenNotFirst")
      .withArgs(weth, usdc);
    const factory = await ethers.getContractFactory("MarketplaceDeployment");
    await expect(factory.deploy(actors, [])).to.be.revertedWithCustomError(factory, "NoTokens");
  });

  it("accept no proxy that was left without initialization", async () => {
    const { implementations } = await loadFixture(marketplace);
    const factory = await ethers.getContractFactory("ERC1967Proxy");
    const implementation = await implementations.escrow.getAddress();
    await expect(factory.deploy(implementation, "0x")).to.be.revertedWithCustomError(
      factory,
      "ERC1967ProxyUninitialized",
    );
  });
});
