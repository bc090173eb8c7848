import { z } from "zod";

import { dataOf, listOf, webUrlSchema } from "../../../http/common-schemas.ts";
import { pageCursor, pageLimit } from "../../../http/query-params.ts";
import { eventType } from "../../events/event-type.ts";
import { EVENT_TYPES } from "../../events/model.ts";
import { WEBHOOK_STATUSES } from "./model.ts";

const events = z
  .array(eventType)
  .min(1)
  .max(EVENT_TYPES.length)
  .refine((names) => new Set(names).size === names.length, "Must name each event once")
  .meta({
    description: "The events to send",
    override: ({ jsonSchema }: { jsonSchema: object }) => {
      Object.assign(jsonSchema, { uniqueItems: true });
    },
  });

const durable = z.boolean().meta({
  description:
    "True: failed deliveries are retried for 24 hours, in order per transaction; false: they are retried once",
});

/** Body of POST /api/v1/webhooks. */
export const createWebhookBody = z.strictObject({ url: webUrlSchema, events, durable: durable.default(false) }).meta({
  id: "WebhookRequest",
  examples: [{ url: "https://agent.example/hook", events: ["escrow.funded", "dispute.created"], durable: true }],
});

/** Body of PATCH /api/v1/webhooks/{webhookId}. */
export const patchWebhookBody = z
  .strictObject({
    url: webUrlSchema,
    events,
    durable,
    status: z.enum(["active"]).meta({ description: "Enables a webhook that the service has disabled" }),
  })
  .partial()
  .refine((body) => Object.keys(body).length > 0, "Must have at least one field to change")
  .meta({ override: { minProperties: 1 } })
  .meta({ id: "WebhookChange", examples: [{ events: ["escrow.funded"], durable: false }] });

export const webhookParams = z.strictObject({ webhookId: z.string().min(1).max(64) });

const webhook = z
  .object({
    id: z.string(),
    webhookId: z.string(),
    url: z.string(),
    events: z.array(eventType),
    durable: z.boolean(),
    status: z.enum(WEBHOOK_STATUSES).meta({ description: "Events aren't sent to a disabled webhook" }),
    failingSince: z.iso
      .datetime()
      .nullable()
      .meta({ description: "The first failed attempt since the last acknowledgement" }),
    disabledAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: "Webhook" });

export const webhookAnswer = dataOf(webhook);
export const webhookListAnswer = listOf(webhook);

/** Position in the list of registrations: the last entry of the previous page. */
const position = z.strictObject({ after: z.string().max(64) });

export const webhookListQuery = z.strictObject({ limit: pageLimit, cursor: pageCursor(position).optional() });
