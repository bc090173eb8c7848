import { z } from "zod";

import { defineRoute } from "../../http/define-route.ts";
import { jsonObject, listOf } from "../../http/common-schemas.ts";
import { pageLimit } from "../../http/query-params.ts";
import type { EventLog } from "./log.ts";
import { eventType } from "./event-type.ts";
import { streamEvents } from "./stream-route.ts";

/** Dependencies of the event routes. */
export interface EventDeps {
  eventLog: EventLog;
}

const event = z
  .object({
    id: z.string().meta({ description: "The X-Service-Event-Id of its webhooks" }),
    event: eventType,
    transactionId: z.string().nullable().meta({ description: "Null for an event that belongs to no transaction" }),
    occurredAt: z.iso.datetime(),
    payload: jsonObject.meta({ description: "The body of its webhooks" }),
  })
  // Not "Event": generated Python would have a variable of the same name as its field `event`.
  .meta({ id: "EventRecord" });

const eventId = z.string().regex(/^evt_[0-9a-f]{1,64}$/, "Must be an event id");

const listEvents = defineRoute({
  name: "events.list",
  scope: "read",
  method: "GET",
  path: "/api/v1/events",
  tag: "Events",
  summary: "Lists the caller's events, oldest first",
  description:
    "Complete and in order. A page begins after the event of `cursor`: the `nextCursor` of the previous page, or any event's `id`.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  query: z.strictObject({
    cursor: eventId.meta({ description: "Id of the last event seen" }).optional(),
    after: eventId.meta({ description: "Older name of `cursor`, which takes precedence" }).optional(),
    type: eventType.optional(),
    transactionId: z.string().min(1).max(100).optional(),
    limit: pageLimit,
  }),
  responses: { 200: listOf(event) },
}).handle(async ({ caller, query: { cursor, after, ...filter } }, { eventLog }: EventDeps) => {
  const { events, hasMore } = await eventLog.list(caller.agentId, {
    ...filter,
    after: cursor ?? after,
    path: cursor === undefined ? "query.after" : "query.cursor",
  });
  return {
    status: 200,
    body: {
      success: true,
      data: events.map((record) => ({
        id: record.eventId,
        event: record.type,
        transactionId: record.transactionId,
        occurredAt: record.occurredAt.toISOString(),
        payload: JSON.parse(record.bodyJson) as Record<string, unknown>,
      })),
      nextCursor: hasMore ? (events.at(-1)?.eventId ?? null) : null,
    },
  };
});

export const eventRoutes = [listEvents, streamEvents];
