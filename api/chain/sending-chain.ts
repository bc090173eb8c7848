import { BaseError, decodeErrorResult, HttpRequestError, SocketClosedError, TimeoutError } from "viem";
import type { Abi, Address, Hash, Hex, PublicClient } from "viem";

import { CHAIN_IDS } from "../config/constants.ts";
import type { Network } from "../config/constants.ts";
import { WrongChainError } from "./errors.ts";
import { lookupReceipt } from "./receipt-lookup.ts";
import type { ReceiptLookup } from "./receipt-lookup.ts";
import { createRpc } from "./rpc.ts";

/** Gas fees at the head of the chain, in wei per unit of gas. */
export interface MarketFees {
  baseFee: bigint;
  /** The node's suggested tip. */
  priorityFee: bigint;
}

/** The latest block when a sender looked. `timestamp` in unix seconds. */
export interface SendingHead {
  number: number;
  timestamp: number;
  fees: MarketFees;
}

/** A call as a node simulates it. */
export interface SimulatedCall {
  from: Address;
  to: Address;
  data: Hex;
}

/** Why a call failed: the contract's custom error, or `Unknown` with what the node said. */
export interface Revert {
  name: string;
  args: readonly unknown[];
}

/** A node's answer to a signed transaction. Only the chain shows whether it is mined. */
export type BroadcastAnswer = { kind: "accepted" } | { kind: "refused"; reason: string };

/**
 * One network, as a sender of transactions uses it. Every method throws ChainUnavailableError if the JSON-RPC server
 * is unreachable, or WrongChainError if it serves another chain.
 */
export interface SendingChain {
  head(): Promise<SendingHead>;
  /** Transactions of a wallet in blocks: up to a height, or up to the latest block. The pending ones don't count. */
  transactionCount(wallet: Address, blockNumber?: number): Promise<number>;
  /** In wei. */
  balanceOf(wallet: Address): Promise<bigint>;
  lookupReceipt(txHash: Hash): Promise<ReceiptLookup>;
  /** Runs a call on the state after a block (the latest by default) without sending it; undefined if it succeeds. */
  simulate(call: SimulatedCall, blockNumber?: number): Promise<Revert | undefined>;
  /** The least gas with which the call succeeds at the latest block, or why it doesn't. */
  estimateGas(call: SimulatedCall): Promise<bigint | Revert>;
  /** Sends a signed transaction. Sending it again does no harm. */
  broadcast(raw: Hex): Promise<BroadcastAnswer>;
  /** Runs any other read with the same limits. */
  read<T>(call: (client: PublicClient) => Promise<T>): Promise<T>;
}

/** Settings of a sending chain. */
export interface SendingChainOptions {
  network: Network;
  rpcUrl: string;
  /** The errors that a call may fail with. */
  abi: Abi;
  /** Timeout of one attempt in milliseconds; default 5000. */
  timeoutMs?: number;
  /** Attempts per call, including the first; default 3. */
  attempts?: number;
}

const DEFAULT_TIMEOUT_MS = 5_000;
const DEFAULT_ATTEMPTS = 3;

/** Creates the access of a sender to one network. It holds no key. */
export function createSendingChain(options: SendingChainOptions): SendingChain {
  const { network, rpcUrl, abi, timeoutMs = DEFAULT_TIMEOUT_MS, attempts = DEFAULT_ATTEMPTS } = options;
  const call = createRpc({ network, rpcUrl, timeoutMs, attempts });
  let isRightChain = false;
  const read: SendingChain["read"] = async (work) => {
    if (!isRightChain) {
      const actual = await call((client) => client.getChainId());
      if (actual !== CHAIN_IDS[network]) throw new WrongChainError(network, CHAIN_IDS[network], actual);
      isRightChain = true;
    }
    return call((client) => work(client as PublicClient));
  };
  const at = (blockNumber: number | undefined) =>
    blockNumber === undefined ? {} : { blockNumber: BigInt(blockNumber) };

  return {
    read,

    async head() {
      const [block, priorityFee] = await Promise.all([
        read((client) => client.getBlock({ blockTag: "latest", includeTransactions: false })),
        read((client) => client.estimateMaxPriorityFeePerGas()),
      ]);
      return {
        number: Number(block.number),
        timestamp: Number(block.timestamp),
        fees: { baseFee: block.baseFeePerGas ?? 0n, priorityFee },
      };
    },

    transactionCount: (address, blockNumber) =>
      read((client) => client.getTransactionCount({ address, ...at(blockNumber) })),

    balanceOf: (address) => read((client) => client.getBalance({ address })),

    lookupReceipt: (txHash) => lookupReceipt(read as typeof call, txHash),

    async simulate({ from: account, to, data }, blockNumber) {
      const result = await read((client) =>
        client.call({ account, to, data, ...at(blockNumber) }).then(() => undefined, caught),
      );
      return result === undefined ? undefined : revertOf(result, abi);
    },

    async estimateGas({ from: account, to, data }) {
      const result = await read((client) => client.estimateGas({ account, to, data }).catch(caught));
      return typeof result === "bigint" ? result : revertOf(result, abi);
    },

    broadcast: (raw) =>
      read((client) =>
        client.sendRawTransaction({ serializedTransaction: raw }).then(
          (): BroadcastAnswer => ({ kind: "accepted" }),
          (error: unknown): BroadcastAnswer => ({ kind: "refused", reason: reasonOf(caught(error)) }),
        ),
      ),
  };
}

/** Returns the error of a node that has answered. @throws the error if there was no answer, so that the call is repeated */
function caught(error: unknown): BaseError {
  if (!(error instanceof BaseError)) throw error;
  const isLost = (cause: unknown) =>
    cause instanceof HttpRequestError || cause instanceof TimeoutError || cause instanceof SocketClosedError;
  if (error.walk(isLost) !== null) throw error;
  return error;
}

function revertOf(error: BaseError, abi: Abi): Revert {
  const data = revertDataOf(error);
  if (data !== undefined && data !== "0x") {
    try {
      const { errorName, args = [] } = decodeErrorResult({ abi, data });
      return { name: errorName, args };
    } catch {
      return { name: "Unknown", args: [data] };
    }
  }
  return { name: "Unknown", args: [reasonOf(error)] };
}

/** Some nodes nest the data of a revert once more. */
function revertDataOf(error: BaseError): Hex | undefined {
  const { data } = error.walk() as { data?: unknown };
  const found = typeof data === "object" && data !== null ? (data as { data?: unknown }).data : data;
  return typeof found === "string" && found.startsWith("0x") ? (found as Hex) : undefined;
}

const MAX_REASON_LENGTH = 200;

/** The node's message without the request, which may contain the server's address with a provider's key. */
export function reasonOf(error: BaseError): string {
  const innermost = error.walk();
  const text = innermost instanceof BaseError ? innermost.details || innermost.shortMessage : innermost.message;
  return text.slice(0, MAX_REASON_LENGTH);
}
