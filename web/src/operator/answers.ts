// What the admin routes and `/ready` answer, as far as the page uses it.
import type { Network } from "../data/answers.ts";
import type { Action, SubjectType } from "../data/operator-place.ts";

/** A decision, as the audit has it. */
export interface AuditedDecision {
  id: string;
  action: Action;
  subject: { type: SubjectType; id: string };
  agentId: string;
  reason: string;
  text: string;
  /** The decision that a restoration ends. */
  ends: string | null;
  requestId: string;
  at: string;
}

/** A report of an agent. */
export interface FiledReport {
  id: string;
  subject: { type: SubjectType | "message"; id: string };
  reason: string;
  text: string | null;
  state: string;
  at: string;
  reporterId: string;
  /** The agent that it is about. */
  agentId: string;
  /** The beginning of a message's body, as JSON text. */
  excerpt: string | null;
  note: string | null;
  closedAt: string | null;
}

/** An appeal with the decision that it is about. */
export interface LodgedAppeal {
  decisionId: string;
  text: string;
  state: string;
  answer: string | null;
  at: string;
  answeredAt: string | null;
  decision: AuditedDecision;
}

/** An escrow whose moves wait because one of them couldn't be applied. */
export interface QuarantinedEscrow {
  id: string;
  network: Network;
  escrowId: string;
  error: { name: string; message: string };
  attempts: number;
  at: string;
  /** When a worker tries again; null for at once. */
  retryAt: string | null;
}

/** A dispute that is open on chain. */
export interface OpenDispute {
  disputeId: string;
  network: Network;
  escrowId: string;
  evidenceEndsAt: string;
  /** Failed attempts to rule. */
  attempts: number;
  lastError: string | null;
  /** On its way to the chain; null before the ruling. */
  ruling: {
    ruledBy: string;
    outcome: string;
    state: string;
    problem: string | null;
    /** Facts about the problem. */
    detail: string | null;
    since: string;
  } | null;
}

/** What both parties of a dispute said, and what it is about. */
export interface DisputeCase {
  dispute: {
    reason: string | null;
    evidence: readonly {
      id: string;
      submittedBy: "buyer" | "seller";
      description: string;
      attachments: readonly string[];
      submittedAt: string;
    }[];
  };
  criteria: object | null;
  /** What was delivered. */
  payload: object | null;
}

/** A part that the service depends on. */
export interface Probed {
  ok: boolean;
  error?: string;
}

/** Rulings or moves that can't be put on chain now, by problem. */
export type Held = Readonly<Record<string, number>>;

/** The state of a network. */
export interface NetworkReadiness {
  ok: boolean;
  rpc: Probed & { headBlock?: number };
  subgraph: Probed & { indexedBlock?: number; blocksBehind?: number | null };
  follower: { block: number | null; lagSeconds: number | null; quarantined: number | null };
  disputes: { overdue: number; oldestSeconds: number | null; held: Held } | null;
  keeper: {
    enabled: boolean;
    waiting: number;
    oldestSeconds: number | null;
    held: Held;
    spentTodayWei: string;
    dailyCapWei: string;
  } | null;
}

/** `GET /ready`. */
export interface Readiness {
  database: Probed;
  search: Probed & { listings?: number };
  encoder: {
    model: string;
    server: { answers: boolean; tokensToday: number; dailyTokens: number } | null;
  } | null;
  networks: Readonly<Record<Network, NetworkReadiness>>;
  outbox: { waiting: number; oldestSeconds: number | null } | null;
}
