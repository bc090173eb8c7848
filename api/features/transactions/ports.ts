import type { ClientSession } from "mongoose";

import type { Network } from "../../config/constants.ts";

// What transactions ask other features: narrow, so that they know neither their records nor their rules.

/** Agents by the wallets that they registered with. */
export interface WalletDirectory {
  /** Agent ids by lower-case address, those that are registered, in one query. */
  agentIdsByWallet(wallets: readonly string[], session?: ClientSession): Promise<Map<string, string>>;
}

/** Where sellers want their webhooks. */
export interface EndpointDirectory {
  /** endpointUrl by service id, those that have one, in one query. */
  endpointUrls(serviceIds: readonly string[]): Promise<Map<string, string>>;
}

/** The number of the last block whose events the copies of a network have. */
export type Reached = ReadonlyMap<Network, number>;

/** A delivery on chain that the copies have. */
export interface AppliedDelivery {
  transactionId: string;
  /** Unix seconds of its block. */
  timestamp: number;
  incarnation: number;
}

/** How far the copies of transactions follow the chain. */
export interface ChainProgress {
  reached(): Promise<Reached>;
  /** The delivery of an escrow that has been applied and is on chain; null without one. */
  appliedDelivery(network: Network, escrowId: `0x${string}`, session: ClientSession): Promise<AppliedDelivery | null>;
}
