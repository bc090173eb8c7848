import { segment } from "./arguments.ts";
import type * as wire from "./generated/api-types.ts";
import type { CallOptions, CreateOptions, Http } from "./http.ts";
import type { RegisteredWebhook } from "./messages.ts";
import { paginate } from "./pagination.ts";
import type { Page } from "./pagination.ts";
import type { WebhookDelivery } from "./records.ts";

/** The secret that signs an agent's webhooks, and the next one during a rotation. */
export type WebhookSecret = wire.WebhooksReadSecretResponse["data"];
/** The address and events to register. `durable`: retried for 24 hours, in order per transaction. */
export type NewWebhook = wire.WebhooksCreateData["body"];
/** Changes of a registered webhook. `status: "active"` enables one that the service has disabled. */
export type WebhookPatch = wire.WebhooksUpdateData["body"];
/** Filters of the delivery log. */
export type WebhookDeliveryFilter = Omit<NonNullable<wire.WebhooksListDeliveriesData["query"]>, "cursor">;

const PATH = "/api/v1/webhooks";

const pathOf = (webhookId: string): string => `${PATH}/${segment("webhookId", webhookId)}`;
const deliveryPathOf = (deliveryId: string): string => `${PATH}/deliveries/${segment("deliveryId", deliveryId)}`;

/** An agent's registered webhooks, the secret that signs them, and the log of deliveries to its addresses. */
export class WebhookSettings {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Registers an address for some of the agent's events. `verifyWebhook` checks what it gets. Errors:
   * `webhook_limit_reached`.
   */
  async register(webhook: NewWebhook, options: CreateOptions = {}): Promise<RegisteredWebhook> {
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    return (await this.#http.post<wire.WebhooksCreateResponse>(PATH, webhook, once)).data;
  }

  /** The registered webhooks, newest first. */
  list(options: CallOptions = {}): AsyncGenerator<RegisteredWebhook, void, undefined> {
    return paginate((cursor) => this.#http.get<Page<RegisteredWebhook>>(PATH, { query: { cursor }, ...options }));
  }

  /** Errors: `not_found`. */
  async get(webhookId: string, options: CallOptions = {}): Promise<RegisteredWebhook> {
    return (await this.#http.get<wire.WebhooksReadResponse>(pathOf(webhookId), options)).data;
  }

  /** Changes a webhook, or enables it again. Errors: `not_found`. */
  async update(webhookId: string, patch: WebhookPatch, options: CallOptions = {}): Promise<RegisteredWebhook> {
    const path = pathOf(webhookId);
    const request = { method: "PATCH", path, body: patch, isIdempotent: true, ...options } as const;
    return (await this.#http.send<wire.WebhooksUpdateResponse>(request)).body.data;
  }

  /** Removes a webhook and returns it as it was. Errors: `not_found`. */
  async remove(webhookId: string, options: CreateOptions = {}): Promise<RegisteredWebhook> {
    // With the key, a retry gets the first answer instead of `not_found`.
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    const request = { method: "DELETE", path: pathOf(webhookId), ...once } as const;
    return (await this.#http.send<wire.WebhooksDeleteResponse>(request)).body.data;
  }

  /** The current secret. Errors: `service_unavailable` if the service has no signing secret. */
  async secret(options: CallOptions = {}): Promise<WebhookSecret> {
    return (await this.#http.get<wire.WebhooksReadSecretResponse>(`${PATH}/secret`, options)).data;
  }

  /** Creates the next secret. The old one signs until `activateSecret`, at most 24 hours. A repeat changes nothing. */
  async rotateSecret(options: CallOptions = {}): Promise<WebhookSecret> {
    return this.#change("rotate", options);
  }

  /** Makes the next secret the signing secret. */
  async activateSecret(options: CallOptions = {}): Promise<WebhookSecret> {
    return this.#change("activate", options);
  }

  /** Attempts of the last seven days, newest first. */
  deliveries(
    filter: WebhookDeliveryFilter = {},
    options: CallOptions = {},
  ): AsyncGenerator<WebhookDelivery, void, undefined> {
    return paginate((cursor) =>
      this.#http.get<Page<WebhookDelivery>>(`${PATH}/deliveries`, { query: { ...filter, cursor }, ...options }),
    );
  }

  /** One delivery with its attempts. Errors: `not_found`. */
  async delivery(deliveryId: string, options: CallOptions = {}): Promise<WebhookDelivery> {
    const path = deliveryPathOf(deliveryId);
    return (await this.#http.get<wire.WebhooksReadDeliveryResponse>(path, options)).data;
  }

  /**
   * Sends a delivery again and returns the new one, with the same event id. Errors: `not_found`, `webhook_not_active`.
   */
  async redeliver(deliveryId: string, options: CreateOptions = {}): Promise<WebhookDelivery> {
    const path = `${deliveryPathOf(deliveryId)}/redeliver`;
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    return (await this.#http.post<wire.WebhooksRedeliverResponse>(path, {}, once)).data;
  }

  /**
   * Sends a signed `webhook.ping` and returns its delivery, which `delivery` reads again to see how it went. Errors:
   * `not_found`, `webhook_not_active`.
   */
  async ping(webhookId: string, options: CreateOptions = {}): Promise<WebhookDelivery> {
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    return (await this.#http.post<wire.WebhooksPingResponse>(`${pathOf(webhookId)}/ping`, {}, once)).data;
  }

  /**
   * Sends again every event since a time that the webhook has missed, at most those of seven days, and returns how many
   * are queued. An event with ten failed deliveries is left out. Errors: `not_found`, `webhook_not_active`.
   */
  async redeliverMissed(webhookId: string, since: Date, options: CallOptions = {}): Promise<number> {
    const path = `${pathOf(webhookId)}/redeliver-missed`;
    let queued = 0;
    for (let from: string | null = since.toISOString(); from !== null;) {
      // A repeat queues nothing twice.
      const request = { isIdempotent: true, ...options };
      const { data }: wire.WebhooksRedeliverMissedResponse = await this.#http.post(path, { since: from }, request);
      queued += data.queued;
      from = data.next;
    }
    return queued;
  }

  async #change(change: "rotate" | "activate", options: CallOptions): Promise<WebhookSecret> {
    const path = `${PATH}/secret/${change}`;
    const request = { isIdempotent: true, ...options };
    return (await this.#http.post<wire.WebhooksReadSecretResponse>(path, {}, request)).data;
  }
}
