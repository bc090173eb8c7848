import { z } from "zod";

import { dataOf, listOf } from "../../http/common-schemas.ts";
import { pageCursor, pageLimit } from "../../http/query-params.ts";
import { ATTEMPT_OUTCOMES, DISPATCH_KINDS, DISPATCH_STATUSES } from "../outbox/model.ts";

const secret = z.string().regex(/^whsec_[0-9a-f]{64}$/);

/** The secret that signs the caller's webhooks, and the next one. */
export const secretAnswer = dataOf(
  z.object({
    secret: secret.meta({ description: "Verifies X-Service-Signature now" }),
    rotation: z.int(),
    next: z
      .object({ secret, rotation: z.int(), activatesAt: z.iso.datetime() })
      .nullable()
      .meta({ description: "Signs once it is activated, and from activatesAt at the latest" }),
  }),
);

const attempt = z.object({
  startedAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().nullable(),
  outcome: z.enum(ATTEMPT_OUTCOMES),
  statusCode: z.int().nullable(),
  error: z.string().nullable(),
});

const dispatch = z
  .object({
    deliveryId: z.string(),
    eventId: z.string(),
    event: z.string(),
    transactionId: z.string().nullable(),
    url: z.string(),
    kind: z.enum(DISPATCH_KINDS),
    status: z.enum(DISPATCH_STATUSES),
    attempts: z.array(attempt),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: "WebhookDelivery" });

export const dispatchListAnswer = listOf(dispatch);

/** Position in the dispatch log: the last entry of the previous page. */
const position = z.strictObject({ createdAt: z.int(), id: z.string().max(100) });

export const dispatchListQuery = z.strictObject({
  transactionId: z.string().min(1).max(100).optional(),
  status: z.enum(DISPATCH_STATUSES).optional(),
  limit: pageLimit,
  cursor: pageCursor(position).optional(),
});

/** Body of rotate and activate, which take no fields. */
export const emptyBody = z.strictObject({});
