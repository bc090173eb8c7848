import type { Address, Hash, Hex, TransactionReceipt } from "viem";

import type { SendingHead } from "../sending-chain.ts";
import type { TransactionSigner } from "../signer.ts";
import type { Obstacle } from "./problems.ts";
import type { SendingRecord } from "./record.ts";
import type { Extra } from "./store.ts";

/** Where and by whom a call's purpose was reached. */
export interface Conclusion {
  txHash: Hash;
  blockNumber: number;
  /** Whether it counts as this record's, although another transaction may have carried it. */
  isOurs: boolean;
}

/** The maximum cost of an attempt, at a head's chain time. */
export interface Cost {
  wei: bigint;
  raw: Hex;
  head: SendingHead;
}

/** Limits what the transactions of a feature cost. */
export interface Budget<R extends SendingRecord> {
  /**
   * Reserves what a record's transactions may cost, in place of what was reserved before.
   * @throws BudgetSpentError if the limit doesn't allow it; nothing is stored then
   */
  reserve(record: R, cost: Cost): Promise<Extra>;
  /** Replaces the reservation by what the chain took; undefined if none of the transactions was mined. */
  settle(record: R, receipt: TransactionReceipt | undefined): Extra;
}

/** A budget doesn't allow another transaction now. */
export class BudgetSpentError extends Error {
  override readonly name = "BudgetSpentError";
  readonly problem: string;

  constructor(problem: string, message: string) {
    super(message);
    this.problem = problem;
  }
}

/** A feature's calls, as a sender handles them. */
export interface Work<R extends SendingRecord> {
  /** The record's noun in the log, and the facts that identify it. */
  noun: string;
  factsOf(record: R): Readonly<Record<string, unknown>>;
  /** The wallet that may sign; undefined where this service has no key. */
  signerOf(record: R): TransactionSigner | undefined;
  buildCall(record: R): { to: Address; data: Hex };
  /**
   * The obstacle to the call at the latest block or at another one. `from` is the wallet that would send it;
   * without one only the state of the chain counts.
   */
  obstacle(record: R, at: { from?: Address | undefined; blockNumber?: number }): Promise<Obstacle | undefined>;
  /** The obstacle behind a failed estimate. */
  toObstacle(record: R, revert: { name: string; args: readonly unknown[] }): Obstacle;
  /** The event that ended the work, if it is among the latest blocks. */
  findConclusion(record: R, head: number): Promise<Conclusion | undefined>;
  /** Undefined without a limit. */
  budget?: Budget<R>;
}
