import type { ClientSession } from "mongoose";

/** An address that an agent has registered for some of its events. */
export interface Subscription {
  webhookId: string;
  agentId: string;
  url: string;
  /** Names of the events that it gets. */
  events: readonly string[];
  /** Whether its dispatches are retried for a day, in order per record. */
  durable: boolean;
}

/** The registered addresses of agents, as the recorder of events needs them. */
export interface Subscriptions {
  /** The active registrations of these agents for any of the event types, in one query. */
  of(
    agentIds: readonly string[],
    eventTypes: readonly string[],
    session: ClientSession,
  ): Promise<readonly Subscription[]>;
}
