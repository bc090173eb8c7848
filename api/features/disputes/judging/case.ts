import type { DisputeOutcome } from "../../../indexer/schemas.ts";
import type { CriteriaDocument } from "../../criteria/document.ts";
import type { CheckVerdict } from "../../criteria/evaluator.ts";
import type { Fact } from "../../criteria/facts.ts";

/** A side of a dispute. */
export type Side = "buyer" | "seller";

/** Kinds of evidence. */
export const EVIDENCE_TYPES = ["delivery_proof", "specification", "communication", "screenshot", "other"] as const;
export type EvidenceType = (typeof EVIDENCE_TYPES)[number];

/** One item of evidence. A party wrote every text in it. */
export interface SubmittedEvidence {
  by: Side;
  type: EvidenceType;
  description: string;
  /** https addresses. */
  attachments: readonly string[];
}

/**
 * When the payload reached this service: by the payload's deadline and before the dispute (`in_time`), by one of
 * the two (`late`), after both (`after_dispute`), or never (`none`).
 */
export type Handover = "in_time" | "late" | "after_dispute" | "none";

/** The case that a judge decides. A party wrote every text in it except facts and verdicts. */
export interface DisputeCase {
  /** Null for an escrow without a checkout whose criteria document nobody has supplied. */
  criteria: CriteriaDocument | null;
  /** Null if none was handed over. */
  payload: Record<string, unknown> | null;
  handover: Handover;
  /** The facts that code has established. */
  facts: readonly Fact[];
  /** Code's verdict on each check of the criteria, in their order. */
  checks: readonly CheckVerdict[];
  /** The buyer's complaint; null if it has made none. */
  reason: string | null;
  evidence: readonly SubmittedEvidence[];
}

/** How one vote answers one question that the facts leave open. */
export interface VotedAnswer {
  /** The check, or the question whether the result is what title, description and request ask for. */
  question: string;
  answer: "met" | "not_met" | "unclear";
  /** 0 to 1. */
  confidence: number;
  reason: string;
}

/** One request in which a model answered questions about the case. */
export interface Vote {
  /** Where the result stood in the request. */
  order: "result_first" | "result_last";
  /** The answers whose control questions were answered rightly. */
  answers: VotedAnswer[];
  /** The questions whose control questions were answered wrongly, so that the answer doesn't count. */
  broken: string[];
}

/** A part of a text that wasn't shown to the model, because the model answered wrongly with it in view. */
export interface LeftOut {
  by: Side;
  /** Where it is: `result`, `request`. */
  field: string;
  text: string;
}

/** The weight of a party's text that no deciding request shows. */
export interface WeighedText {
  by: Side;
  /** `reason`, `evidence 1`, `attachment 1`. */
  item: string;
  /** `counted`: it led to a part of the result, or to a hash that code found to be right. `read`: to nothing. */
  weight: "counted" | "read";
  detail: string;
}

/** The record of a model's use. */
export interface ModelUse {
  /** Name of the model as configured. */
  model: string;
  promptVersion: string;
  /** SHA-256 of the prompt's fixed texts, 0x hex. */
  promptHash: `0x${string}`;
  votes: Vote[];
  /** Number of all requests, those without a usable answer included. */
  requests: number;
  leftOut: LeftOut[];
  evidence: WeighedText[];
  tokens: { input: number; output: number };
  /** Why votes are missing, or why the embedded judge took over; empty if every vote was usable. */
  problems: string[];
}

/** A judgement of a case. Everything in it is shown to both parties and hashed into the ruling document. */
export interface Judgement {
  outcome: DisputeOutcome;
  /** Who decided: the facts alone, the embedded judge, or the model. */
  judge: "facts" | "embedded" | "model";
  /** Plain sentences, each naming its evidence; limits of the judge included. */
  reasons: string[];
  /** Null if no model was asked. */
  model: ModelUse | null;
  /** SHA-256 of the canonical JSON of the case as the judge saw it, 0x hex. */
  inputHash: `0x${string}`;
  /** One line for each field or attachment that was cut or had hidden characters removed before the judge saw it. */
  removed: string[];
}

/** Judges disputes. */
export interface Judge {
  /**
   * Always ends with a judgement: what can't be decided is a Split with the reason.
   * @throws EvaluatorUnavailableError or EncoderUnavailableError if this process can't judge at the moment
   */
  judge(dispute: DisputeCase, signal: AbortSignal): Promise<Judgement>;
}
