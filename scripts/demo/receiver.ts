import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A webhook as it arrived, its signature already verified. */
export interface ReceivedWebhook {
  eventId: string;
  body: Record<string, unknown> & { event: string };
  receivedAt: number;
}

const TOLERANCE_SECONDS = 300;
const MAX_BODY_BYTES = 1_000_000;

/**
 * Whether `header` (`t=<unix seconds>,v1=<hex>`) signs `rawBody` with `secret`, by the receiver's rules of
 * specification section 6: split at the comma, at most 300 seconds old or ahead, constant-time comparison.
 */
export function isSignedBy(secret: string, header: string | undefined, rawBody: string, nowSeconds: number): boolean {
  const parts = new Map((header ?? "").split(",").map((part) => part.split("=", 2) as [string, string | undefined]));
  const [t, v1] = [parts.get("t"), parts.get("v1")];
  if (t === undefined || v1 === undefined || !/^\d+$/.test(t)) return false;
  if (Math.abs(nowSeconds - Number(t)) > TOLERANCE_SECONDS) return false;
  const expected = Buffer.from(createHmac("sha256", secret).update(`${t}.${rawBody}`).digest("hex"));
  const given = Buffer.from(v1);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

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
        const header = request.headers["x-service-signature"];
        const signature = Array.isArray(header) ? header.join(",") : header;
        if (this.#secret === undefined || !isSignedBy(this.#secret, signature, raw, Date.now() / 1000)) {
          this.#rejected += 1;
          response.writeHead(401).end();
          return;
        }
        const body = JSON.parse(raw) as ReceivedWebhook["body"];
        this.#received.push({ eventId: String(request.headers["x-service-event-id"]), body, receivedAt: Date.now() });
        response.writeHead(204).end();
        for (const wake of this.#waiting) wake();
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
