import { z } from "zod";

import { CHAIN_IDS, caip2Of, NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { networkSchema } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import { verifyWebhookSignature } from "../webhooks/secrets/signature.ts";

/** Dependencies of the route. */
export interface ChainPushDeps {
  chainPush: {
    /** Signs what providers push; undefined if there is none, so nothing can be accepted. */
    secret: string | undefined;
    clock: Clock;
    wake: (networks: readonly Network[]) => Promise<void>;
  };
}

const receiveChainPush = defineRoute({
  name: "chains.announceBlock",
  scope: "none",
  method: "POST",
  audience: "operators",
  path: "/internal/webhooks/chain",
  tag: "Internal",
  summary: "Accepts a push from an RPC provider: something has happened on a chain",
  description:
    "Signed like the service's own webhooks: `X-Service-Signature: t=<unix seconds>,v1=<HMAC-SHA256 of <t>.<body>>` with " +
    "`INTERNAL_WEBHOOK_SECRET`. It only makes the service look at the subgraph at once; nothing in the body is trusted. " +
    "`network` (or `chainId`) says which chain; without it, all of them.",
  auth: "none",
  // The signature is checked before anything is parsed or written, and a provider must not be held up.
  limitClass: "unlimited",
  budget: "none",
  // Providers add fields of their own.
  body: z.looseObject({ network: z.unknown().optional(), chainId: z.unknown().optional() }),
  responses: { 202: z.object({ success: z.literal(true), data: z.object({ networks: z.array(networkSchema) }) }) },
  errors: ["webhook_signature_invalid", "service_unavailable"],
}).handle(
  async ({ body }, { chainPush }: ChainPushDeps) => {
    const networks = parseNetworks(body);
    await chainPush.wake(networks);
    return { status: 202, body: { success: true, data: { networks } } };
  },
  async ({ headers, bytes }, { chainPush: { secret, clock } }) => {
    if (secret === undefined)
      throw new ApiError("service_unavailable", { details: { missing: "INTERNAL_WEBHOOK_SECRET" } });
    const signature = headers["x-service-signature"];
    if (typeof signature !== "string") throw new ApiError("webhook_signature_invalid");
    const text = (await bytes()).toString("utf8");
    if (!verifyWebhookSignature(secret, signature, text, toUnixSeconds(clock.now()))) {
      throw new ApiError("webhook_signature_invalid");
    }
  },
);

/** The networks that a push is about: those whose name, CAIP-2 id or chain id it gives, or else all. */
function parseNetworks({ network, chainId }: { network?: unknown; chainId?: unknown }): Network[] {
  const named = NETWORKS.filter(
    (candidate) =>
      network === candidate ||
      network === caip2Of(candidate) ||
      chainId === CHAIN_IDS[candidate] ||
      chainId === String(CHAIN_IDS[candidate]),
  );
  return named.length > 0 ? named : [...NETWORKS];
}

export const chainPushRoutes = [receiveChainPush];
