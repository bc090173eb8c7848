import type { Hash } from "viem";

import type { ChainClient } from "../../chain/chain-client.ts";
import { ChainUnavailableError } from "../../chain/errors.ts";
import { checkFunding } from "../../chain/receipts.ts";
import type { FundingCheck } from "../../chain/receipts.ts";
import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import { IndexerBehindError } from "../../indexer/errors.ts";
import type { TransactionModel, TransactionRecord } from "./model.ts";
import type { Reading, TransactionReader } from "./reader.ts";
import { escrowTerms } from "./snapshot.ts";

/** The result of fund: verified, or verified on chain but not in the subgraph yet. */
export type FundingAnswer =
  { kind: "verified"; reading: Reading } | { kind: "pending"; record: TransactionRecord; retryAfterSeconds: number };

/** Dependencies of fund. */
export interface FundingOptions {
  transactions: TransactionModel;
  reader: TransactionReader;
  chains: Readonly<Record<Network, ChainClient>>;
  /** How long fund waits for the subgraph to pass the receipt's block, in milliseconds. */
  waitMs: number;
}

const PENDING_RETRY_SECONDS = 2;
const TRANSFER_IS_LOST =
  "The escrow contract takes a deposit only itself, when createEscrow or createEscrowWithAuthorization calls it. It counts " +
  "no other tokens for anybody and has no function that sends them back. To fund this checkout, send its createEscrow; it " +
  "takes the deposit again.";

/** Verifies the funding of a checkout by its transaction hash. */
export function createFunding(options: FundingOptions) {
  const { transactions, reader, chains } = options;

  /** Another settlement chain that knows the hash; undefined if none of the reachable ones does. */
  async function foundElsewhere(network: Network, txHash: Hash): Promise<Network | undefined> {
    for (const other of NETWORKS.filter((candidate) => candidate !== network)) {
      try {
        if ((await chains[other].lookupReceipt(txHash)).status !== "unknown") return other;
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
      }
    }
    return undefined;
  }

  /** Throws `insufficient_token_balance` if a createEscrow failed and the wallet's balance is too low for another try. */
  async function requireBalance(record: TransactionRecord): Promise<void> {
    const chain = chains[record.network];
    if ((await chain.escrowState(record.escrowId)) !== 0) return;
    const balance = await chain.tokenBalance(record.token.address, record.buyerAddress);
    if (balance >= BigInt(record.amount)) return;
    throw new ApiError("insufficient_token_balance", {
      details: { token: record.token.address, required: record.amount, balance: balance.toString() },
    });
  }

  async function refuse(record: TransactionRecord, txHash: Hash, check: FundingCheck): Promise<never> {
    const facts = { txHash, network: record.network, escrowId: record.escrowId };
    switch (check.kind) {
      case "unknown": {
        const foundOn = await foundElsewhere(record.network, txHash);
        if (foundOn !== undefined) throw new ApiError("funding_other_network", { details: { ...facts, foundOn } });
        throw new ApiError("funding_not_found", { details: facts });
      }
      case "pending":
        throw new ApiError("funding_pending", { details: facts, retryAfterSeconds: PENDING_RETRY_SECONDS });
      case "failed":
        await requireBalance(record);
        throw new ApiError("funding_failed", { details: { ...facts, blockNumber: check.blockNumber } });
      case "noEscrow":
        throw new ApiError("funding_other_escrow", { details: { ...facts, createdEscrowIds: [] } });
      case "transfer": {
        const transfers = check.transfers.map((one) => ({ ...one, amount: one.amount.toString() }));
        throw new ApiError("funding_was_a_transfer", {
          details: { ...facts, escrowContract: record.escrowContract, transfers, why: TRANSFER_IS_LOST },
        });
      }
      case "otherEscrow":
        throw new ApiError("funding_other_escrow", { details: { ...facts, createdEscrowIds: check.escrowIds } });
      case "otherTerms":
        throw new ApiError("funding_other_terms", { details: { ...facts, differences: check.differences } });
      case "funded":
        throw new RangeError("unreachable: a verified funding isn't refused");
    }
  }

  return {
    /**
     * Verifies a funding. Changes only the block that later reads must include, so repeats are harmless. `signal` ends the
     * wait for the subgraph early.
     */
    async fund(agentId: string, transactionId: string, txHash: Hash, signal?: AbortSignal): Promise<FundingAnswer> {
      const found = await reader.find(transactionId, agentId);
      if (found.role === "seller") {
        await reader.read(transactionId, agentId, { signal });
        throw new ApiError("wrong_role", { details: { role: "seller", required: "buyer" } });
      }
      const { record } = found;
      const check = await checkFunding(chains[record.network], txHash, escrowTerms(record));
      if (check.kind !== "funded") return refuse(record, txHash, check);
      const asFound = { _id: transactionId, network: record.network, escrowId: record.escrowId };
      await transactions.updateOne(asFound, { $max: { minBlock: check.blockNumber } });
      try {
        const reading = await reader.current(found, {
          minBlock: check.blockNumber,
          moveWaitMs: options.waitMs,
          signal,
        });
        if (reading.record.escrow !== null) {
          await reader.remember(reading);
          return { kind: "verified", reading };
        }
        // A reorganisation replaced the receipt's block between the two reads.
      } catch (error) {
        if (!(error instanceof IndexerBehindError)) throw error;
      }
      // An expired checkout that is funded late is open again, because the deposit is on chain.
      const status = record.status === "expired" ? "pending_funding" : record.status;
      return {
        kind: "pending",
        record: { ...record, status, expiredBy: null },
        retryAfterSeconds: PENDING_RETRY_SECONDS,
      };
    },
  };
}
