import { JsonRpcProvider, type TypedDataDomain, type TypedDataField } from "ethers";
import { network } from "hardhat";

import { NETWORKS, type SettlementNetwork, type TokenFacts } from "../../../deploy/networks.ts";

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

/** The part of live USDC that the tests use beside ERC-20 and EIP-3009. */
const USDC_ABI = [
  "function mint(address recipient, uint256 amount)",
  "function masterMinter() view returns (address)",
  "function configureMinter(address minter, uint256 allowance) returns (bool)",
  "function blacklister() view returns (address)",
  "function blacklist(address account)",
  "function unBlacklist(address account)",
  "function balanceOf(address account) view returns (uint256)",
  "function approve(address spender, uint256 amount) returns (bool)",
  "function name() view returns (string)",
  "function version() view returns (string)",
  "function authorizationState(address authorizer, bytes32 nonce) view returns (bool)",
  "function receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
];
/** The part of WETH9 that the tests use beside the part that it shares with USDC. */
const WETH_ABI = [
  "function deposit() payable",
  "function balanceOf(address account) view returns (uint256)",
  "function approve(address spender, uint256 amount) returns (bool)",
];
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

/** Forks a chain at its block; every account, token and contract there can be acted upon without changing it. */
export async function forkOf(source: ForkSource) {
  const { chainId, tokens } = NETWORKS[source.settlement];
  const connection = await network.create({
    network: "default",
    chainType: "op",
    override: {
      chainId,
      hardfork: source.hardfork,
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
  const usdc = new ethers.Contract(usdcFacts.address, USDC_ABI, buyer);
  const wethFacts = tokens.find(({ symbol }) => symbol === "WETH");

  /** Acts in the name of any address. */
  const as = async (address: string) => {
    await networkHelpers.setBalance(address, ETHER);
    return ethers.getImpersonatedSigner(address);
  };
  const escrow = await ethers.getContractAt("EscrowV2", source.escrow ?? (await deploy()));

  async function deploy(): Promise<string> {
    const codes = [];
    for (const name of ["EscrowV2", "ScoreV2", "ResolverV2"] as const) {
      const contract = await (await ethers.getContractFactory(name as "EscrowV2")).deploy();
      codes.push(await contract.getAddress());
    }
    const [escrowCode = "", score = "", resolver = ""] = codes;
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
    const implementations = { escrow: escrowCode, score, resolver };
    const deployment = await ethers.deployContract("MarketplaceDeployment", [implementations, roles, listings]);
    return deployment.escrow();
  }

  /** Gives a wallet USDC: the mock mints for anybody, the live token by its master minter. */
  const fund = async (recipient: string, amount: bigint): Promise<void> => {
    const isMock = await usdc
      .getFunction("masterMinter")
      .staticCall()
      .then(
        () => false,
        () => true,
      );
    if (isMock) {
      await usdc.getFunction("mint").send(recipient, amount);
      return;
    }
    const minter = await as((await usdc.getFunction("masterMinter").staticCall()) as string);
    await (usdc.connect(minter) as typeof usdc).getFunction("configureMinter").send(minter.address, amount);
    await (usdc.connect(minter) as typeof usdc).getFunction("mint").send(recipient, amount);
  };

  const balanceOf = (account: string): Promise<bigint> =>
    usdc.getFunction("balanceOf").staticCall(account) as Promise<bigint>;

  /** The token's own role shuts an address out, or lets it in again. */
  const deny = async (account: string, verb: "blacklist" | "unBlacklist"): Promise<void> => {
    const role = await as((await usdc.getFunction("blacklister").staticCall()) as string);
    await (usdc.connect(role) as typeof usdc).getFunction(verb).send(account);
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
    const erc20 = new ethers.Contract(made.token, USDC_ABI, buyer);
    await erc20.getFunction("approve").send(await escrow.getAddress(), made.amount);
    const { escrowId, amount, token, deadline, disputeWindow, abandonmentGrace, criteriaHash } = made;
    await escrow
      .connect(buyer)
      .createEscrow(escrowId, made.seller, amount, token, deadline, disputeWindow, abandonmentGrace, criteriaHash);
  };

  /** WETH of this network: its address, and the buyer wraps ether for a deposit. */
  const weth = wethFacts && {
    address: wethFacts.address,
    contract: new ethers.Contract(wethFacts.address, WETH_ABI, buyer),
  };

  /** The buyer's EIP-3009 signature over all terms, by the domain that the token itself names. */
  const authorize = async (made: Terms, validBefore: bigint): Promise<string> => {
    const domain: TypedDataDomain = {
      name: (await usdc.getFunction("name").staticCall()) as string,
      version: (await usdc.getFunction("version").staticCall()) as string,
      chainId,
      verifyingContract: usdcFacts.address,
    };
    return buyer.signTypedData(domain, AUTHORIZATION, {
      from: made.buyer,
      to: await escrow.getAddress(),
      value: made.amount,
      validAfter: 0n,
      validBefore,
      nonce: await escrow.authorizationNonce(made),
    });
  };

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
    authorize,
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
