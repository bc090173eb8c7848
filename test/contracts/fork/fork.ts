import { id, JsonRpcProvider, Mnemonic, type TypedDataDomain, type TypedDataField } from "ethers";
import { network } from "hardhat";

import { NETWORKS, type SettlementNetwork, type TokenFacts } from "../../../deploy/networks.ts";
import { placeUsdc } from "../../../deploy/run/local-tokens.ts";
import type { IUsdc } from "../../../typechain-types/contracts/mocks/IUsdc.ts";

/** What the tests of a fork work on: a chain to fork, pinned at a block, and the contracts deployed there, if any. */
export interface ForkSource {
  settlement: SettlementNetwork;
  url: string;
  blockNumber: number;
  /** Rules of the blocks on the fork. */
  hardfork: "granite" | "isthmus";
  /** Proxies on the forked chain; without them the tests deploy on the fork. */
  escrow?: string;
}

const AUTHORIZATION: Record<string, TypedDataField[]> = {
  ReceiveWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
};
const ETHER = 10n ** 18n;
/**
 * Wallets of these tests alone. On live networks everyone knows the keys of the usual test accounts, and some of those
 * accounts delegate to a contract (EIP-7702), which then decides about their signatures.
 */
const MNEMONIC = Mnemonic.fromEntropy(id("forks of the agent marketplace").slice(0, 34)).phrase;
/** Where the USDC of local chains is put beside the one of the fork. */
const LOCAL_USDC = "0x10ca100000000000000000000000000000000001";

/** An EIP-3009 message, valid from the beginning. */
interface Authorization {
  from: string;
  to: string;
  value: bigint;
  validBefore: bigint;
  nonce: string;
}

/** Forks a chain at its block; every account, token and contract there can be acted upon without changing it. */
export async function forkOf(source: ForkSource) {
  const { chainId, tokens } = NETWORKS[source.settlement];
  const connection = await network.create({
    network: "default",
    chainType: "op",
    override: {
      chainId,
      hardfork: source.hardfork,
      accounts: { mnemonic: MNEMONIC },
      forking: { url: source.url, blockNumber: source.blockNumber },
      // The clock goes on from the pinned block: the feed's answer is as fresh as it was there.
      initialDate: await dateOf(source),
    },
  });
  const { ethers, provider, networkHelpers } = connection;
  const signers = await ethers.getSigners();
  const [deployer, , , , treasury, buyer, seller, stranger] = signers;
  if (!deployer || !treasury || !buyer || !seller || !stranger) throw new Error("the fork has no accounts");
  const usdcFacts = tokens.find(({ symbol }) => symbol === "USDC");
  if (!usdcFacts) throw new Error("no USDC on this network");
  const usdc = await ethers.getContractAt("IUsdc", usdcFacts.address, buyer);
  const wethFacts = tokens.find(({ symbol }) => symbol === "WETH");

  /** Acts in the name of any address. */
  const as = async (address: string) => {
    await networkHelpers.setBalance(address, ETHER);
    return ethers.getImpersonatedSigner(address);
  };
  const escrow = await ethers.getContractAt("EscrowV2", source.escrow ?? (await deploy()));

  async function deploy(): Promise<string> {
    const address = (index: number): string => signers[index]?.address ?? "";
    const roles = {
      owner: address(0),
      treasury: address(4),
      pauser: address(3),
      systemResolver: address(1),
      adminResolver: address(2),
    };
    const listings = tokens.map((token: TokenFacts) => ({
      token: token.address,
      config: {
        feed: token.feed ?? ethers.ZeroAddress,
        maxPriceAge: token.maxPriceAge,
        decimals: token.decimals,
        listed: true,
        minAmount: token.minAmount,
      },
    }));
    const deployment = await ethers.deployContract("MarketplaceDeployment", [roles, listings]);
    return deployment.escrow();
  }

  /** Gives a wallet USDC as Circle does: the master minter configures a minter, here itself, which mints. */
  const fund = async (recipient: string, amount: bigint, token = usdc): Promise<void> => {
    const minter = await as(await token.masterMinter());
    await token.connect(minter).configureMinter(minter, amount);
    await token.connect(minter).mint(recipient, amount);
  };

  const balanceOf = (account: string): Promise<bigint> => usdc.balanceOf(account);

  /** The token's own role shuts an address out, or lets it in again. */
  const deny = async (account: string, verb: "blacklist" | "unBlacklist"): Promise<void> => {
    await usdc.connect(await as(await usdc.blacklister()))[verb](account);
  };

  /** The USDC of local chains, on this fork beside the forked one. */
  const placeLocalUsdc = async (): Promise<IUsdc> => {
    const request = (method: string, params: unknown[]) => provider.request({ method, params });
    const name = await usdc.name();
    return (await placeUsdc({ deployer, provider: ethers.provider, request }, LOCAL_USDC, name)).connect(buyer);
  };

  let counter = 0;
  const terms = async (amount: bigint, token = usdcFacts.address) => {
    counter += 1;
    return {
      escrowId: ethers.id(`fork escrow ${counter}`),
      buyer: buyer.address,
      seller: seller.address,
      amount,
      token,
      deadline: BigInt((await networkHelpers.time.latest()) + 86_400),
      disputeWindow: 3_600n,
      abandonmentGrace: 172_800n,
      criteriaHash: ethers.id("criteria"),
    };
  };
  type Terms = Awaited<ReturnType<typeof terms>>;

  const create = async (made: Terms): Promise<void> => {
    if (made.token === usdcFacts.address) await fund(made.buyer, made.amount);
    await (usdc.attach(made.token) as IUsdc).approve(escrow, made.amount);
    const { escrowId, amount, token, deadline, disputeWindow, abandonmentGrace, criteriaHash } = made;
    await escrow
      .connect(buyer)
      .createEscrow(escrowId, made.seller, amount, token, deadline, disputeWindow, abandonmentGrace, criteriaHash);
  };

  /** WETH of this network: its address, and the buyer wraps ether for a deposit. */
  const weth = wethFacts && {
    address: wethFacts.address,
    contract: await ethers.getContractAt("IWeth9", wethFacts.address, buyer),
  };

  /** The buyer's EIP-3009 signature, by the domain that the token itself names. */
  const signAuthorization = async (message: Authorization, token = usdc): Promise<string> => {
    const domain: TypedDataDomain = {
      name: await token.name(),
      version: await token.version(),
      chainId,
      verifyingContract: await token.getAddress(),
    };
    return buyer.signTypedData(domain, AUTHORIZATION, { ...message, validAfter: 0n });
  };

  /** The buyer's EIP-3009 signature over all terms. */
  const authorize = async (made: Terms, validBefore: bigint): Promise<string> =>
    signAuthorization({
      from: made.buyer,
      to: await escrow.getAddress(),
      value: made.amount,
      validBefore,
      nonce: await escrow.authorizationNonce(made),
    });

  return {
    connection,
    ethers,
    provider,
    networkHelpers,
    escrow,
    usdc,
    weth,
    wallets: { buyer, seller, stranger },
    as,
    fund,
    balanceOf,
    deny,
    terms,
    create,
    signAuthorization,
    authorize,
    placeLocalUsdc,
  };
}

async function dateOf({ url, blockNumber }: ForkSource): Promise<Date> {
  const provider = new JsonRpcProvider(url);
  try {
    const block = await provider.getBlock(blockNumber);
    if (!block) throw new Error(`the chain to fork has no block ${blockNumber}`);
    return new Date(block.timestamp * 1_000);
  } finally {
    provider.destroy();
  }
}

/** A fork with its helpers. */
export type Fork = Awaited<ReturnType<typeof forkOf>>;
