import { z } from "zod";

import { dataOf, listOf } from "../../../http/common-schemas.ts";
import { pageCursor, pageLimit } from "../../../http/query-params.ts";
import { EXAMPLE } from "../../../http/examples.ts";
import { ATTEMPT_OUTCOMES, DISPATCH_KINDS, DISPATCH_STATUSES } from "../../outbox/model.ts";

const attempt = z.object({
  startedAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().nullable(),
  outcome: z.enum(ATTEMPT_OUTCOMES),
  statusCode: z.int().nullable(),
  error: z.string().nullable(),
  latencyMs: z.int().nullable().meta({ description: "Milliseconds until the answer's status" }),
  answer: z.string().nullable().meta({ description: "The first 1,024 bytes of the answer's body" }),
});

const dispatch = z
  .object({
    id: z.string(),
    deliveryId: z.string(),
    eventId: z.string(),
    event: z.string(),
    transactionId: z.string().nullable(),
    webhookId: z.string().nullable().meta({ description: "The registered webhook that it is for" }),
    durable: z.boolean(),
    url: z.string(),
    kind: z.enum(DISPATCH_KINDS),
    redeliveryOf: z.string().nullable().meta({ description: "The delivery that this one sends again" }),
    status: z.enum(DISPATCH_STATUSES),
    attempts: z.array(attempt),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: "WebhookDelivery" });

export const dispatchAnswer = dataOf(dispatch);
export const dispatchListAnswer = listOf(dispatch);

export const dispatchParams = z.strictObject({ deliveryId: z.string().min(1).max(64) });

/** Body of POST /api/v1/webhooks/{webhookId}/redeliver-missed. */
export const missedBody = z
  .strictObject({
    since: z.iso.datetime().meta({ description: "Events that were recorded from this time on" }),
  })
  .meta({ id: "MissedEventsRequest", examples: [{ since: EXAMPLE.time }] });

export const missedAnswer = dataOf(
  z
    .object({
      queued: z.int().meta({ description: "Events that are queued again" }),
      next: z.iso.datetime().nullable().meta({ description: "The next `since`, if there may be more" }),
    })
    .meta({ id: "MissedEvents" }),
);

/** Position in the dispatch log: the last entry of the previous page. */
const position = z.strictObject({ createdAt: z.int(), id: z.string().max(100) });

export const dispatchListQuery = z.strictObject({
  transactionId: z.string().min(1).max(100).optional(),
  webhookId: z.string().min(1).max(64).optional(),
  status: z.enum(DISPATCH_STATUSES).optional(),
  limit: pageLimit,
  cursor: pageCursor(position).optional(),
});
