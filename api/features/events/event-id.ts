import type { Network } from "../../config/constants.ts";
import { sha256Hex } from "../../lib/ids.ts";

/** The identity of an event of an escrow. */
export interface EventIdentity {
  network: Network;
  escrowContract: string;
  escrowId: string;
  type: string;
  /** Rises when a reorganisation withdraws an announced event. */
  incarnation: number;
}

const ID_HEX_LENGTH = 40;

const hashed = (parts: readonly string[]): string => `evt_${sha256Hex(parts.join("|")).slice(0, ID_HEX_LENGTH)}`;

/**
 * The id of an event of an escrow. It is the same for every process that finds the event, and every time. Block and log
 * positions aren't part of it, because they change when a block is mined again.
 * @example "evt_3f0c…": 40 hex digits of the SHA-256 of the identity's parts
 */
export function eventId(identity: EventIdentity): string {
  const { network, escrowContract, escrowId, type, incarnation } = identity;
  const parts = [network, escrowContract.toLowerCase(), escrowId.toLowerCase(), type, String(incarnation)];
  return hashed(parts);
}

/** The id of an event about a record other than an escrow, such as a message. */
export function recordEventId(recordId: string, type: string): string {
  return hashed([recordId, type]);
}

/** The id of an event in one agent's log. */
export function logEntryId(id: string, agentId: string): string {
  return `${id}:${agentId}`;
}
