import { TransactionNotFoundError, TransactionReceiptNotFoundError } from "viem";
import type { Hash, TransactionReceipt } from "viem";

import type { RpcCall } from "./rpc.ts";

/** The JSON-RPC server's answer for a transaction hash. */
export type ReceiptLookup =
  { status: "unknown" } | { status: "pending" } | { status: "mined"; receipt: TransactionReceipt };

/** Looks a transaction up. @throws ChainUnavailableError */
export function lookupReceipt(rpc: RpcCall, txHash: Hash): Promise<ReceiptLookup> {
  return rpc(async (client): Promise<ReceiptLookup> => {
    try {
      return { status: "mined", receipt: await client.getTransactionReceipt({ hash: txHash }) };
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
    }
    try {
      await client.getTransaction({ hash: txHash });
      return { status: "pending" };
    } catch (error) {
      if (error instanceof TransactionNotFoundError) return { status: "unknown" };
      throw error;
    }
  });
}
