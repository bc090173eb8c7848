import { readFile, rm, stat, writeFile } from "node:fs/promises";

import { expect } from "chai";
import hre from "hardhat";

import { findDifferences } from "../../../deploy/check/check.ts";
import { NETWORKS } from "../../../deploy/networks.ts";
import type { Deployment } from "../../../deploy/system/deployment-file.ts";
import { EscrowV2__factory } from "../../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import { MockPriceFeed__factory } from "../../../typechain-types/factories/contracts/mocks/MockPriceFeed__factory.ts";
import { IdentityRegistry__factory } from "../../../typechain-types/factories/contracts/mocks/IdentityRegistry__factory.ts";
import { ReputationRegistry__factory } from "../../../typechain-types/factories/contracts/mocks/ReputationRegistry__factory.ts";
import { IUsdc__factory } from "../../../typechain-types/factories/contracts/mocks/IUsdc__factory.ts";
import { IWeth9__factory } from "../../../typechain-types/factories/contracts/mocks/IWeth9__factory.ts";
import type { DeployChain } from "../fixtures/deployment.ts";
import { deployChain, mortal } from "../fixtures/deployment.ts";

const USDC_BASE_SEPOLIA = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const USDC_BASE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const WETH_BASE = "0x4200000000000000000000000000000000000006";
const FEED_BASE = "0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70";

async function json(file: string): Promise<unknown> {
  return JSON.parse(await readFile(file, "utf8"));
}

describe("hardhat deploy on a local chain", function () {
  this.timeout(60_000);
  let chain: DeployChain;

  describe("that simulates Base Sepolia", () => {
    beforeEach(async () => {
      chain = await deployChain("localBaseSepolia", 84_532);
    });
    afterEach(() => chain.remove());

    it("puts the three contracts behind proxies, lists USDC, wires the roles and writes both files [S1.07] [S1.15] [S9.03]", async () => {
      const { signers, run, file, networksFile, ethers } = chain;
      const deployment = await run();
      const { escrow, score, resolver } = deployment.contracts;
      expect(await json(file)).to.deep.equal(deployment);
      expect([deployment.network, deployment.chainId]).to.deep.equal(["base-sepolia", 84_532]);
      expect(deployment.roles).to.deep.equal({
        owner: signers[0]?.address,
        treasury: signers[4]?.address,
        pauser: signers[3]?.address,
        systemResolver: signers[1]?.address,
        adminResolver: signers[2]?.address,
      });
      expect(deployment.tokens).to.deep.equal([
        {
          symbol: "USDC",
          address: USDC_BASE_SEPOLIA,
          decimals: 6,
          feed: ethers.ZeroAddress,
          maxPriceAge: 0,
          minAmount: "10000",
        },
      ]);
      expect(await findDifferences(ethers.provider, deployment)).to.deep.equal([]);
      for (const { proxy, implementation, txHash } of [escrow, score, resolver]) {
        expect(proxy).not.to.equal(implementation);
        expect((await ethers.provider.getTransactionReceipt(txHash))?.blockNumber).to.equal(deployment.startBlock);
      }
      const { startBlock } = deployment;
      expect(await json(networksFile)).to.deep.equal({
        "base-sepolia": {
          EscrowV2: { address: escrow.proxy, startBlock },
          ScoreV2: { address: score.proxy, startBlock },
          ResolverV2: { address: resolver.proxy, startBlock },
        },
      });
    });

    it("places a USDC with the live name and funds the accounts, 0 to 9", async () => {
      const { signers, run, ethers } = chain;
      await run();
      const usdc = IUsdc__factory.connect(USDC_BASE_SEPOLIA, ethers.provider);
      expect([await usdc.name(), await usdc.symbol(), await usdc.decimals()]).to.deep.equal(["USDC", "USDC", 6n]);
      for (const { address } of signers.slice(0, 10)) expect(await usdc.balanceOf(address)).to.equal(10n ** 12n);
    });

    it("places the registries of ERC-8004 at the live addresses, working", async () => {
      const { run, signers, deployer } = chain;
      await run();
      const identity = IdentityRegistry__factory.connect(NETWORKS["base-sepolia"].erc8004.identity, deployer);
      const reputation = ReputationRegistry__factory.connect(NETWORKS["base-sepolia"].erc8004.reputation, deployer);
      expect([await identity.name(), await reputation.getIdentityRegistry()]).to.deep.equal([
        "AgentIdentity",
        await identity.getAddress(),
      ]);
      const { verifyingContract, chainId } = await identity.eip712Domain();
      expect([verifyingContract, chainId]).to.deep.equal([await identity.getAddress(), 84_532n]);
      await identity["register(string)"]("ipfs://file");
      expect(await identity.getAgentWallet(0n)).to.equal(deployer.address);
      const [, client] = signers;
      if (!client) throw new Error("The test chain has too few accounts");
      const hash = chain.ethers.ZeroHash;
      await reputation.connect(client).giveFeedback(0n, 87n, 0n, "starred", "", "", "", hash);
      expect([...(await reputation.getSummary(0n, [client], "", ""))]).to.deep.equal([1n, 87n, 0n]);
    });

    it("settles an escrow in its USDC [S1.09] [S1.11]", async () => {
      const deployment = await chain.run();
      expect((await chain.ethers.provider.getNetwork()).chainId).to.equal(84_532n);
      await settlesDeal(chain, deployment, USDC_BASE_SEPOLIA, 1_000_000n);
    });

    it("does nothing the second time: no transaction, no file touched", async () => {
      const { run, file, networksFile, ethers, lines } = chain;
      const first = await run();
      const block = await ethers.provider.getBlockNumber();
      const touched = [(await stat(file)).mtimeMs, (await stat(networksFile)).mtimeMs];
      expect(await run()).to.deep.equal(first);
      expect(await ethers.provider.getBlockNumber()).to.equal(block);
      expect([(await stat(file)).mtimeMs, (await stat(networksFile)).mtimeMs]).to.deep.equal(touched);
      expect(lines.join("\n")).to.contain("nothing to do");
    });

    it("goes on where it was killed, before any of its transactions, and deploys nothing twice", async () => {
      const whole = mortal(chain.deployer, Number.POSITIVE_INFINITY);
      const reference = await chain.run({ deployer: whole.signer });
      const transactions = whole.sent();
      expect(transactions).to.be.greaterThan(2);
      for (let fatal = 0; fatal < transactions; fatal += 1) {
        await chain.remove();
        chain = await deployChain("localBaseSepolia", 84_532);
        const first = mortal(chain.deployer, fatal);
        await chain.run({ deployer: first.signer }).then(
          () => expect.fail("the run was not killed"),
          (error: unknown) => {
            expect((error as Error).message).to.equal("killed");
          },
        );
        const second = mortal(chain.deployer, Number.POSITIVE_INFINITY);
        const deployment = await chain.run({ deployer: second.signer });
        expect(deployment.contracts.escrow.proxy).to.equal(reference.contracts.escrow.proxy);
        expect(first.sent() + second.sent(), `killed before transaction ${fatal}`).to.equal(transactions);
        expect(await findDifferences(chain.ethers.provider, deployment)).to.deep.equal([]);
      }
    });

    it("finds the contracts again when the file was lost or never written", async () => {
      const { run, file, networksFile, ethers } = chain;
      const first = await run();
      const block = await ethers.provider.getBlockNumber();
      await rm(file);
      await rm(networksFile);
      expect(await run()).to.deep.equal(first);
      expect(await json(file)).to.deep.equal(first);
      expect(await ethers.provider.getBlockNumber()).to.equal(block);
    });

    it("deploys again when the chain that the file describes is gone", async () => {
      const stale = await chain.run();
      const fresh = await deployChain("localBaseSepolia", 84_532);
      try {
        await writeFile(fresh.file, JSON.stringify({ ...stale, startBlock: 999 }));
        expect((await fresh.run()).startBlock).to.be.lessThan(999);
      } finally {
        await fresh.remove();
      }
    });

    it("keeps the other network in networks.json", async () => {
      const other = { EscrowV2: { address: USDC_BASE, startBlock: 7 } };
      await writeFile(chain.networksFile, JSON.stringify({ base: other }));
      await chain.run();
      const networks = (await json(chain.networksFile)) as Record<string, unknown>;
      expect(Object.keys(networks).sort()).to.deep.equal(["base", "base-sepolia"]);
      expect(networks.base).to.deep.equal(other);
    });

    it("says what differs when the chain is not as the file tells", async () => {
      const { run, ethers, deployer, signers } = chain;
      const { contracts } = await run();
      const [treasury] = [signers[9]];
      await EscrowV2__factory.connect(contracts.escrow.proxy, deployer).setTreasury(treasury?.address ?? "");
      await run().then(
        () => expect.fail("the difference went unnoticed"),
        (error: unknown) => {
          expect((error as Error).message).to.match(new RegExp(`treasury: ${treasury?.address}, expected`));
        },
      );
      expect(await ethers.provider.getCode(contracts.escrow.proxy)).not.to.equal("0x");
    });

    it("refuses a chain with another id, an unknown network and a broken file", async () => {
      await rejected(
        chain.run({ targetName: "localBase" }),
        /localBase has chain id 8453, but the RPC node says 84532/,
      );
      await rejected(
        chain.run({ targetName: "mainnet" }),
        /works with --network localBaseSepolia\|localBase\|base-sepolia\|base/,
      );
      await writeFile(chain.file, "{");
      await rejected(chain.run(), /is not JSON/);
    });

    it("knows contracts of the second generation only [S9.02]", async () => {
      const names = [...(await hre.artifacts.getAllFullyQualifiedNames())].map((name) => name.split(":")[1] ?? "");
      expect(names).to.include.members(["EscrowV2", "ScoreV2", "ResolverV2"]);
      expect(names.filter((name) => /^(Escrow|Score|Resolver)(V1)?$/.test(name))).to.deep.equal([]);
    });
  });

  describe("that simulates Base", () => {
    beforeEach(async () => {
      chain = await deployChain("localBase", 8_453);
    });
    afterEach(() => chain.remove());

    it("lists USDC and WETH with its feed at the live addresses, funded and working [S1.12] [S1.13]", async () => {
      const { run, ethers, signers } = chain;
      const deployment = await run();
      expect(deployment.tokens.map(({ symbol, address, feed }) => [symbol, address, feed])).to.deep.equal([
        ["USDC", USDC_BASE, ethers.ZeroAddress],
        ["WETH", WETH_BASE, FEED_BASE],
      ]);
      const usdc = IUsdc__factory.connect(USDC_BASE, ethers.provider);
      const weth = IWeth9__factory.connect(WETH_BASE, ethers.provider);
      const feed = MockPriceFeed__factory.connect(FEED_BASE, ethers.provider);
      expect(await usdc.name()).to.equal("USD Coin");
      for (const { address } of signers.slice(0, 10)) expect(await weth.balanceOf(address)).to.equal(10n ** 20n);
      expect(await feed.decimals()).to.equal(8n);

      await settlesDeal(chain, deployment, USDC_BASE, 1_000_000n);
      await settlesDeal(chain, deployment, WETH_BASE, 10n ** 15n);
    });

    it("keeps the feed's answer fresh however far the clock is moved", async () => {
      const { run, ethers, connection } = chain;
      const { contracts } = await run();
      await connection.networkHelpers.time.increase(365 * 86_400);
      const escrow = EscrowV2__factory.connect(contracts.escrow.proxy, ethers.provider);
      expect(await escrow.usdValue(WETH_BASE, 10n ** 18n)).to.equal(2_500_000_000n);
    });
  });
});

/** Funds, delivers and accepts an escrow between two funded accounts. */
async function settlesDeal(chain: DeployChain, deployment: Deployment, token: string, amount: bigint): Promise<void> {
  const { ethers, signers } = chain;
  const [, , , , , buyer, seller] = signers;
  if (!buyer || !seller) throw new Error("The test chain has too few accounts");
  const escrow = EscrowV2__factory.connect(deployment.contracts.escrow.proxy, buyer);
  const erc20 = IUsdc__factory.connect(token, buyer);
  const escrowId = ethers.hexlify(ethers.randomBytes(32));
  const deadline = BigInt((await ethers.provider.getBlock("latest"))?.timestamp ?? 0) + 86_400n;
  await erc20.approve(escrow, amount);
  await escrow.createEscrow(escrowId, seller, amount, token, deadline, 300, 3_600, ethers.id("criteria"));
  await escrow.connect(seller).submitDelivery(escrowId, ethers.id("proof"));
  const before = await erc20.balanceOf(seller);
  await escrow.accept(escrowId);
  expect((await erc20.balanceOf(seller)) - before).to.equal((amount * 98n) / 100n);
}

async function rejected(attempt: Promise<unknown>, message: RegExp): Promise<void> {
  await attempt.then(
    () => expect.fail("it was not refused"),
    (error: unknown) => {
      expect((error as Error).message).to.match(message);
    },
  );
}
