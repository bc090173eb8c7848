import type { ClientSession } from "mongoose";

/** An event of an escrow for the audit trails of its parties. */
export interface AuditedEvent {
  eventId: string;
  type: string;
  transactionId: string;
  /** The agents whose trails get it. */
  agentIds: readonly string[];
  body: Readonly<Record<string, unknown>>;
  occurredAt: Date;
}

/** Keeps an audit trail of escrows for each party. */
export interface AuditTrail {
  /** Adds the missing events to the trails, in the given order and in the caller's transaction. */
  write(events: readonly AuditedEvent[], session: ClientSession): Promise<void>;
  /** Ids of those events that are already in at least one trail. */
  recorded(eventIds: readonly string[], session: ClientSession): Promise<Set<string>>;
}
