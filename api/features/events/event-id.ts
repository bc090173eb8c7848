import type { Network } from "../../config/constants.ts";
import { sha256Hex } from "../../lib/ids.ts";

/** What makes an event of an escrow the one that it is. */
export interface EventIdentity {
  network: Network;
  escrowContract: string;
  escrowId: string;
  type: string;
  /** Rises when an announced event was withdrawn by a reorganisation. */
  incarnation: number;
}

const ID_HEX_LENGTH = 40;

/**
 * The id of an event, the same whoever finds it and however often: block and log positions have no part in it, as they
 * change when a block is mined again (decision 37).
 * @example "evt_3f0c…": 40 hex digits of the SHA-256 of the identity's parts
 */
export function eventId(identity: EventIdentity): string {
  const { network, escrowContract, escrowId, type, incarnation } = identity;
  const parts = [network, escrowContract.toLowerCase(), escrowId.toLowerCase(), type, String(incarnation)];
  return `evt_${sha256Hex(parts.join("|")).slice(0, ID_HEX_LENGTH)}`;
}

/** The id of an event in the log of one agent. */
export function logEntryId(id: string, agentId: string): string {
  return `${id}:${agentId}`;
}
