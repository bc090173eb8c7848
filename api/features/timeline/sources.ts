import type { AuditMemory } from "../memory/audit/trails.ts";
import type { MessageReader } from "../messages/reader.ts";
import type { Attempt, DispatchModel, DispatchRecord } from "../outbox/model.ts";
import type { ChainMove, TransactionRecord } from "../transactions/model.ts";
import { DISPATCH_ORDER, dispatchesFilter } from "../webhooks/dispatches/log.ts";
import { orderOf } from "./entries.ts";
import type { TimelineEntry, TimelineSource } from "./entries.ts";

/** Maximum number of messages (the first ones) and dispatches (the latest ones) in a timeline. */
const MAX_MESSAGES = 1_000;
const MAX_DISPATCHES = 1_000;

const TITLE_OF: Readonly<Record<ChainMove["type"], string>> = {
  EscrowCreated: "The buyer funded the escrow",
  DeliverySubmitted: "The seller submitted the delivery",
  EscrowReleased: "The funds were released to the seller",
  EscrowRefunded: "The seller refunded the buyer",
  EscrowAbandoned: "The buyer reclaimed the deposit",
  DisputeOpened: "The buyer opened a dispute",
  EscrowResolved: "The dispute was resolved",
};

/** The moves of an escrow on chain. The contract's states bound their number. */
export function toMoves({ network, escrowId, escrow }: TransactionRecord): TimelineEntry[] {
  return (escrow?.moves ?? []).map(({ type, at, txHash, blockNumber }, position) => ({
    at: at * 1_000,
    kind: "move",
    title: TITLE_OF[type],
    order: orderOf(position),
    proof: { network, escrowId, event: type, txHash, blockNumber },
  }));
}

/** An agent's audit entries: one for each event of the escrow. */
export function auditSource(readAudit: AuditMemory["readAudit"]): TimelineSource {
  return {
    async readEntries(transactionId, agentId) {
      const found = await readAudit(transactionId, agentId);
      return found.map(({ namespace, key, tags, createdAt }, position) => ({
        at: Date.parse(createdAt),
        kind: "audit",
        title: `Audit entry: ${tags.join(", ")}`,
        proof: { namespace, key },
        order: orderOf(position),
      }));
    },
  };
}

/** The fields of a dispatch that a timeline needs. Bodies and answers aren't read. */
type DispatchFacts = Pick<DispatchRecord, "_id" | "eventId" | "eventType"> & {
  attempts: Pick<Attempt, "startedAt" | "outcome" | "statusCode">[];
};

/** The attempts of the last seven days to an agent's addresses. */
export function webhookSource(dispatches: DispatchModel): TimelineSource {
  return {
    async readEntries(transactionId, agentId) {
      const shown = { eventId: 1, eventType: 1, "attempts.startedAt": 1, "attempts.outcome": 1 } as const;
      const found = await dispatches
        .find(dispatchesFilter(agentId, { transactionId, limit: MAX_DISPATCHES }), {
          ...shown,
          "attempts.statusCode": 1,
        })
        .sort(DISPATCH_ORDER)
        .limit(MAX_DISPATCHES)
        .lean<DispatchFacts[]>();
      return found.flatMap(({ _id, eventId, eventType, attempts }) =>
        attempts.map(({ startedAt, outcome, statusCode }, index): TimelineEntry => ({
          at: startedAt.getTime(),
          kind: "webhook",
          order: `${_id}/${orderOf(index)}`,
          title: `Webhook ${eventType}, attempt ${index + 1}: ${outcome}`,
          proof: { deliveryId: _id, eventId, attempt: index + 1, outcome, statusCode },
        })),
      );
    },
  };
}

/** The messages about a transaction that an agent has sent or received, without their contents. */
export function messageSource(messagesOf: MessageReader["readByTransaction"]): TimelineSource {
  return {
    async readEntries(transactionId, agentId) {
      const found = await messagesOf(transactionId, agentId, MAX_MESSAGES);
      return found.map(({ _id, fromAgentId, createdAt }) => ({
        at: createdAt.getTime(),
        kind: "message",
        order: _id,
        proof: { messageId: _id },
        title: fromAgentId === agentId ? "Message to the other party" : "Message from the other party",
      }));
    },
  };
}
