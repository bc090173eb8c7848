import type { Connection } from "mongoose";
import type { Hash } from "viem";

import { byChainClock } from "../../chain/chain-time.ts";
import type { ChainClient } from "../../chain/chain-client.ts";
import { checkDelivery } from "../../chain/receipts.ts";
import type { Network } from "../../config/constants.ts";
import { withTransaction } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import { IndexerBehindError } from "../../indexer/errors.ts";
import { canonicalJson } from "../../lib/canonical-json.ts";
import type { Clock } from "../../lib/clock.ts";
import { sha256Hex } from "../../lib/ids.ts";
import { announceDelivered, toTargets } from "./announce.ts";
import type { EventRecorder } from "../events/recorder.ts";
import type { TransactionModel, TransactionRecord, TransactionStatus } from "./model.ts";
import type { ChainProgress } from "./ports.ts";
import type { Reading, TransactionReader } from "./reader.ts";

/** Dependencies of deliver. */
export interface DeliveryOptions {
  connection: Connection;
  transactions: TransactionModel;
  progress: Pick<ChainProgress, "appliedDelivery">;
  recorder: EventRecorder;
  reader: TransactionReader;
  chains: Readonly<Record<Network, ChainClient>>;
  clock: Clock;
  /** How long deliver waits for the subgraph to pass the receipt's block, in milliseconds. */
  waitMs: number;
}

/** The seller's request. */
export interface DeliveryInput {
  responsePayload: Record<string, unknown>;
  /** Transaction that submitted the delivery on chain. If given, the answer waits for it. */
  txHash?: Hash | undefined;
}

/** States in which a payload may still be submitted: the escrow exists and wasn't refunded. */
const OPEN_TO_PAYLOAD: readonly TransactionStatus[] = ["funded", "delivered", "disputed", "released", "resolved"];

/** Code of the state Funded on chain. */
const FUNDED = 1;

/** SHA-256 of the canonical JSON of a response payload, 0x hex. */
export function hashPayload(responsePayload: Record<string, unknown>): `0x${string}` {
  return `0x${sha256Hex(canonicalJson(responsePayload))}`;
}

/** Stores the seller's payload, once. */
export function createDelivery(options: DeliveryOptions) {
  const { transactions, reader, clock } = options;

  async function requireOpen({ record, indexedBlock, chainNow }: Reading): Promise<void> {
    const seen = { status: record.status, indexedBlock };
    if (!OPEN_TO_PAYLOAD.includes(record.status)) throw new ApiError("escrow_state_conflict", { details: seen });
    if (record.status !== "funded" || chainNow <= record.deadline) return;
    // A last-second delivery may be on chain but not in the subgraph yet.
    if ((await options.chains[record.network].escrowState(record.escrowId)) !== FUNDED) return;
    throw new ApiError("escrow_state_conflict", {
      details: { ...seen, reason: "deadline_passed", deadline: record.deadline, now: chainNow },
    });
  }

  /** Block of the transaction that submitted the delivery. @throws ApiError `delivery_transaction_mismatch` */
  async function submittedIn(record: TransactionRecord, txHash: Hash): Promise<number> {
    const check = await checkDelivery(options.chains[record.network], txHash, record.escrowId);
    if (check.kind === "delivered") return check.blockNumber;
    const details = { reason: check.kind, txHash, network: record.network, escrowId: record.escrowId };
    throw new ApiError("delivery_transaction_mismatch", {
      details,
      ...(check.kind === "pending" ? { retryAfterSeconds: 2 } : {}),
    });
  }

  /**
   * Writes the payload once. If the delivery on chain has already been applied, it also records the event. A follower that
   * applies the delivery at the same time writes the same document, so one of the two retries and sees the other's write.
   * The payload's time is the chain's, because it is compared with the times of the delivery and the dispute.
   */
  async function store(record: TransactionRecord, payload: Record<string, unknown>, proof: Hash): Promise<void> {
    const chainNow = await reader.chainNow(record.network);
    await withTransaction(options.connection, async (session) => {
      const updatedAt = clock.now();
      const receivedAt = byChainClock(updatedAt, chainNow);
      const stored = await transactions
        .findOneAndUpdate(
          { _id: record._id, network: record.network, escrowId: record.escrowId, responsePayloadJson: null },
          {
            $set: {
              responsePayloadJson: JSON.stringify(payload),
              deliveryProof: proof,
              payloadReceivedAt: receivedAt,
              updatedAt,
            },
          },
          { session, returnDocument: "after" },
        )
        .lean();
      if (stored === null) {
        const earlier = await transactions.findById(record._id, null, { session }).lean();
        if (earlier?.deliveryProof === proof) return;
        throw new ApiError("delivery_already_submitted", {
          details: { deliveryProof: earlier?.deliveryProof ?? null, given: proof },
        });
      }
      const delivered = await options.progress.appliedDelivery(record.network, record.escrowId, session);
      if (delivered?.transactionId !== record._id) return;
      await options.recorder.record(
        [announceDelivered(stored, delivered, toTargets(stored, null), receivedAt)],
        session,
      );
    });
  }

  return {
    /** Stores the payload. `onChain` is false until the subgraph has the delivery. */
    async deliver(
      agentId: string,
      transactionId: string,
      input: DeliveryInput,
      signal?: AbortSignal,
    ): Promise<{ reading: Reading; onChain: boolean }> {
      const reading = await reader.read(transactionId, agentId, { signal });
      if (reading.role !== "seller") {
        throw new ApiError("wrong_role", { details: { role: reading.role, required: "seller" } });
      }
      const proof = hashPayload(input.responsePayload);
      const { record } = reading;
      await requireOpen(reading);
      const minBlock = input.txHash === undefined ? 0 : await submittedIn(record, input.txHash);
      await store(record, input.responsePayload, proof);
      if (minBlock > 0) {
        const { network, escrowId } = record;
        await transactions.updateOne({ _id: transactionId, network, escrowId }, { $max: { minBlock } });
      }

      const found = await reader.find(transactionId, agentId);
      try {
        const after = await reader.current(found, { minBlock, moveWaitMs: options.waitMs, signal });
        await reader.remember(after);
        return { reading: after, onChain: after.record.escrow?.deliveredAt != null };
      } catch (error) {
        if (!(error instanceof IndexerBehindError)) throw error;
        return { reading: { ...reading, record: { ...found.record, status: record.status } }, onChain: false };
      }
    },
  };
}
