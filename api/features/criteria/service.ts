import { ApiError, validationError } from "../../http/errors.ts";
import type { Reading, ReadingAt } from "../transactions/reader.ts";
import type { CriteriaDocument } from "./document.ts";
import { EvaluatorUnavailableError } from "./evaluator.ts";
import type { CheckVerdict, CriteriaEvaluator } from "./evaluator.ts";
import { handoverFacts } from "./facts.ts";
import type { Fact } from "./facts.ts";
import { overall } from "./verdict.ts";
import type { Result } from "./verdict.ts";

/** The result of checking a payload by code, before anyone acts on it. */
export interface CheckReport {
  facts: Fact[];
  checks: CheckVerdict[];
  result: Result;
  /** Block of the subgraph at which the deal was read. */
  indexedBlock: number;
}

/** Dependencies of the check. */
export interface CheckOptions {
  /** Reads a transaction for one of its parties. @throws ApiError `not_found`, `transaction_not_funded`, `indexer_unavailable` */
  read: (transactionId: string, agentId: string, at: ReadingAt) => Promise<Reading>;
  evaluator: CriteriaEvaluator;
}

const RETRY_SECONDS = 5;

type Payload = Record<string, unknown>;

/** The payload that a party asks about; null if none has been handed over. */
function choosePayload({ record, role, indexedBlock }: Reading, given: Payload | undefined): Payload | null {
  const isDelivered = record.escrow !== null && record.escrow.deliveredAt !== null;
  const conflict = () => new ApiError("escrow_state_conflict", { details: { status: record.status, indexedBlock } });
  if (given !== undefined) {
    if (role === "buyer") throw new ApiError("wrong_role", { details: { role, required: "seller" } });
    if (record.status !== "funded") throw conflict();
    return given;
  }
  if (role === "buyer" && !isDelivered) throw conflict();
  if (record.responsePayloadJson !== null) return JSON.parse(record.responsePayloadJson) as Payload;
  if (isDelivered) return null;
  if (record.status !== "funded") throw conflict();
  throw validationError([{ path: "body.responsePayload", message: "Required before a payload has been submitted" }]);
}

/** Checks payloads against the criteria of their deals. It stores nothing. */
export function createChecker({ read, evaluator }: CheckOptions) {
  return {
    /**
     * @param given any payload, from the seller before the delivery; else the one that was handed over is checked
     * @throws ApiError
     */
    async check(
      agentId: string,
      transactionId: string,
      given: Payload | undefined,
      signal: AbortSignal,
    ): Promise<CheckReport> {
      const reading = await read(transactionId, agentId, { signal });
      const { record, indexedBlock, chainNow } = reading;
      if (record.criteriaJson === null) throw new ApiError("criteria_not_available");
      const { criteria, requestPayload, quantity } = JSON.parse(record.criteriaJson) as CriteriaDocument;
      const payload = choosePayload(reading, given);
      const facts = given === undefined ? handoverFacts(record, chainNow) : [];
      if (payload === null) return { facts, checks: [], result: overall(facts), indexedBlock };
      try {
        const subject = { result: payload, request: requestPayload, quantity };
        const { schema, checks } = await evaluator.evaluate(agentId, criteria ?? {}, subject);
        if (schema !== undefined) facts.push({ name: "schema_matches", ...schema });
        return { facts, checks, result: overall([...facts, ...checks]), indexedBlock };
      } catch (error) {
        if (!(error instanceof EvaluatorUnavailableError)) throw error;
        throw new ApiError("criteria_check_unavailable", { retryAfterSeconds: RETRY_SECONDS, cause: error });
      }
    },
  };
}

/** Checks payloads. */
export type Checker = ReturnType<typeof createChecker>;
