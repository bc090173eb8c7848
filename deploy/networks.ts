/** The networks that the contracts are deployed on, and the external contracts that they use there. */

/** Settlement networks. */
export type SettlementNetwork = "base-sepolia" | "base";

/** A token that escrows may use. */
export interface TokenFacts {
  symbol: string;
  address: string;
  decimals: number;
  /** USD price feed, or null for a token valued at one US dollar. */
  feed: string | null;
  /** Decimals of the feed's prices; 0 without a feed. */
  feedDecimals: number;
  /** Seconds until a price of the feed is stale; 0 without a feed. */
  maxPriceAge: number;
  /** Minimum deposit in token units. */
  minAmount: bigint;
  /** Where the addresses come from. */
  sources: readonly string[];
}

/** The facts of a settlement network. */
export interface NetworkFacts {
  chainId: number;
  /** The registries of ERC-8004, which its authors have deployed. */
  erc8004: { identity: string; reputation: string };
  tokens: readonly TokenFacts[];
}

/** Where the addresses of the registries come from: https://github.com/erc-8004/erc-8004-contracts, README.md at b9e466c. */
const ERC8004: Record<"testnets" | "mainnets", NetworkFacts["erc8004"]> = {
  testnets: {
    identity: "0x8004A818BFB912233c491871b3d84c89A494BD9e",
    reputation: "0x8004B663056A597Dffe9eCcC1965A193B7388713",
  },
  mainnets: {
    identity: "0x8004A169FB4a3325136EB29fA0ceB6D2e539a432",
    reputation: "0x8004BAa17C55a88189AE136b182e5fdA19dE9b63",
  },
};

const CIRCLE_USDC = "https://developers.circle.com/stablecoins/usdc-contract-addresses";

export const NETWORKS: Record<SettlementNetwork, NetworkFacts> = {
  "base-sepolia": {
    chainId: 84532,
    erc8004: ERC8004.testnets,
    tokens: [
      {
        symbol: "USDC",
        address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
        decimals: 6,
        feed: null,
        feedDecimals: 0,
        maxPriceAge: 0,
        minAmount: 10_000n, // 0.01 USDC
        sources: [CIRCLE_USDC],
      },
    ],
  },
  base: {
    chainId: 8453,
    erc8004: ERC8004.mainnets,
    tokens: [
      {
        symbol: "USDC",
        address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        decimals: 6,
        feed: null,
        feedDecimals: 0,
        maxPriceAge: 0,
        minAmount: 10_000n, // 0.01 USDC
        sources: [CIRCLE_USDC],
      },
      {
        symbol: "WETH",
        address: "0x4200000000000000000000000000000000000006",
        decimals: 18,
        feed: "0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70", // ETH / USD, heartbeat 1200 s
        feedDecimals: 8,
        maxPriceAge: 3_600, // three heartbeats
        minAmount: 5_000_000_000_000n, // 0.000005 WETH, about 0.01 USD
        sources: [
          "https://docs.base.org/base-chain/network-information/base-contracts",
          "https://docs.chain.link/data-feeds/price-feeds/addresses?network=base",
        ],
      },
    ],
  },
};

/** A network that `hardhat deploy` accepts. */
export interface DeployTarget {
  settlement: SettlementNetwork;
  /** True for a local chain, which gets the tokens at the live addresses. */
  local: boolean;
  /** True where the owner must be a timelock under a multisig. */
  timelocked: boolean;
}

export const DEPLOY_TARGETS: Record<string, DeployTarget> = {
  localBaseSepolia: { settlement: "base-sepolia", local: true, timelocked: false },
  localBase: { settlement: "base", local: true, timelocked: false },
  "base-sepolia": { settlement: "base-sepolia", local: false, timelocked: false },
  base: { settlement: "base", local: false, timelocked: true },
};

/** Seconds between proposing and executing an upgrade or a change of roles or addresses on `base`. */
export const TIMELOCK_DELAY_SECONDS = 48 * 60 * 60;
