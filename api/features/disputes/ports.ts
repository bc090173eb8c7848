import type { ClientSession } from "mongoose";

import type { Network } from "../../config/constants.ts";
import type { ResolvedBy } from "../../indexer/schemas.ts";
import type { RulingTransactionState } from "./presenter.ts";
import type { Ruling as RulingToSend } from "./sending/model.ts";

export type { Ruling as RulingToSend } from "./sending/model.ts";

/** Queues rulings for the chain (sending/). */
export interface RulingQueue {
  /** Queues a ruling in the transaction that stores it. False if the dispute has one. */
  put(ruling: RulingToSend, session: ClientSession): Promise<boolean>;
  /** Replaces a ruling by the system with an admin's. False unless the first one can never be mined. */
  replace(ruling: RulingToSend & { role: "admin" }, session: ClientSession): Promise<boolean>;
}

/** How far rulings have come on their way to the chain. */
export interface RulingProgress {
  /** Undefined for a ruling that was never queued. */
  of(disputeId: string): Promise<RulingTransactionState | undefined>;
  /** Whether this service has the key of a role. */
  hasKey(network: Network, role: ResolvedBy): boolean;
}
