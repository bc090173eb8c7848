import { isoTime, toUnixSeconds } from "../../lib/clock.ts";
import { handoverEnd } from "../transactions/deadlines.ts";
import type { TransactionRecord } from "../transactions/model.ts";
import type { Verdict } from "./verdict.ts";

/** Facts about a delivery that code can establish. */
export const FACT_NAMES = ["payload_in_time", "proof_matches", "schema_matches"] as const;
export type FactName = (typeof FACT_NAMES)[number];

/** A fact about a delivery, with its evidence. */
export interface Fact extends Verdict {
  name: FactName;
}

/**
 * The facts about the handover of a delivery, from its record; none before the delivery.
 * @param now chain time in unix seconds
 */
export function handoverFacts(record: TransactionRecord, now: number): Fact[] {
  const { escrow, payloadReceivedAt, deliveryProof } = record;
  if (escrow === null || escrow.deliveredAt === null) return [];
  const facts = [inTime(payloadReceivedAt, handoverEnd(record), now)];
  if (deliveryProof !== null) facts.push(proofMatches(deliveryProof, escrow.proofHash));
  return facts;
}

function inTime(receivedAt: Date | null, end: number, now: number): Fact {
  const name = "payload_in_time";
  if (receivedAt === null) {
    const result = now > end ? "fail" : "open";
    return { name, result, detail: `no payload has been handed over; the time for it ends at ${isoTime(end)}` };
  }
  const result = toUnixSeconds(receivedAt) <= end ? "pass" : "fail";
  return {
    name,
    result,
    detail: `handed over at ${receivedAt.toISOString()}; the time for it ended at ${isoTime(end)}`,
  };
}

/** A different proof isn't a failure: the seller may have committed to another form of the payload. */
function proofMatches(deliveryProof: string, proofHash: string | null): Fact {
  const result = deliveryProof === proofHash ? "pass" : "open";
  return {
    name: "proof_matches",
    result,
    detail: `SHA-256 of the payload is ${deliveryProof}; the proof on chain is ${proofHash ?? "missing"}`,
  };
}
