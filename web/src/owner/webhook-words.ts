import type { Webhook, WebhookDelivery } from "../../../sdk/src/generated/api-types.ts";
import type { Answer } from "../data/answers.ts";
import type { StateWords } from "../words/states.ts";
import { codeOf } from "./api.ts";
import { refusalWords } from "./sign-in-words.ts";

type Attempt = WebhookDelivery["attempts"][number];

/** Whether a webhook gets what it should. */
export function webhookState({ status, failingSince }: Webhook): StateWords {
  if (status === "disabled") {
    return { name: "Disabled", meaning: "It failed for five days, and nothing is sent to it.", tone: "bad" };
  }
  return failingSince === null
    ? { name: "Works", meaning: "It acknowledges what it is sent, or nothing was sent yet.", tone: "good" }
    : { name: "Fails", meaning: "Its last attempts weren't acknowledged.", tone: "care" };
}

/** The states of a delivery to a webhook. */
export const DELIVERY_STATES: Readonly<Record<WebhookDelivery["status"], StateWords>> = {
  pending: { name: "On its way", meaning: "An attempt is under way, or the next one waits.", tone: "active" },
  acknowledged: { name: "Acknowledged", meaning: "The address answered with a status from 200 to 299.", tone: "good" },
  failed: { name: "Failed", meaning: "No attempt was acknowledged, and none follows.", tone: "bad" },
  dropped: { name: "Dropped", meaning: "The webhook was removed or disabled before.", tone: "plain" },
};

const KINDS: Readonly<Record<WebhookDelivery["kind"], string>> = {
  immediate: "",
  backup: "sent once more to be sure",
  redelivery: "sent again",
  ping: "a test",
};

/** Why something was sent; empty for what an event caused. */
export function kindWords(kind: WebhookDelivery["kind"]): string {
  return KINDS[kind];
}

/** What came of an attempt. */
export function attemptWords({ outcome, statusCode, latencyMs }: Attempt): string {
  const status = statusCode === null ? "" : ` ${statusCode}`;
  const time = latencyMs === null ? "" : ` after ${latencyMs} ms`;
  switch (outcome) {
    case "running":
      return "under way";
    case "acknowledged":
      return `acknowledged with${status === "" ? " success" : status}${time}`;
    case "refused":
      return `answered${status}${time}`;
    case "unreachable":
      return "no answer";
    case "interrupted":
      return "interrupted by the service, and sent again";
    case "dropped":
      return "given up";
  }
}

/** Why the service sent nothing. */
export function sendRefusal(answer: Answer): string {
  if (answer.status === 0) return "The service doesn't answer. If it was sent, the list below has it in a minute.";
  switch (codeOf(answer)) {
    case "webhook_not_active":
      return "The webhook is disabled or removed, so nothing is sent to it.";
    case "not_found":
      return "It isn't there any more.";
    case "scope_not_granted":
      return "This session may not do that. Sign in with “See and act”.";
    default:
      return refusalWords(answer, "");
  }
}
