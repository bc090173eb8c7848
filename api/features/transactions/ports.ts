import type { ClientSession } from "mongoose";

import type { Network } from "../../config/constants.ts";
import type { TransactionRecord } from "./model.ts";

// Interfaces that transactions need from other features. They are narrow: they expose neither records nor rules.

/** Finds agents by their registered wallets. */
export interface WalletDirectory {
  /** Agent ids of the registered wallets by lower-case address, in one query. */
  agentIdsByWallet(wallets: readonly string[], session?: ClientSession): Promise<Map<string, string>>;
}

/** The sellers' webhook addresses. */
export interface EndpointDirectory {
  /** endpointUrl by service id for the services that have one, in one query. */
  endpointUrls(serviceIds: readonly string[]): Promise<Map<string, string>>;
}

/** The last block of each network whose events have been applied to the copies. */
export type Reached = ReadonlyMap<Network, number>;

/** A delivery on chain that has been applied to the copies. */
export interface AppliedDelivery {
  transactionId: string;
  /** Unix seconds of its block. */
  timestamp: number;
  incarnation: number;
}

/** The progress of the transactions' copies along the chain. */
export interface ChainProgress {
  reached(): Promise<Reached>;
  /** The delivery of an escrow that has been applied and is on chain; null without one. */
  appliedDelivery(network: Network, escrowId: `0x${string}`, session: ClientSession): Promise<AppliedDelivery | null>;
}

/** Updates the records of disputes to the chain's state. */
export interface DisputeFollower {
  /**
   * @param records transactions whose state has changed
   * @param withdrawn ids of transactions whose dispute a reorganisation has removed
   */
  follow(records: readonly TransactionRecord[], withdrawn: readonly string[], session: ClientSession): Promise<void>;
}
