import type { Connection, Model } from "mongoose";

import {
  collection,
  date,
  flag,
  listOf,
  nullable,
  number,
  objectId,
  oneOf,
  part,
  text,
  withDefault,
} from "../../db/records.ts";
import type { Indexes, RecordOf } from "../../db/records.ts";

/** The outcomes of an attempt. `interrupted`: the worker stopped or died before it had a result. */
export const ATTEMPT_OUTCOMES = [
  "running",
  "acknowledged",
  "refused",
  "unreachable",
  "dropped",
  "interrupted",
] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/**
 * `backup` is the additional dispatch of `escrow.funded`, 30 seconds after the immediate attempt. `redelivery` repeats a
 * dispatch at the agent's request, and `ping` is a trial without an event.
 */
export const DISPATCH_KINDS = ["immediate", "backup", "redelivery", "ping"] as const;
export type DispatchKind = (typeof DISPATCH_KINDS)[number];

export const DISPATCH_STATUSES = ["pending", "acknowledged", "failed", "dropped"] as const;
export type DispatchStatus = (typeof DISPATCH_STATUSES)[number];

/** One HTTP request to the receiver. */
const attemptFields = {
  startedAt: date,
  finishedAt: nullable(date),
  outcome: oneOf(ATTEMPT_OUTCOMES),
  /** HTTP status of the answer; null without one. */
  statusCode: nullable(number),
  /** Why the attempt wasn't acknowledged, for the owner. */
  error: nullable(text),
  /** Milliseconds until the answer's status or the failure; null without a result. */
  latencyMs: nullable(number),
  /** The start of the answer's body, at most 1 KB; null without an answer. */
  answer: nullable(text),
};

/** The dispatch of one event to one address. */
const dispatchFields = {
  /** `dlv_…`, deterministic by event, agent, address and kind, except for a redelivery or a ping. */
  _id: text,
  eventId: text,
  eventType: text,
  /** Null for an event without a transaction. */
  transactionId: nullable(text),
  /** Durable dispatches with the same key reach an address in the order of their events; null if the order doesn't matter. */
  orderKey: nullable(text),
  /** Position of the event in the agent's log. */
  seq: number,
  /** The agent that the dispatch is for. Its secret signs it, and it waits in this agent's lane. */
  agentId: text,
  url: text,
  /** The registration that it is for; null if only a listing or a checkout names the address. */
  webhookId: nullable(text),
  /** Whether it is retried for a day, in order per `orderKey`; otherwise once. */
  durable: withDefault(flag, false),
  /** Whether a listing or a checkout names the address, so that it is sent even without the registration. */
  direct: withDefault(flag, true),
  kind: oneOf(DISPATCH_KINDS),
  /** The dispatch that a redelivery sends again; null for the other kinds. */
  redeliveryOf: nullable(text),
  /** The body, the same in every attempt; null if it is stored only with the event in the agent's log. */
  bodyJson: nullable(text),
  status: oneOf(DISPATCH_STATUSES),
  /**
   * Earliest time of the next attempt. While an attempt runs, it is the end of its lease, so a running attempt isn't
   * due. Null while a backup waits for the immediate attempt, or a durable dispatch for an earlier one (see Chains).
   */
  dueAt: nullable(date),
  attempts: listOf(part(attemptFields)),
  /** The turn that makes the current attempt; null between attempts. */
  holder: nullable(text),
  /** Counts how often others were made to wait for it. The write makes that conflict with its end. */
  waits: withDefault(number, 0),
  createdAt: date,
};

/**
 * The queue of one agent. One worker at a time serves it, in turns. This bounds an agent's share of the work across all
 * processes, and a claim reads only lanes, never their dispatches.
 */
const laneFields = {
  /** Agent id. */
  _id: text,
  /** True if a receiver answered slowly in the last turn. The lane then uses the slots for slow lanes. */
  isSlow: flag,
  /** Concurrent attempts; doubled by each prompt answer. */
  width: number,
  /** When the lane is due for a turn; null if it is empty. During a turn, the end of the turn's lease. */
  nextDueAt: nullable(date),
  /** The turn that serves the lane; null between turns. */
  holder: nullable(text),
  /** When dispatches last arrived during the current turn. */
  arrivedAt: nullable(date),
};

/**
 * Records that dispatches were put into an agent's lane. It is inserted together with them, and lanes are updated later, so
 * transactions that record events never wait for each other.
 */
const arrivalFields = { _id: objectId, agentId: text };

export type Attempt = RecordOf<typeof attemptFields>;
export type DispatchRecord = RecordOf<typeof dispatchFields>;
export type LaneRecord = RecordOf<typeof laneFields>;
export type DispatchModel = Model<DispatchRecord>;

/** The result of an attempt, as its sender reports it. */
export interface AttemptResult extends Pick<Attempt, "statusCode" | "error" | "latencyMs" | "answer"> {
  outcome: Exclude<AttemptOutcome, "running" | "interrupted">;
}

/** The collections of the outbox. */
export interface OutboxModels {
  dispatches: DispatchModel;
  lanes: Model<LaneRecord>;
  arrivals: Model<RecordOf<typeof arrivalFields>>;
}

/** How long the log keeps dispatches, in seconds: seven days. */
const KEPT_SECONDS = 7 * 24 * 3_600;

const isPending = { partialFilterExpression: { status: "pending" } };
const inChain = { partialFilterExpression: { status: "pending", durable: true } };
const DISPATCH_INDEXES: Indexes = [
  // For taking a lane's next dispatch.
  [{ agentId: 1, dueAt: 1 }, isPending],
  // For counting the backlog from index keys alone.
  [{ status: 1, dueAt: 1 }, isPending],
  [{ agentId: 1, createdAt: -1, _id: -1 }],
  [{ agentId: 1, transactionId: 1, createdAt: -1, _id: -1 }],
  [{ agentId: 1, webhookId: 1, createdAt: -1, _id: -1 }],
  [{ agentId: 1, webhookId: 1, status: 1, createdAt: -1, _id: -1 }],
  // For an agent's query of the few failed or dropped dispatches among all.
  [{ agentId: 1, status: 1, createdAt: -1, _id: -1 }],
  // For the first dispatch of a chain, and for scheduled dispatches behind it.
  [{ webhookId: 1, orderKey: 1, seq: 1 }, inChain],
  [{ webhookId: 1, orderKey: 1, dueAt: 1 }, inChain],
  // For the dispatches of an event, and those of one agent among them: thousands may get a topic's message.
  [{ eventId: 1, agentId: 1 }],
  [{ createdAt: 1 }, { expireAfterSeconds: KEPT_SECONDS }],
];

/** The collections of the outbox on a connection. */
export function outboxModels(connection: Connection): OutboxModels {
  return {
    dispatches: collection(connection, "OutboxDispatch", "outbox_dispatches", dispatchFields, DISPATCH_INDEXES),
    lanes: collection(connection, "OutboxLane", "outbox_lanes", laneFields, [[{ isSlow: 1, nextDueAt: 1 }]]),
    arrivals: collection(connection, "OutboxArrival", "outbox_arrivals", arrivalFields),
  };
}

/** The attempts, with running ones marked as interrupted. */
export const INTERRUPTED = {
  $map: {
    input: "$attempts",
    in: {
      $cond: [
        { $eq: ["$$this.outcome", "running"] },
        { $mergeObjects: ["$$this", { outcome: "interrupted", finishedAt: "$$NOW" }] },
        "$$this",
      ],
    },
  },
};
