import { isAddressEqual, parseAbi, parseEventLogs } from "viem";
import type { Address, Hash, Hex, TransactionReceipt } from "viem";

import type { Network } from "../config/constants.ts";
import { escrowAbi } from "./abis.ts";
import type { Deployment } from "./deployment.ts";
import { lookupReceipt } from "./receipt-lookup.ts";
import type { ReceiptLookup } from "./receipt-lookup.ts";
import { createRpc, endingWith } from "./rpc.ts";
import type { RpcCall } from "./rpc.ts";
import { signsForTokens } from "./wallet-code.ts";

const usdcAbi = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 value)",
  "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)",
  "event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)",
  "function authorizationState(address authorizer, bytes32 nonce) view returns (bool)",
  "function balanceOf(address account) view returns (uint256)",
]);

/** A transfer in a receipt. `value` in token units. */
export interface TokenTransfer {
  token: Address;
  from: Address;
  to: Address;
  value: bigint;
  /** Position of its log among the receipt's logs, from 0. Unlike the log's index in the block, a reorganisation can't change it. */
  position: number;
  /** Nonce of the EIP-3009 authorisation that moved the tokens; undefined for a plain transfer. */
  nonce: Hex | undefined;
}

/** The state of an EIP-3009 authorisation on chain. */
export type AuthorizationUse =
  /** It hasn't been used by the latest block. */
  | { status: "unused"; blockTimestamp: number }
  /** A transaction used it for a transfer. */
  | { status: "used"; txHash: Hash; receipt: TransactionReceipt }
  /** It was used or cancelled, and the server doesn't show yet by which transaction: its logs may lag behind its state. */
  | { status: "unseen" }
  /** It was cancelled, or used before the block that was given. */
  | { status: "void" };

/** An authorisation: who signed it, and its nonce. */
export interface AuthorizationId {
  token: Address;
  from: Address;
  nonce: Hex;
}

/** A wallet's token balance in one block. */
export interface Holding {
  /** Token units. */
  units: bigint;
  blockNumber: number;
  /** Unix seconds. */
  blockTimestamp: number;
}

/** Reads payments on one network. Every method throws ChainUnavailableError if its server is unreachable. */
export interface PaymentReads {
  /** The latest block's number and time in unix seconds. */
  head(): Promise<{ number: number; timestamp: number }>;
  /** Recipient of the platform's fees. */
  treasury(): Promise<Address>;
  lookupReceipt(txHash: Hash): Promise<ReceiptLookup>;
  /** Whether and where an authorisation was used since a block. */
  authorizationUse(authorization: AuthorizationId, fromBlock: number): Promise<AuthorizationUse>;
  /** A wallet's token balance in the latest block. */
  holding(token: Address, owner: Address): Promise<Holding>;
  /** Whether each of some authorisations was used or cancelled by a block. One call for all of them. */
  areAuthorizationsUsed(authorizations: readonly AuthorizationId[], blockNumber: number): Promise<boolean[]>;
  /** Whether tokens accept what a wallet signs. */
  signsForTokens(wallet: Address): Promise<boolean>;
}

/** The reads of payments, with and without an end. */
export interface PaymentChain extends PaymentReads {
  /** The same reads until a signal aborts; each throws ChainUnavailableError then. */
  until(signal: AbortSignal): PaymentReads;
}

/** Settings of a payment chain. */
export interface PaymentChainOptions {
  network: Network;
  rpcUrl: string;
  deployment: Deployment;
}

/** The same on every network. The official x402 packages need it, too. */
const MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11";
const TIMEOUT_MS = 5_000;
const ATTEMPTS = 3;
/** Blocks searched for the use of an authorisation. Public servers refuse longer ranges. */
const SEARCHED_BLOCKS = 9_000;

/** Creates a reader of payments. It holds no key and sends nothing. */
export function createPaymentChain({ network, rpcUrl, deployment }: PaymentChainOptions): PaymentChain {
  const rpc = createRpc({ network, rpcUrl, timeoutMs: TIMEOUT_MS, attempts: ATTEMPTS });
  return {
    ...readsOf(rpc, deployment),
    until: (signal) => readsOf(endingWith(rpc, network, signal), deployment),
  };
}

function readsOf(rpc: RpcCall, deployment: Deployment): PaymentReads {
  const head = async (): Promise<{ number: number; timestamp: number }> => {
    const block = await rpc((client) => client.getBlock({ blockTag: "latest", includeTransactions: false }));
    return { number: Number(block.number), timestamp: Number(block.timestamp) };
  };

  const isAuthorizationUsed = ({ token, from, nonce }: AuthorizationId, blockNumber: number): Promise<boolean> =>
    rpc((client) =>
      client.readContract({
        address: token,
        abi: usdcAbi,
        functionName: "authorizationState",
        args: [from, nonce],
        blockNumber: BigInt(blockNumber),
      }),
    );

  return {
    head,
    signsForTokens: (wallet) => signsForTokens(rpc, wallet),
    lookupReceipt: (txHash) => lookupReceipt(rpc, txHash),

    treasury: () =>
      rpc((client) => client.readContract({ address: deployment.escrow, abi: escrowAbi, functionName: "treasury" })),

    async authorizationUse({ token, from, nonce }, fromBlock) {
      // The head first: a use after it is found by the next call.
      const { number, timestamp } = await head();
      if (!(await isAuthorizationUsed({ token, from, nonce }, number)))
        return { status: "unused", blockTimestamp: timestamp };
      const lastBlock = fromBlock + SEARCHED_BLOCKS;
      const logOf = async (eventName: "AuthorizationUsed" | "AuthorizationCanceled") => {
        const [log] = await rpc((client) =>
          client.getContractEvents({
            address: token,
            abi: usdcAbi,
            eventName,
            args: { authorizer: from, nonce },
            fromBlock: BigInt(fromBlock),
            toBlock: BigInt(Math.min(number, lastBlock)),
          }),
        );
        return log;
      };
      const log = await logOf("AuthorizationUsed");
      if (log === undefined) {
        // Missing logs alone prove nothing: a server may answer with the state of a block before it has the block's logs.
        const isOver = number > lastBlock || (await logOf("AuthorizationCanceled")) !== undefined;
        return { status: isOver ? "void" : "unseen" };
      }
      const lookup = await lookupReceipt(rpc, log.transactionHash);
      if (lookup.status !== "mined") return { status: "unseen" };
      return { status: "used", txHash: log.transactionHash, receipt: lookup.receipt };
    },

    async areAuthorizationsUsed(authorizations, blockNumber) {
      if (authorizations.length === 0) return [];
      const contracts = authorizations.map(({ token, from, nonce }) => ({
        address: token,
        abi: usdcAbi,
        functionName: "authorizationState" as const,
        args: [from, nonce] as const,
      }));
      return rpc((client) =>
        client.multicall({
          contracts,
          multicallAddress: MULTICALL3,
          allowFailure: false,
          // Otherwise viem makes a call for every few authorisations.
          batchSize: 0,
          blockNumber: BigInt(blockNumber),
        }),
      );
    },

    async holding(token, owner) {
      const { number, timestamp } = await head();
      const units = await rpc((client) =>
        client.readContract({
          address: token,
          abi: usdcAbi,
          functionName: "balanceOf",
          args: [owner],
          blockNumber: BigInt(number),
        }),
      );
      return { units, blockNumber: number, blockTimestamp: timestamp };
    },
  };
}

/** Every transfer in a receipt, of every token. */
export function transfersOf(receipt: TransactionReceipt): TokenTransfer[] {
  const logs = receipt.logs.map((log, position) => ({ ...log, position }));
  const uses = parseEventLogs({ abi: usdcAbi, eventName: "AuthorizationUsed", logs });
  return parseEventLogs({ abi: usdcAbi, eventName: "Transfer", logs }).map((log) => {
    const { position } = log as unknown as { position: number };
    const { from, to, value } = log.args;
    // A token with EIP-3009 logs the use of the authorisation directly before the transfer.
    const use = uses.find(
      (candidate) =>
        (candidate as unknown as { position: number }).position === position - 1 &&
        isAddressEqual(candidate.address, log.address) &&
        isAddressEqual(candidate.args.authorizer, from),
    );
    return { token: log.address, from, to, value, position, nonce: use?.args.nonce };
  });
}
