import { BlockNotFoundError, erc20Abi, getAddress } from "viem";
import type { Address, Block, Hash, Hex } from "viem";

import type { Network } from "../config/constants.ts";
import { escrowAbi, priceFeedAbi, scoreAbi } from "./abis.ts";
import { isSignedBy } from "./agreement.ts";
import type { Agreement } from "./agreement.ts";
import { readTokenDomain } from "./authorization.ts";
import type { TokenDomain } from "./authorization.ts";
import type { DeployedToken, Deployment } from "./deployment.ts";
import { WrongChainError } from "./errors.ts";
import { readEscrowLimits } from "./escrow-limits.ts";
import type { DepositTerms, EscrowLimits } from "./escrow-limits.ts";
import { lookupReceipt } from "./receipt-lookup.ts";
import type { ReceiptLookup } from "./receipt-lookup.ts";
import { createRpc } from "./rpc.ts";
import type { RpcCall } from "./rpc.ts";
import { signsForTokens } from "./wallet-code.ts";

/** A block of a chain. `timestamp` in unix seconds. */
export interface ChainHead {
  number: number;
  hash: Hash;
  timestamp: number;
}

/** A USD price from a feed: `answer / 10^decimals`. `updatedAt` is in unix seconds. */
export interface FeedPrice {
  answer: bigint;
  decimals: number;
  updatedAt: number;
}

function toHead(block: Block<bigint, false, "latest">): ChainHead {
  return { number: Number(block.number), hash: block.hash, timestamp: Number(block.timestamp) };
}

/** An escrow as the contract has it at a block. Times in unix seconds, 0 if there is none yet. */
export interface ChainEscrow {
  buyer: Address;
  seller: Address;
  token: Address;
  /** Gross deposit in token units. */
  amount: bigint;
  /** State code. */
  state: number;
  createdAt: bigint;
  deadline: bigint;
  deliveredAt: bigint;
  disputedAt: bigint;
  /** Seconds. */
  disputeWindow: bigint;
  /** Seconds. */
  abandonmentGrace: bigint;
  criteriaHash: Hex;
}

/**
 * Reads one settlement network by JSON-RPC. Every method throws ChainUnavailableError if the server is unreachable, or
 * its subclass WrongChainError if the server serves another chain.
 */
export interface ChainClient {
  readonly network: Network;
  readonly chainId: number;
  readonly deployment: Deployment;
  /** Checks once which chain the server serves; every other call waits for the result. */
  assertChainId(): Promise<void>;
  head(): Promise<ChainHead>;
  /** The block with this number; null above the latest one. */
  block(blockNumber: number): Promise<ChainHead | null>;
  /** On-chain score of a wallet. 0 for an unknown wallet, and it may be negative. */
  scoreOf(wallet: Address): Promise<bigint>;
  /** The same at a block, which the server must still have the state of. Calls of one tick share a request. */
  scoreAt(wallet: Address, blockNumber: number): Promise<bigint>;
  /**
   * Reads what `createEscrow` would check for this deposit in one round trip: pause, minimum deposit, value, caps and
   * seller terms.
   * @throws PriceUnavailableError if the token's feed has no usable price, TokenNotListedError
   */
  escrowLimits(terms: DepositTerms): Promise<EscrowLimits>;
  tokenBalance(token: Address, owner: Address): Promise<bigint>;
  /** An owner's allowance to the escrow contract, in token units. */
  tokenAllowance(token: Address, owner: Address): Promise<bigint>;
  /** The EIP-712 domain of a token that supports EIP-3009 authorizations, read once; null for a token that doesn't. */
  tokenDomain(token: Address): Promise<TokenDomain | null>;
  /** Whether tokens accept what a wallet signs: it has no code, or ERC-1271. */
  signsForTokens(wallet: Address): Promise<boolean>;
  /** The latest USD price of a token that has a feed. */
  price(token: DeployedToken): Promise<FeedPrice>;
  /** The state code of an escrow at the latest block; 0 if it was never created. */
  escrowState(escrowId: Hex): Promise<number>;
  /**
   * An escrow at a block, which the server must still have the state of; null if it wasn't created yet. Calls of one tick
   * share a request.
   */
  escrowAt(escrowId: Hex, blockNumber: number): Promise<ChainEscrow | null>;
  /** Whether the resolver contract would accept a wallet's signature of an agreement. */
  agreementIsSigned(wallet: Address, agreement: Agreement, signature: Hex): Promise<boolean>;
  lookupReceipt(txHash: Hash): Promise<ReceiptLookup>;
  /** The listed token with a symbol, ignoring case. */
  token(symbol: string): DeployedToken | undefined;
}

/** Settings of a chain client. */
export interface ChainClientOptions {
  network: Network;
  rpcUrl: string;
  deployment: Deployment;
  /** Timeout of one attempt in milliseconds; default 5000. */
  timeoutMs?: number;
  /** Attempts per call, including the first; default 3. */
  attempts?: number;
}

const DEFAULT_TIMEOUT_MS = 5_000;
const DEFAULT_ATTEMPTS = 3;

async function readPrice(rpc: RpcCall, { feed: address }: DeployedToken): Promise<FeedPrice> {
  const feed = { address, abi: priceFeedAbi } as const;
  const [decimals, [, answer, , updatedAt]] = await Promise.all([
    rpc((client) => client.readContract({ ...feed, functionName: "decimals" })),
    rpc((client) => client.readContract({ ...feed, functionName: "latestRoundData" })),
  ]);
  return { answer, decimals, updatedAt: Number(updatedAt) };
}

/** Creates a client for one settlement network, with bounded time and retries. It holds no key and sends nothing. */
export function createChainClient(options: ChainClientOptions): ChainClient {
  const { network, deployment } = options;
  const call = createRpc({
    network,
    rpcUrl: options.rpcUrl,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    attempts: options.attempts ?? DEFAULT_ATTEMPTS,
  });
  let isRightChain = false;
  async function assertChainId(): Promise<void> {
    if (isRightChain) return;
    const actual = await call((client) => client.getChainId());
    if (actual !== deployment.chainId) throw new WrongChainError(network, deployment.chainId, actual);
    isRightChain = true;
  }
  const rpc: RpcCall = async (read) => {
    if (!isRightChain) await assertChainId();
    return call(read);
  };
  const escrow = (escrowId: Hex, blockNumber?: bigint) => {
    const call = { address: deployment.escrow, abi: escrowAbi, functionName: "getEscrow", args: [escrowId] } as const;
    return rpc((client) => client.readContract({ ...call, blockNumber }));
  };
  const score = (wallet: Address, blockNumber?: bigint) => {
    const call = {
      address: deployment.score,
      abi: scoreAbi,
      functionName: "scoreOf",
      args: [getAddress(wallet)],
    } as const;
    return rpc((client) => client.readContract({ ...call, blockNumber }));
  };
  const tokenDomains = new Map<Address, TokenDomain | null>();

  return {
    network,
    chainId: deployment.chainId,
    deployment,

    assertChainId,

    head: async () =>
      toHead(await rpc((client) => client.getBlock({ blockTag: "latest", includeTransactions: false }))),

    async block(blockNumber) {
      try {
        return toHead(await rpc((client) => client.getBlock({ blockNumber: BigInt(blockNumber) })));
      } catch (error) {
        if (error instanceof BlockNotFoundError) return null;
        throw error;
      }
    },

    scoreOf: (wallet) => score(wallet),
    scoreAt: (wallet, blockNumber) => score(wallet, BigInt(blockNumber)),

    escrowLimits: (terms) => readEscrowLimits(rpc, deployment, terms),

    tokenBalance: (token, owner) =>
      rpc((client) => client.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [owner] })),

    tokenAllowance: (token, owner) =>
      rpc((client) =>
        client.readContract({
          address: token,
          abi: erc20Abi,
          functionName: "allowance",
          args: [owner, deployment.escrow],
        }),
      ),

    signsForTokens: (wallet) => signsForTokens(rpc, wallet),

    async tokenDomain(token) {
      const known = tokenDomains.get(token);
      if (known !== undefined) return known;
      const domain = await readTokenDomain(rpc, token, deployment.chainId);
      tokenDomains.set(token, domain);
      return domain;
    },

    price: (token) => readPrice(rpc, token),

    escrowState: async (escrowId) => (await escrow(escrowId)).state,

    async escrowAt(escrowId, blockNumber) {
      const record = await escrow(escrowId, BigInt(blockNumber));
      return record.state === 0 ? null : record;
    },

    agreementIsSigned: (wallet, agreement, signature) => {
      const domain = { chainId: deployment.chainId, resolverContract: deployment.resolver };
      return isSignedBy(rpc, wallet, { domain, agreement, signature });
    },

    lookupReceipt: (txHash) => lookupReceipt(rpc, txHash),

    token: (symbol) => deployment.tokens.find((token) => token.symbol.toUpperCase() === symbol.toUpperCase()),
  };
}
