import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { EVENT_ID_HEADER, SIGNATURE_HEADER, type WebhookEvent, verifyWebhook } from "../../sdk/src/webhooks.ts";

/** A webhook as it arrived, its signature already verified. */
export interface ReceivedWebhook {
  eventId: string;
  body: WebhookEvent;
  receivedAt: number;
}

const MAX_BODY_BYTES = 1_000_000;

/** An agent's own webhook receiver: verifies, answers 204 or 401 and keeps what came. */
export class WebhookReceiver {
  readonly #received: ReceivedWebhook[] = [];
  readonly #waiting = new Set<() => void>();
  #secret: string | undefined;
  #rejected = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      let raw = "";
      request.setEncoding("utf8");
      request.on("data", (chunk: string) => {
        raw += chunk;
        if (raw.length > MAX_BODY_BYTES) request.destroy();
      });
      request.on("end", () => {
        this.#take(request, raw).then(
          () => response.writeHead(204).end(),
          () => {
            this.#rejected += 1;
            response.writeHead(401).end();
          },
        );
      });
    });
  }

  /** Starts a receiver on a free port of loopback. */
  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  /** Address to give as `endpointUrl` or `callbackUrl`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  /** Webhooks that failed the verification. */
  get rejected(): number {
    return this.#rejected;
  }

  /** The agent's signing secret; without it every webhook is answered 401. */
  useSecret(secret: string): void {
    this.#secret = secret;
  }

  /** Everything that came and was verified, oldest first. */
  get received(): readonly ReceivedWebhook[] {
    return this.#received;
  }

  /** The first webhook of this event about this transaction, waiting for it at most `timeoutMs`. */
  async waitFor(event: string, transactionId: string, timeoutMs = 15_000): Promise<ReceivedWebhook> {
    const find = (): ReceivedWebhook | undefined =>
      this.#received.find(({ body }) => body.event === event && body["transactionId"] === transactionId);
    const deadline = Date.now() + timeoutMs;
    for (let found = find(); ; found = find()) {
      if (found !== undefined) return found;
      const remaining = deadline - Date.now();
      if (remaining <= 0) {
        throw new Error(`no webhook ${event} for ${transactionId} within ${timeoutMs} ms (${this.#rejected} rejected)`);
      }
      await this.#nextArrival(remaining);
    }
  }

  /** Stops listening. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Keeps a webhook; throws when it can't be trusted. */
  async #take({ headers }: IncomingMessage, rawBody: string): Promise<void> {
    const header = (name: string) => headers[name.toLowerCase()] as string | undefined;
    const body = await verifyWebhook({ rawBody, signature: header(SIGNATURE_HEADER), secret: this.#secret ?? [] });
    this.#received.push({ eventId: String(header(EVENT_ID_HEADER)), body, receivedAt: Date.now() });
    for (const wake of this.#waiting) wake();
  }

  #nextArrival(timeoutMs: number): Promise<void> {
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
