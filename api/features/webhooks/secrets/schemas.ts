import { z } from "zod";

import { dataOf } from "../../../http/common-schemas.ts";

const secret = z.string().regex(/^whsec_[0-9a-f]{64}$/);

const standardSecret = z.string().regex(/^whsec_[A-Za-z0-9+/]{43}=$/);

/** The current secret of the caller's webhooks, and the next one. */
export const secretAnswer = dataOf(
  z
    .object({
      secret: secret.meta({ description: "Verifies X-Service-Signature now" }),
      standardSecret: standardSecret.meta({ description: "The same key for libraries that verify webhook-signature" }),
      rotation: z.int(),
      next: z
        .object({ secret, standardSecret, rotation: z.int(), activatesAt: z.iso.datetime() })
        .nullable()
        .meta({ description: "Signs once it is activated, and from activatesAt at the latest" }),
    })
    .meta({ id: "WebhookSecret" }),
);
