import { z } from "zod";

import { NETWORKS } from "../../config/constants.ts";
import { listOf } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor, pageCursor, pageLimit } from "../../http/query-params.ts";
import { ESCROW_EVENT_TYPES } from "../../indexer/schemas.ts";
import { ATTEMPT_OUTCOMES } from "../outbox/model.ts";
import { transactionParams } from "../transactions/schemas.ts";
import { ENTRY_KINDS } from "./entries.ts";
import type { TimelineEntry } from "./entries.ts";
import type { Timelines } from "./timeline.ts";

/** Dependencies of the timeline's route. */
export interface TimelineDeps {
  timelines: Timelines;
}

const bytes32 = z.string().regex(/^0x[0-9a-fA-F]{64}$/);

const shared = { at: z.iso.datetime(), title: z.string() };

const move = z
  .object({
    ...shared,
    kind: z.literal("move"),
    proof: z
      .object({
        network: z.enum(NETWORKS),
        escrowId: bytes32,
        event: z.enum(ESCROW_EVENT_TYPES),
        txHash: bytes32,
        blockNumber: z.int(),
      })
      .meta({ description: "The escrow contract's log of this event, on chain" }),
  })
  .meta({ id: "TimelineMove" });

const auditEntry = z
  .object({
    ...shared,
    kind: z.literal("audit"),
    proof: z
      .object({ namespace: z.string(), key: z.string() })
      .meta({ description: "The entry in the caller's memory" }),
  })
  .meta({ id: "TimelineAuditEntry" });

const attempt = z
  .object({
    ...shared,
    kind: z.literal("webhook"),
    proof: z
      .object({
        deliveryId: z.string(),
        eventId: z.string(),
        attempt: z.int().meta({ description: "Counted from 1" }),
        outcome: z.enum(ATTEMPT_OUTCOMES),
        statusCode: z.int().nullable(),
      })
      .meta({ description: "The attempt in the caller's log of deliveries" }),
  })
  .meta({ id: "TimelineAttempt" });

const message = z
  .object({
    ...shared,
    kind: z.literal("message"),
    proof: z.object({ messageId: z.string() }).meta({ description: "The message, without its content" }),
  })
  .meta({ id: "TimelineMessage" });

/** The variants have their own names, because client generators can't name four alike. */
const entry = z.discriminatedUnion("kind", [move, auditEntry, attempt, message]).meta({ id: "TimelineEntry" });

const timelineAnswer = listOf(entry)
  .extend({
    indexedBlock: z.int().meta({ description: "Subgraph block at which the moves were read" }),
  })
  .meta({ id: "TimelinePage" });

const MAX_ORDER_LENGTH = 100;

/** Position in a timeline: the last entry of the previous page. */
const position = z.strictObject({ at: z.int(), kind: z.enum(ENTRY_KINDS), order: z.string().max(MAX_ORDER_LENGTH) });

const timelineQuery = z.strictObject({
  kind: z.enum(ENTRY_KINDS).optional(),
  limit: pageLimit,
  cursor: pageCursor(position).optional(),
});

function presentEntry({ at, kind, title, proof }: TimelineEntry) {
  return { at: new Date(at).toISOString(), kind, title, proof } as z.input<typeof entry>;
}

const readTimeline = defineRoute({
  name: "transactions.readTimeline",
  scope: "read",
  method: "GET",
  path: "/api/v1/transactions/{id}/timeline",
  tag: "Transactions",
  summary: "Lists what happened to a deal, oldest first",
  description:
    "Moves on chain, the caller's audit entries, the attempts of the last seven days to the caller's webhooks, and the " +
    "messages about the deal, each with where to check it. At most the first 1,000 messages and the latest 1,000 " +
    "deliveries.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  params: transactionParams,
  query: timelineQuery,
  responses: { 200: timelineAnswer },
  errors: ["not_found", "transaction_not_funded", "indexer_unavailable"],
}).handle(async ({ params, query, caller, signal }, { timelines }: TimelineDeps) => {
  const { entries, next, indexedBlock } = await timelines.page(caller.agentId, params.id, query, signal);
  const nextCursor = next === null ? null : encodeCursor(next);
  return { status: 200, body: { success: true, data: entries.map(presentEntry), nextCursor, indexedBlock } };
});

export const timelineRoutes = [readTimeline];
