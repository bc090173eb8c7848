import type { Hash } from "viem";

import type { ChainClient } from "../../chain/chain-client.ts";
import { moveCall } from "../../chain/calldata.ts";
import type { ContractCall } from "../../chain/calldata.ts";
import type { Network } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import { callTarget, nextActions } from "./actions.ts";
import type { Action } from "./actions.ts";
import { abandonmentOpening, finalizationOpening } from "./deadlines.ts";
import type { Opening } from "./deadlines.ts";
import type { createDelivery, DeliveryInput } from "./delivery.ts";
import type { createFunding } from "./funding.ts";
import type { createJobAccess, JobAccess } from "./job-access.ts";
import type { ListReader } from "./list-reader.ts";
import { presentAction } from "./presenter.ts";
import type { Reading, ReadingAt, TransactionReader } from "./reader.ts";

/** A call and the time from which the chain accepts it. */
export interface TimedCall extends Opening {
  call: ContractCall;
  indexedBlock: number;
}

/** A read with the caller's possible next steps. */
export interface DetailedReading extends Reading {
  actions: Action[];
  /** Access to the seller, for the buyer of a funded `api_response` job. */
  jobAccess: JobAccess | undefined;
}

/** Dependencies of the transaction operations. */
export interface TransactionServiceOptions {
  reader: TransactionReader;
  list: ListReader;
  funding: ReturnType<typeof createFunding>;
  delivery: ReturnType<typeof createDelivery>;
  chains: Readonly<Record<Network, ChainClient>>;
  jobAccess: ReturnType<typeof createJobAccess>;
  /** How long confirm waits for the subgraph to catch up with the chain, in milliseconds. */
  waitMs: number;
}

/** Code of the state Released on chain. */
const RELEASED = 3;

/** Creates the operations on transactions. */
export function createTransactionService(options: TransactionServiceOptions) {
  const { reader } = options;

  /** The read for confirm's answer. If the chain already shows Released, waits for the subgraph to catch up. */
  async function settledReading(agentId: string, transactionId: string, signal?: AbortSignal): Promise<Reading> {
    const reading = await reader.read(transactionId, agentId, { signal });
    const { record } = reading;
    if (reading.role !== "buyer") throw new ApiError("wrong_role", { details: { role: "seller", required: "buyer" } });
    if (record.status === "released") return reading;
    const chain = options.chains[record.network];
    if ((await chain.escrowState(record.escrowId)) !== RELEASED) return reading;
    const { number } = await chain.head();
    const at = { minBlock: number, moveWaitMs: options.waitMs, signal };
    return reader.current({ record, role: reading.role }, at);
  }

  return {
    list: options.list,

    fund: (agentId: string, transactionId: string, txHash: Hash, signal?: AbortSignal) =>
      options.funding.fund(agentId, transactionId, txHash, signal),

    deliver: (agentId: string, transactionId: string, input: DeliveryInput, signal?: AbortSignal) =>
      options.delivery.deliver(agentId, transactionId, input, signal),

    /** A transaction and the caller's possible next steps. */
    async get(agentId: string, transactionId: string, at: ReadingAt = {}): Promise<DetailedReading> {
      const reading = await reader.read(transactionId, agentId, at);
      if (at.minBlock !== undefined) await reader.remember(reading);
      const actions = nextActions(reading.record, reading.role, reading.chainNow);
      return { ...reading, actions, jobAccess: await options.jobAccess(reading) };
    },

    /** The criteria document that the escrow's hash commits to. @throws ApiError `criteria_not_available` */
    async criteria(agentId: string, transactionId: string, signal?: AbortSignal) {
      const { record } = await reader.read(transactionId, agentId, { signal });
      if (record.criteriaJson === null) throw new ApiError("criteria_not_available");
      const criteria = JSON.parse(record.criteriaJson) as Record<string, unknown>;
      return { transactionId, criteriaHash: record.criteriaHash, criteria };
    },

    /** Confirms that the escrow is released. Only reads state. @throws ApiError `not_accepted_on_chain` before the release */
    async confirm(agentId: string, transactionId: string, signal?: AbortSignal): Promise<Reading> {
      const reading = await settledReading(agentId, transactionId, signal);
      const { record, indexedBlock } = reading;
      if (record.status === "released") {
        await reader.remember(reading);
        return reading;
      }
      const actions = nextActions(record, reading.role, reading.chainNow);
      // Outside the dispute window of a delivery the chain refuses the call.
      const isOpen = actions.some(({ action }) => action === "accept");
      const accept = isOpen ? moveCall(callTarget(record), "accept", record.escrowId) : null;
      const details = { status: record.status, accept, actions: actions.map(presentAction), indexedBlock };
      throw new ApiError("not_accepted_on_chain", { details });
    },

    /** Calldata for the buyer to reclaim the deposit of an undelivered job. */
    async claimAbandoned(agentId: string, transactionId: string, signal?: AbortSignal): Promise<TimedCall> {
      const { record, role, indexedBlock, chainNow } = await reader.read(transactionId, agentId, { signal });
      if (role !== "buyer") throw new ApiError("wrong_role", { details: { role, required: "buyer" } });
      const call = moveCall(callTarget(record), "claimAbandoned", record.escrowId);
      return { call, indexedBlock, ...abandonmentOpening(record, chainNow) };
    },

    /** Calldata for anyone to release the funds after the dispute window. */
    async finalize(agentId: string, transactionId: string, signal?: AbortSignal): Promise<TimedCall> {
      const { record, indexedBlock, chainNow } = await reader.read(transactionId, agentId, { signal });
      const call = moveCall(callTarget(record), "finalize", record.escrowId);
      return { call, indexedBlock, ...finalizationOpening(record, chainNow) };
    },
  };
}

/** The operations on transactions. */
export type TransactionService = ReturnType<typeof createTransactionService>;
