import type { Connection } from "mongoose";

import { withTransaction } from "../../db/connection.ts";
import { canonicalJson } from "../../lib/canonical-json.ts";
import type { DisputeModel, DisputeRecord, Ruling } from "./model.ts";
import type { RulingQueue, RulingToSend } from "./ports.ts";
import { rationaleHashOf, rulingDocument } from "./ruling-document.ts";
import type { Decision, RulingSubject } from "./ruling-document.ts";

/** Dependencies of storing rulings. */
export interface RulingsOptions {
  connection: Connection;
  disputes: DisputeModel;
  sending: RulingQueue;
  now: () => Date;
}

/** Stores rulings: one for each dispute, together with the order to send it. */
export function createRulings({ connection, disputes, sending, now }: RulingsOptions) {
  /**
   * Stores a ruling, unless the dispute has one or isn't open any more. An admin may replace a ruling by the system that
   * can't be put on chain. Two processes that rule at once write the same records, so one of them fails and looks again.
   * @returns whether this is the ruling
   */
  return async function store(subject: RulingSubject, decision: Decision): Promise<boolean> {
    const { dispute, record } = subject;
    const ruledAt = now();
    const document = rulingDocument(subject, decision, ruledAt);
    const documentJson = canonicalJson(document);
    const { ruledBy, outcome, buyerPercent } = document;
    const ruling: Ruling = {
      ...{ ruledBy, outcome, buyerPercent, documentJson, ruledAt },
      rationaleHash: rationaleHashOf(documentJson),
    };
    const { rationaleHash } = ruling;
    const toSend: RulingToSend = {
      ...{ disputeId: dispute._id, network: record.network, escrowId: record.escrowId },
      ...{ role: ruledBy, outcome, buyerPercent, rationaleHash },
    };
    return withTransaction(connection, async (session) => {
      const current = await disputes
        .findOne({ _id: dispute._id, isOpen: true }, { ruling: 1, closedAt: 1 }, { session })
        .lean<Pick<DisputeRecord, "ruling" | "closedAt"> | null>();
      if (current === null) return false;
      if (current.ruling === null) await sending.put(toSend, session);
      else if (ruledBy !== "admin" || current.ruling.ruledBy !== "system") return false;
      else if (!(await sending.replace({ ...toSend, role: ruledBy }, session))) return false;
      const closedAt = current.closedAt ?? ruledAt;
      const change = { ruling, dueAt: null, lastError: null, updatedAt: ruledAt, closedAt };
      await disputes.updateOne({ _id: dispute._id }, { $set: change }, { session });
      return true;
    });
  };
}

/** Stores rulings. */
export type StoreRuling = ReturnType<typeof createRulings>;
