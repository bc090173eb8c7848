import type { Connection } from "mongoose";

import { byChainClock } from "../../chain/chain-time.ts";
import { withTransaction } from "../../db/connection.ts";
import { canonicalJson } from "../../lib/canonical-json.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import type { TransactionReader } from "../transactions/reader.ts";
import type { DisputeModel, DisputeRecord, Ruling } from "./model.ts";
import type { RulingQueue, RulingToSend } from "./ports.ts";
import { hashRationale, rulingDocument, hashEvidence } from "./ruling-document.ts";
import type { Decision, RulingSubject } from "./ruling-document.ts";

/** Dependencies of storing rulings. */
export interface RulingsOptions {
  connection: Connection;
  disputes: DisputeModel;
  transactions: TransactionModel;
  sending: RulingQueue;
  reader: Pick<TransactionReader, "chainNow">;
  now: () => Date;
}

/**
 * The result of storing a ruling. `refused`: the dispute has a ruling that stays, or isn't open. `changed`: the case has
 * changed since it was judged, so it must be judged again.
 */
export type Stored = "stored" | "refused" | "changed";

/** The basis of a ruling that a party or a reorganisation can change. */
function toBasis(dispute: DisputeRecord, { deliveryProof }: Pick<TransactionRecord, "deliveryProof">): string {
  const { disputedAt, reason, criteriaJson } = dispute;
  return canonicalJson([disputedAt, reason?.text ?? null, criteriaJson, hashEvidence(dispute), deliveryProof]);
}

const later = (one: Date, other: Date | null): Date => (other !== null && other > one ? other : one);

/** Stores rulings: one for each dispute, together with the order to send it. */
export function createRulings({ connection, disputes, transactions, sending, reader, now }: RulingsOptions) {
  /**
   * Stores a ruling, unless the dispute has one or isn't open any more. An admin may replace a ruling by the system that
   * can't be put on chain. Two processes that rule at once write the same records, so one of them fails and is retried.
   * If the records have changed since the judgement, the ruling isn't stored.
   */
  return async function store(subject: RulingSubject, decision: Decision): Promise<Stored> {
    const { dispute, record } = subject;
    const updatedAt = now();
    // Like every other time in the document. Another process may have dated the payload by a later block.
    const ruledAt = byChainClock(later(updatedAt, record.payloadReceivedAt), await reader.chainNow(record.network));
    const document = rulingDocument(subject, decision, ruledAt);
    const documentJson = canonicalJson(document);
    const { ruledBy, outcome, buyerPercent } = document;
    const ruling: Ruling = {
      ruledBy,
      outcome,
      buyerPercent,
      documentJson,
      ruledAt,
      rationaleHash: hashRationale(documentJson),
    };
    if (decision.ruledBy === "admin" && decision.operationId !== undefined) ruling.operationId = decision.operationId;
    const { rationaleHash } = ruling;
    const toSend: RulingToSend = {
      disputeId: dispute._id,
      network: record.network,
      escrowId: record.escrowId,
      role: ruledBy,
      outcome,
      buyerPercent,
      rationaleHash,
    };
    return withTransaction(connection, async (session) => {
      const current = await disputes.findOne({ _id: dispute._id, isOpen: true }, null, { session }).lean();
      if (current === null) return "refused";
      if (current.ruling !== null && (ruledBy !== "admin" || current.ruling.ruledBy !== "system")) return "refused";
      const delivery = await transactions.findById(record._id, { deliveryProof: 1 }, { session }).lean();
      if (delivery === null || toBasis(current, delivery) !== toBasis(dispute, record)) return "changed";
      if (current.ruling === null) await sending.put(toSend, session);
      else if (ruledBy === "system" || !(await sending.replace({ ...toSend, role: ruledBy }, session)))
        return "refused";
      const closedAt = current.closedAt ?? ruledAt;
      const change = { ruling, dueAt: null, lastError: null, updatedAt, closedAt };
      await disputes.updateOne({ _id: dispute._id }, { $set: change }, { session });
      return "stored";
    });
  };
}

/** Stores rulings. */
export type StoreRuling = ReturnType<typeof createRulings>;
