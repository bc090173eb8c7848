import { toUnixSeconds } from "../../lib/clock.ts";
import type { Send } from "../outbox/dispatcher.ts";
import type { WebhookSecrets } from "./secrets.ts";
import type { WebhookSender } from "./sender.ts";

/** Sends a dispatch from the outbox as a webhook, signed with its agent's current secret. */
export function createWebhookSend(sender: WebhookSender, secrets: WebhookSecrets, now: () => Date): Send {
  return async ({ agentId, url, eventId, bodyJson }, signal) => {
    const { secret } = await secrets.stateOf(agentId);
    return sender.send({ url, eventId, bodyJson, secret, timestamp: toUnixSeconds(now()) }, signal);
  };
}
