import { Schema } from "mongoose";
import type { Connection, Model, Types } from "mongoose";

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

/** One HTTP request to the receiver. */
export interface Attempt {
  startedAt: Date;
  finishedAt: Date | null;
  outcome: AttemptOutcome;
  /** HTTP status of the answer; null without one. */
  statusCode: number | null;
  /** Why the attempt wasn't acknowledged, for the owner. */
  error: string | null;
  /** Milliseconds until the answer's status or the failure; null without a result. */
  latencyMs: number | null;
  /** The start of the answer's body, at most 1 KB; null without an answer. */
  answer: string | null;
}

/** The result of an attempt, as its sender reports it. */
export interface AttemptResult extends Pick<Attempt, "statusCode" | "error" | "latencyMs" | "answer"> {
  outcome: Exclude<AttemptOutcome, "running" | "interrupted">;
}

/**
 * `backup` is the additional dispatch of `escrow.funded`, 30 seconds after the immediate attempt. `redelivery` repeats a
 * dispatch at the agent's request, and `ping` is a trial without an event.
 */
export const DISPATCH_KINDS = ["immediate", "backup", "redelivery", "ping"] as const;
export type DispatchKind = (typeof DISPATCH_KINDS)[number];

export const DISPATCH_STATUSES = ["pending", "acknowledged", "failed", "dropped"] as const;
export type DispatchStatus = (typeof DISPATCH_STATUSES)[number];

/** The dispatch of one event to one address. */
export interface DispatchRecord {
  /** `dlv_…`, deterministic by event, agent, address and kind, except for a redelivery or a ping. */
  _id: string;
  eventId: string;
  eventType: string;
  /** Null for an event without a transaction. */
  transactionId: string | null;
  /** Durable dispatches with the same key reach an address in the order of their events; null if the order doesn't matter. */
  orderKey: string | null;
  /** Position of the event in the agent's log. */
  seq: number;
  /** The agent that the dispatch is for. Its secret signs it, and it waits in this agent's lane. */
  agentId: string;
  url: string;
  /** The registration that it is for; null if only a listing or a checkout names the address. */
  webhookId: string | null;
  /** Whether it is retried for a day, in order per `orderKey`; otherwise once. */
  durable: boolean;
  /** Whether a listing or a checkout names the address, so that it is sent even without the registration. */
  direct: boolean;
  kind: DispatchKind;
  /** The dispatch that a redelivery sends again; null for the other kinds. */
  redeliveryOf: string | null;
  /** The body, the same in every attempt; null if it is stored only with the event in the agent's log. */
  bodyJson: string | null;
  status: DispatchStatus;
  /**
   * Earliest time of the next attempt. While an attempt runs, it is the end of its lease, so a running attempt isn't
   * due. Null while a backup waits for the immediate attempt, or a durable dispatch for an earlier one (see Chains).
   */
  dueAt: Date | null;
  attempts: Attempt[];
  /** The turn that makes the current attempt; null between attempts. */
  holder: string | null;
  /** Counts how often others were made to wait for it. The write makes that conflict with its end. */
  waits: number;
  createdAt: Date;
}

/**
 * The queue of one agent. One worker at a time serves it, in turns. This bounds an agent's share of the work across all
 * processes, and a claim reads only lanes, never their dispatches.
 */
export interface LaneRecord {
  /** Agent id. */
  _id: string;
  /** True if a receiver answered slowly in the last turn. The lane then uses the slots for slow lanes. */
  isSlow: boolean;
  /** Concurrent attempts; doubled by each prompt answer. */
  width: number;
  /** When the lane is due for a turn; null if it is empty. During a turn, the end of the turn's lease. */
  nextDueAt: Date | null;
  /** The turn that serves the lane; null between turns. */
  holder: string | null;
  /** When dispatches last arrived during the current turn. */
  arrivedAt: Date | null;
}

/**
 * Records that dispatches were put into an agent's lane. It is inserted together with them, and lanes are updated later, so
 * transactions that record events never wait for each other.
 */
export interface ArrivalRecord {
  _id: Types.ObjectId;
  agentId: string;
}

export type DispatchModel = Model<DispatchRecord>;
export type LaneModel = Model<LaneRecord>;
export type ArrivalModel = Model<ArrivalRecord>;

/** The collections of the outbox. */
export interface OutboxModels {
  dispatches: DispatchModel;
  lanes: LaneModel;
  arrivals: ArrivalModel;
}

/** How long the log keeps dispatches, in seconds: seven days. */
const KEPT_SECONDS = 7 * 24 * 3_600;

const text = { type: String, required: true } as const;
const date = { type: Date, required: true } as const;

const attemptSchema = new Schema<Attempt>(
  {
    startedAt: date,
    finishedAt: { type: Date, default: null },
    outcome: { ...text, enum: ATTEMPT_OUTCOMES },
    statusCode: { type: Number, default: null },
    error: { type: String, default: null },
    latencyMs: { type: Number, default: null },
    answer: { type: String, default: null },
  },
  { _id: false },
);

const dispatchSchema = new Schema<DispatchRecord>(
  {
    _id: text,
    eventId: text,
    eventType: text,
    transactionId: { type: String, default: null },
    orderKey: { type: String, default: null },
    seq: { type: Number, required: true },
    agentId: text,
    url: text,
    webhookId: { type: String, default: null },
    durable: { type: Boolean, default: false },
    direct: { type: Boolean, default: true },
    kind: { ...text, enum: DISPATCH_KINDS },
    redeliveryOf: { type: String, default: null },
    bodyJson: { type: String, default: null },
    status: { ...text, enum: DISPATCH_STATUSES },
    dueAt: { type: Date, default: null },
    attempts: [attemptSchema],
    holder: { type: String, default: null },
    waits: { type: Number, default: 0 },
    createdAt: date,
  },
  { collection: "outbox_dispatches", versionKey: false, strict: "throw" },
);
const isPending = { partialFilterExpression: { status: "pending" } };
// For taking a lane's next dispatch.
dispatchSchema.index({ agentId: 1, dueAt: 1 }, isPending);
// For counting the backlog from index keys alone.
dispatchSchema.index({ status: 1, dueAt: 1 }, isPending);
dispatchSchema.index({ agentId: 1, createdAt: -1, _id: -1 });
dispatchSchema.index({ agentId: 1, transactionId: 1, createdAt: -1, _id: -1 });
dispatchSchema.index({ agentId: 1, webhookId: 1, createdAt: -1, _id: -1 });
dispatchSchema.index({ agentId: 1, webhookId: 1, status: 1, createdAt: -1, _id: -1 });
// For an agent's query of the few failed or dropped dispatches among all.
dispatchSchema.index({ agentId: 1, status: 1, createdAt: -1, _id: -1 });
// For the first dispatch of a chain, and for scheduled dispatches behind it.
const inChain = { partialFilterExpression: { status: "pending", durable: true } };
dispatchSchema.index({ webhookId: 1, orderKey: 1, seq: 1 }, inChain);
dispatchSchema.index({ webhookId: 1, orderKey: 1, dueAt: 1 }, inChain);
// For the dispatches of an event, and those of one agent among them: thousands may get a topic's message.
dispatchSchema.index({ eventId: 1, agentId: 1 });
dispatchSchema.index({ createdAt: 1 }, { expireAfterSeconds: KEPT_SECONDS });

const laneSchema = new Schema<LaneRecord>(
  {
    _id: text,
    isSlow: { type: Boolean, required: true },
    width: { type: Number, required: true },
    nextDueAt: { type: Date, default: null },
    holder: { type: String, default: null },
    arrivedAt: { type: Date, default: null },
  },
  { collection: "outbox_lanes", versionKey: false, strict: "throw" },
);
laneSchema.index({ isSlow: 1, nextDueAt: 1 });

const arrivalSchema = new Schema<ArrivalRecord>(
  { agentId: text },
  { collection: "outbox_arrivals", versionKey: false, strict: "throw" },
);

/** The collections of the outbox on a connection. */
export function outboxModels(connection: Connection): OutboxModels {
  return {
    dispatches: connection.model<DispatchRecord>("OutboxDispatch", dispatchSchema),
    lanes: connection.model<LaneRecord>("OutboxLane", laneSchema),
    arrivals: connection.model<ArrivalRecord>("OutboxArrival", arrivalSchema),
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
