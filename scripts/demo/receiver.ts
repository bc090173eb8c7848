import { createServer } from "node:http";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { EVENT_ID_HEADER, SIGNATURE_HEADER, type WebhookEvent, verifyWebhook } from "../../sdk/src/webhooks.ts";

/** A webhook as it arrived. `Body` is the assumed type of its JSON. */
export interface ReceivedWebhook<Body = WebhookEvent> {
  path: string;
  headers: IncomingHttpHeaders;
  rawBody: string;
  /** The parsed body; undefined when there was none. */
  body: Body | undefined;
  /** Arrival in milliseconds since 1970. */
  at: number;
  /** The status of the answer; undefined while it is unanswered. */
  status?: number;
}

/** Returns the status for the n-th webhook (from 1), or undefined if it handles the response itself. */
export type Respond = (
  n: number,
  response: ServerResponse,
  webhook: ReceivedWebhook<unknown>,
) => number | undefined | Promise<number>;

/** Where a receiver listens: loopback and any free port by default. */
export interface ReceiverAddress {
  host?: string;
  port?: number;
}

const WAIT_MS = 60_000;

/** The event id in a webhook's header. */
export function eventIdOf({ headers }: ReceivedWebhook<unknown>): string {
  return String(headers[EVENT_ID_HEADER.toLowerCase()]);
}

/** Answers 204 to webhooks that an agent's secret signed, and 401 to others. */
export function acceptSigned(secret: () => string | undefined): Respond {
  return async (_n, _response, { rawBody, headers }) => {
    const signature = headers[SIGNATURE_HEADER.toLowerCase()] as string | undefined;
    return verifyWebhook({ rawBody, signature, secret: secret() ?? [] }).then(
      () => 204,
      () => 401,
    );
  };
}

/** An agent's webhook receiver, which keeps what arrives. */
export class WebhookReceiver<Body extends { event: string } = WebhookEvent> {
  /** Everything that arrived, oldest first. */
  readonly received: ReceivedWebhook<Body>[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #server = createServer();
  readonly #host: string;
  /** Kept after the close, for tests that send to an address where nothing listens. */
  #port = 0;

  private constructor(respond: Respond, host: string) {
    this.#host = host;
    this.#server.on("request", (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const rawBody = Buffer.concat(chunks).toString("utf8");
        const body = rawBody === "" ? undefined : (JSON.parse(rawBody) as Body);
        const { url: path = "", headers } = request;
        void this.#take({ path, headers, rawBody, body, at: Date.now() }, response, respond);
      });
    });
  }

  /** Starts a receiver; it answers 200 to everything unless `respond` decides otherwise. */
  static async start<Body extends { event: string } = WebhookEvent>(
    respond: Respond = () => 200,
    at: ReceiverAddress = {},
  ): Promise<WebhookReceiver<Body>> {
    const { host = "127.0.0.1", port = 0 } = at;
    const receiver = new WebhookReceiver<Body>(respond, host);
    await new Promise<void>((resolve, reject) => {
      receiver.#server.once("error", reject);
      receiver.#server.listen(port, host, resolve);
    });
    receiver.#port = (receiver.#server.address() as AddressInfo).port;
    return receiver;
  }

  get port(): number {
    return this.#port;
  }

  /** Address to give as `endpointUrl` or `callbackUrl`. */
  get url(): string {
    return `http://${this.#host}:${this.port}/hook`;
  }

  /**
   * The webhooks of an event, or those that match, once at least `count` of them have arrived.
   * @throws Error when they haven't within `timeoutMs`
   */
  async waitFor(
    wanted: string | ((webhook: ReceivedWebhook<Body>) => boolean),
    count = 1,
    timeoutMs = WAIT_MS,
  ): Promise<[ReceivedWebhook<Body>, ...ReceivedWebhook<Body>[]]> {
    const matches = typeof wanted === "string" ? ({ body }: ReceivedWebhook<Body>) => body?.event === wanted : wanted;
    const giveUpAt = Date.now() + timeoutMs;
    for (;;) {
      const [first, ...rest] = this.received.filter(matches);
      if (first !== undefined && rest.length + 1 >= count) return [first, ...rest];
      const remainingMs = giveUpAt - Date.now();
      if (remainingMs <= 0) {
        const arrived = this.received
          .map(({ body, status }) => `${String(body?.event)} (${String(status)})`)
          .join(", ");
        throw new Error(`timed out after ${timeoutMs} ms waiting for ${count} webhooks; arrived: ${arrived || "none"}`);
      }
      await this.#nextChange(remainingMs);
    }
  }

  /** Stops listening. */
  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(webhook: ReceivedWebhook<Body>, response: ServerResponse, respond: Respond): Promise<void> {
    const answer = respond(this.received.push(webhook), response, webhook);
    // Synchronous responders answer before anyone else runs.
    const status = answer instanceof Promise ? await answer : answer;
    if (status !== undefined) {
      webhook.status = status;
      response.writeHead(status).end();
    }
    for (const wake of this.#waiting) wake();
  }

  #nextChange(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#waiting.add(done);
    });
  }
}
