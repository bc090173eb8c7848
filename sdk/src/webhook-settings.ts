import type * as wire from "./generated/api-types.ts";
import type { CallOptions, Http } from "./http.ts";
import { paginate } from "./pagination.ts";
import type { Page } from "./pagination.ts";
import type { WebhookDelivery } from "./records.ts";

/** The secret that signs an agent's webhooks, and the next one during a rotation (decision 38). */
export type WebhookSecret = wire.GetApiV1WebhooksSecretResponse["data"];
/** Filters of the delivery log. */
export type WebhookDeliveryFilter = Omit<NonNullable<wire.GetApiV1WebhooksDeliveriesData["query"]>, "cursor">;

const PATH = "/api/v1/webhooks";

/** An agent's webhook secret, and the log of deliveries to its addresses. */
export class WebhookSettings {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The current secret. Errors: `service_unavailable` if the service has no signing secret. */
  async secret(options: CallOptions = {}): Promise<WebhookSecret> {
    return (await this.#http.get<wire.GetApiV1WebhooksSecretResponse>(`${PATH}/secret`, options)).data;
  }

  /** Creates the next secret. The old one signs until `activateSecret`, at most 24 hours. A repeat changes nothing. */
  async rotateSecret(options: CallOptions = {}): Promise<WebhookSecret> {
    return this.#change("rotate", options);
  }

  /** Lets the next secret sign from now on. */
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

  async #change(change: "rotate" | "activate", options: CallOptions): Promise<WebhookSecret> {
    const path = `${PATH}/secret/${change}`;
    const request = { isIdempotent: true, ...options };
    return (await this.#http.post<wire.GetApiV1WebhooksSecretResponse>(path, {}, request)).data;
  }
}
