import type { Webhook, WebhookDelivery } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { askApi, readOwn, readPage, saysEnded } from "./api.ts";
import type { Reading } from "./api.ts";

/** What the page of webhooks shows. */
export interface WebhooksData {
  /** Newest first. An agent has at most 20. */
  webhooks: readonly Webhook[];
  /** What was sent in the last seven days, newest first. */
  deliveries: readonly WebhookDelivery[];
  /** Where the next page begins; null after the last. */
  nextCursor: string | null;
  /** When it was read, in milliseconds. */
  readAt: number;
}

/** Which deliveries are shown. Empty texts ask for all. */
export interface DeliveryFilters {
  status: string;
  webhookId: string;
}

interface DeliveryPage {
  data: WebhookDelivery[];
  nextCursor: string | null;
}

const PAGE = 50;
const WEBHOOKS = "/api/v1/webhooks";
const DELIVERIES = `${WEBHOOKS}/deliveries`;

/** Reads the webhooks and the first pages of their deliveries: two calls, and one for each page after the first. */
export function readWebhooks(
  session: KeptSession,
  { status, webhookId }: DeliveryFilters,
  pages: () => number,
): Promise<Reading<WebhooksData>> {
  const ask = (cursor: string | null) => {
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (status !== "") query.set("status", status);
    if (webhookId !== "") query.set("webhookId", webhookId);
    if (cursor !== null) query.set("cursor", cursor);
    return readOwn<DeliveryPage>(session, `${DELIVERIES}?${query.toString()}`);
  };
  return readPage(async () => {
    const [webhooks, first] = await Promise.all([
      readOwn<{ data: Webhook[] }>(session, `${WEBHOOKS}?limit=100`),
      ask(null),
    ]);
    const deliveries = new Map(first.data.map((delivery) => [delivery.id, delivery]));
    let { nextCursor } = first;
    for (let read = 1; nextCursor !== null && read < pages(); read += 1) {
      const page = await ask(nextCursor);
      for (const delivery of page.data) deliveries.set(delivery.id, delivery);
      nextCursor = page.nextCursor;
    }
    return { webhooks: webhooks.data, deliveries: [...deliveries.values()], nextCursor, readAt: Date.now() };
  });
}

/** The address that sends a test event. */
export function pingPath(webhookId: string): string {
  return `${WEBHOOKS}/${encodeURIComponent(webhookId)}/ping`;
}

/** The address that sends again what a webhook has missed. */
export function missedPath(webhookId: string): string {
  return `${WEBHOOKS}/${encodeURIComponent(webhookId)}/redeliver-missed`;
}

/** The address that sends a delivery again. */
export function redeliverPath(deliveryId: string): string {
  return `${DELIVERIES}/${encodeURIComponent(deliveryId)}/redeliver`;
}

const LONGEST_MS = 30_000;
const PAUSE_MS = 1_000;
const OK = 200;

/**
 * Follows a delivery until it is no longer on its way.
 * @returns undefined if it still is after half a minute, once the session has ended, and once the signal aborts
 */
export async function followDelivery(
  session: KeptSession,
  deliveryId: string,
  ended: AbortSignal,
): Promise<WebhookDelivery | undefined> {
  const path = `${DELIVERIES}/${encodeURIComponent(deliveryId)}`;
  const until = performance.now() + LONGEST_MS;
  while (!ended.aborted && performance.now() < until) {
    const answer = await askApi(path, { aborted: ended }, session);
    if (saysEnded(answer)) return undefined;
    const delivery = answer.status === OK ? (answer.body as { data: WebhookDelivery }).data : undefined;
    if (delivery !== undefined && delivery.status !== "pending") return delivery;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return undefined;
}
