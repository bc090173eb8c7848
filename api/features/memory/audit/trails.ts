import { extendLengths } from "../../../db/lengths.ts";
import { insertPlain } from "../../../db/plain-writes.ts";
import type { AuditedEvent, AuditTrail } from "../../events/audit-trail.ts";
import type { AuditRecord, MemoryModels } from "../model.ts";
import { AUDIT_NAMESPACE, entryIdOf, keyRange } from "../names.ts";
import { presentAudit } from "../entries/presenter.ts";
import type { PresentedEntry } from "../entries/presenter.ts";

/** Fields omitted from audit entries: payloads can be as large as a request body, and the transaction has them. */
const LEFT_OUT: readonly string[] = ["requestPayload", "responsePayload"];

/** An agent's audit entries. */
export interface AuditMemory extends AuditTrail {
  /** An agent's audit entries of a transaction, in order. */
  readAudit(transactionId: string, agentId: string): Promise<PresentedEntry[]>;
}

function toValue({ eventId, type, transactionId, occurredAt, body }: AuditedEvent): string {
  const kept = Object.entries(body).filter(([name]) => !LEFT_OUT.includes(name));
  const value = { event: type, eventId, transactionId, occurredAt: occurredAt.toISOString() };
  return JSON.stringify({ ...value, body: Object.fromEntries(kept) });
}

/**
 * Creates the audit trails in the memory's collections. An event has one position in its transaction's trail, the same for
 * both parties, and each party has it once.
 */
export function createAuditMemory(
  { audit, trailLengths }: Pick<MemoryModels, "audit" | "trailLengths">,
  now: () => Date,
): AuditMemory {
  return {
    async write(given, session) {
      const events = [...new Map(given.map((event) => [event.eventId, event])).values()].filter(
        ({ agentIds }) => agentIds.length > 0,
      );
      if (events.length === 0) return;
      const known = await audit
        .find(
          { eventId: { $in: events.map(({ eventId }) => eventId) } },
          { eventId: 1, agentId: 1, seq: 1 },
          { session },
        )
        .lean();
      const seqs = new Map(known.map(({ eventId, seq }) => [eventId, seq]));
      const has = new Set(known.map(({ eventId, agentId }) => `${eventId}|${agentId}`));
      const missing = events.flatMap((event) => {
        const agentIds = [...new Set(event.agentIds)].filter((agentId) => !has.has(`${event.eventId}|${agentId}`));
        return agentIds.length === 0 ? [] : [{ event, agentIds }];
      });
      if (missing.length === 0) return;
      const added = new Map<string, number>();
      for (const { event } of missing) {
        const isNew = seqs.has(event.eventId) ? 0 : 1;
        added.set(event.transactionId, (added.get(event.transactionId) ?? 0) + isNew);
      }
      const lengths = await extendLengths(trailLengths, added, session);
      const createdAt = now();
      const records = missing.flatMap(({ event, agentIds }) => {
        const { eventId, type, transactionId } = event;
        let seq = seqs.get(eventId);
        if (seq === undefined) {
          seq = (lengths.get(transactionId) ?? 0) + 1;
          lengths.set(transactionId, seq);
        }
        const position = seq;
        const key = `escrow/${transactionId}/${position}-${type}`;
        const valueJson = toValue(event);
        return agentIds.map((agentId): AuditRecord => ({
          _id: entryIdOf(agentId, { namespace: AUDIT_NAMESPACE, key }),
          agentId,
          key,
          eventId,
          seq: position,
          valueJson,
          tags: [type],
          createdAt,
        }));
      });
      await insertPlain(audit, records, session);
    },

    async recorded(eventIds, session) {
      if (eventIds.length === 0) return new Set();
      const found = await audit.find({ eventId: { $in: eventIds } }, { eventId: 1, _id: 0 }, { session }).lean();
      return new Set(found.map(({ eventId }) => eventId));
    },

    async readAudit(transactionId, agentId) {
      const found = await audit.find({ agentId, ...keyRange(`escrow/${transactionId}/`, undefined) }).lean();
      return found.toSorted((one, other) => one.seq - other.seq).map(presentAudit);
    },
  };
}
