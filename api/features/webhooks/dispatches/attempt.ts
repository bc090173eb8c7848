import { toUnixSeconds } from "../../../lib/clock.ts";
import type { EventLog } from "../../events/log.ts";
import type { Send } from "../../outbox/dispatcher.ts";
import type { AttemptResult } from "../../outbox/model.ts";
import type { WebhookHealth } from "../registrations/health.ts";
import type { WebhookSecrets } from "../secrets/service.ts";
import type { WebhookSender } from "./sender.ts";

/** Dependencies of an attempt. */
export interface WebhookSendOptions {
  sender: WebhookSender;
  secrets: WebhookSecrets;
  health: WebhookHealth;
  /** Source of the events' bodies. */
  eventLog: Pick<EventLog, "readBody">;
  now: () => Date;
}

const dropped = (error: string): AttemptResult => ({
  outcome: "dropped",
  statusCode: null,
  error,
  latencyMs: null,
  answer: null,
});

/**
 * Creates the function that sends a dispatch as a webhook, signed with its agent's current secret. A dispatch of a
 * registration goes to the registration's current address. It is dropped if the registration is disabled or removed, unless
 * a listing or a checkout also names the address. Throws if the event log lacks the event.
 */
export function createWebhookSend({ sender, secrets, health, eventLog, now }: WebhookSendOptions): Send {
  return async ({ agentId, url, webhookId, direct, eventId, bodyJson: ownBodyJson }, signal) => {
    const [address, { secret }, bodyJson] = await Promise.all([
      webhookId === null ? { url } : health.readAddress(webhookId),
      secrets.stateOf(agentId),
      ownBodyJson ?? eventLog.readBody(agentId, eventId),
    ]);
    // One transaction writes both, but shards show it at different times. The dispatch is retried.
    if (bodyJson === undefined) throw new Error(`The log of ${agentId} doesn't have ${eventId}`);
    if ("error" in address && !direct) return dropped(address.error);
    const target = "error" in address || direct ? url : address.url;
    const webhook = { url: target, eventId, bodyJson, secret, timestamp: toUnixSeconds(now()) };
    const result = await sender.send(webhook, signal);
    // An attempt that a stopping worker aborted says nothing about the receiver.
    const isReport = webhookId !== null && !("error" in address) && !signal.aborted;
    if (isReport) await health.report(agentId, webhookId, result.outcome === "acknowledged");
    return result;
  };
}
