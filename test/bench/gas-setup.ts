import { type ContractFactory, type ContractTransactionResponse, keccak256, toBeHex } from "ethers";
import hre from "hardhat";

import { mintUsdc } from "../../deploy/run/local-tokens.ts";
import { deployUsdc, deployWeth9, tokenAddress } from "../contracts/fixtures/tokens.ts";

/** The chain begins here, so that times have the same bytes in every run. */
const INITIAL_DATE = "2027-01-15T08:00:00Z";
/** Spans in seconds that every measured escrow has. */
const DELIVERY_SECONDS = 86_400;
export const DISPUTE_WINDOW_SECONDS = 3_600;
export const ABANDONMENT_GRACE_SECONDS = 172_800;

const USDC = 10n ** 6n;
/** A deposit above the lowest cap: its creation reads the scores of both parties. */
export const AMOUNT = 20n * USDC;

interface GasSetupOptions {
  escrowFactory?: ContractFactory;
  isPlain?: boolean;
}

/**
 * A fresh chain with the three proxies, two parties with a past, seller terms, and other escrows in the contract.
 * `escrowFactory` replaces the escrow contract's implementation by another build of it, and `isPlain` USDC by a token
 * without a proxy, a pause or a deny list.
 */
export async function gasSetup({ escrowFactory, isPlain = false }: GasSetupOptions = {}) {
  const connection = await hre.network.create({ network: "default", override: { initialDate: INITIAL_DATE } });
  const { ethers, networkHelpers } = connection;
  const [owner, treasury, pauser, system, admin, buyer, seller, relayer] = await ethers.getSigners();
  if (!owner || !treasury || !pauser || !system || !admin || !buyer || !seller || !relayer) throw new Error("signers");

  const plain = await ethers.deployContract("PlainToken");
  const usdc = isPlain
    ? await ethers.getContractAt("IUsdc", await plain.getAddress())
    : await deployUsdc(connection, tokenAddress("USDC"));
  const weth = await deployWeth9(connection, tokenAddress("WETH"));
  const feed = await ethers.deployContract("MockPriceFeed", [8, 3_000n * 10n ** 8n]);
  const listing = (feedAddress: string, decimals: number, minAmount: bigint) => ({
    feed: feedAddress,
    maxPriceAge: feedAddress === ethers.ZeroAddress ? 0 : 86_400,
    decimals,
    listed: true,
    minAmount,
  });
  const deployment = await ethers.deployContract("MarketplaceDeployment", [
    {
      owner: owner.address,
      treasury: treasury.address,
      pauser: pauser.address,
      systemResolver: system.address,
      adminResolver: admin.address,
    },
    [
      { token: await usdc.getAddress(), config: listing(ethers.ZeroAddress, 6, USDC / 100n) },
      { token: await weth.getAddress(), config: listing(await feed.getAddress(), 18, 10n ** 13n) },
    ],
  ]);
  const escrow = await ethers.getContractAt("EscrowV2", await deployment.escrow());
  const score = await ethers.getContractAt("ScoreV2", await deployment.score());
  const resolver = await ethers.getContractAt("ResolverV2", await deployment.resolver());
  if (escrowFactory !== undefined) {
    const other = await escrowFactory.connect(owner).deploy(score, resolver, usdc);
    await escrow.connect(owner).upgradeToAndCall(other, "0x");
  }
  const escrowAddress = await escrow.getAddress();
  const usdcAddress = await usdc.getAddress();
  const wethAddress = await weth.getAddress();

  for (const { address } of [buyer, seller, treasury]) {
    await (isPlain ? plain.mint(address, 10_000n * USDC) : mintUsdc(usdc, owner, address, 10_000n * USDC));
  }
  for (const party of [buyer, seller, treasury]) await weth.connect(party).deposit({ value: 10n ** 18n });
  await usdc.connect(buyer).approve(escrowAddress, ethers.MaxUint256);
  await weth.connect(buyer).approve(escrowAddress, ethers.MaxUint256);
  await escrow.connect(seller).setSellerTerms(USDC, 600, false);

  // Hashes of a counter: they look random, and their zero bytes (which cost less) are the same in every run.
  let drawn = 0n;
  const hash = () => keccak256(toBeHex((drawn += 1n), 32));
  const terms = async (amount: bigint, token: string) => ({
    escrowId: hash(),
    buyer: buyer.address,
    seller: seller.address,
    amount,
    token,
    deadline: BigInt((await networkHelpers.time.latest()) + DELIVERY_SECONDS),
    disputeWindow: BigInt(DISPUTE_WINDOW_SECONDS),
    abandonmentGrace: BigInt(ABANDONMENT_GRACE_SECONDS),
    criteriaHash: hash(),
  });
  type Terms = Awaited<ReturnType<typeof terms>>;
  const create = (made: Terms) =>
    escrow
      .connect(buyer)
      .createEscrow(
        made.escrowId,
        made.seller,
        made.amount,
        made.token,
        made.deadline,
        made.disputeWindow,
        made.abandonmentGrace,
        made.criteriaHash,
      );
  /** A new escrow; its id. */
  const funded = async (amount = AMOUNT, token = usdcAddress) => {
    const made = await terms(amount, token);
    await create(made);
    return made.escrowId;
  };
  const delivered = async () => {
    const escrowId = await funded();
    await escrow.connect(seller).submitDelivery(escrowId, hash());
    return escrowId;
  };
  const disputed = async () => {
    const escrowId = await delivered();
    await escrow.connect(buyer).openDispute(escrowId);
    return escrowId;
  };

  // A past: ten deals lift both caps to $25. Two escrows stay open, so that the contract holds both tokens.
  for (let deal = 0; deal < 10; deal += 1) {
    const escrowId = await funded(USDC);
    await escrow.connect(seller).submitDelivery(escrowId, hash());
    await escrow.connect(buyer).accept(escrowId);
  }
  await funded(USDC);
  await funded(10n ** 15n, wethAddress);

  return {
    connection,
    /** Gas of the transaction that created the implementations and the proxies, and initialized these. */
    deploymentGas: Number((await deployment.deploymentTransaction()?.wait())?.gasUsed),
    contracts: { escrow, score, resolver, usdc, weth },
    wallets: { owner, treasury, pauser, system, admin, buyer, seller, relayer },
    addresses: { escrow: escrowAddress, usdc: usdcAddress, weth: wethAddress },
    steps: { terms, create, funded, delivered, disputed, hash },
  };
}

/** What `gasSetup` gives. */
export type GasSetup = Awaited<ReturnType<typeof gasSetup>>;

/** Gas used by a transaction, which must succeed. */
export async function used(sent: Promise<ContractTransactionResponse>): Promise<number> {
  const receipt = await (await sent).wait();
  if (receipt?.status !== 1) throw new Error("a measured transaction failed");
  return Number(receipt.gasUsed);
}
