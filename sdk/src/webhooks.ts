// Everything that a webhook receiver needs. It uses only Web Crypto, so it also runs outside Node.
import { MarketplaceError } from "./errors.ts";

/** Header with the signature. */
export const SIGNATURE_HEADER = "X-Service-Signature";
/** Header with the event's id, the same for every attempt. */
export const EVENT_ID_HEADER = "X-Service-Event-Id";
/** How old or how far ahead a signature may be, in seconds. */
export const SIGNATURE_TOLERANCE_SECONDS = 300;

/** Why a webhook isn't trusted. */
export type WebhookFault = "missing_signature" | "malformed_signature" | "stale" | "wrong_signature" | "malformed_body";

/** The webhook isn't from the service, or it is too old. Answer 401. */
export class WebhookVerificationError extends MarketplaceError {
  override readonly name = "WebhookVerificationError";
  readonly fault: WebhookFault;

  constructor(fault: WebhookFault) {
    super(`the webhook can't be trusted: ${fault.replace("_", " ")}`);
    this.fault = fault;
  }
}

/** Body of a webhook: the event's name, its transaction and its other fields. Amounts are decimal strings in token units. */
export interface WebhookEvent {
  event: string;
  transactionId: string;
  [field: string]: unknown;
}

/** A received webhook. */
export interface IncomingWebhook {
  /** The raw body, unparsed: the signature covers every byte. */
  rawBody: string | Uint8Array;
  /** Value of {@link SIGNATURE_HEADER}. */
  signature: string | null | undefined;
  /** The agent's secret; during a rotation, the current and the next one. */
  secret: string | readonly string[];
}

/** Settings for the verification. */
export interface VerificationOptions {
  /** Tolerance in seconds; {@link SIGNATURE_TOLERANCE_SECONDS} by default. */
  toleranceSeconds?: number;
  /** Milliseconds since 1970, replaced in tests. */
  now?: number;
}

/**
 * Verifies a webhook's signature and its time, and returns its body. Signatures are compared in constant time.
 * @throws WebhookVerificationError if the webhook can't be trusted
 */
export async function verifyWebhook(
  webhook: IncomingWebhook,
  options: VerificationOptions = {},
): Promise<WebhookEvent> {
  const { toleranceSeconds = SIGNATURE_TOLERANCE_SECONDS, now = Date.now() } = options;
  const { rawBody, signature: header, secret } = webhook;
  if (header === null || header === undefined || header === "") throw new WebhookVerificationError("missing_signature");
  const parts = new Map(header.split(",").map((part) => part.split("=", 2) as [string, string | undefined]));
  const [timestamp, signature] = [parts.get("t"), parts.get("v1")];
  if (
    timestamp === undefined ||
    !/^\d{1,15}$/.test(timestamp) ||
    signature === undefined ||
    !/^[0-9a-f]{64}$/.test(signature)
  ) {
    throw new WebhookVerificationError("malformed_signature");
  }
  if (Math.abs(now / 1_000 - Number(timestamp)) > toleranceSeconds) throw new WebhookVerificationError("stale");
  const signed = joined(`${timestamp}.`, rawBody);
  const secrets = typeof secret === "string" ? [secret] : secret;
  const matches = await Promise.all(secrets.map((candidate) => isSigned(candidate, signature, signed)));
  if (!matches.includes(true)) throw new WebhookVerificationError("wrong_signature");
  return parseEvent(rawBody);
}

const encoder = new TextEncoder();
const algorithm = { name: "HMAC", hash: "SHA-256" };

/** Web Crypto's `verify` compares in constant time. */
async function isSigned(secret: string, signature: string, signed: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["verify"]);
  const bytes = Uint8Array.from(signature.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return crypto.subtle.verify(algorithm, key, bytes, signed);
}

function joined(prefix: string, rawBody: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const head = encoder.encode(prefix);
  const body = typeof rawBody === "string" ? encoder.encode(rawBody) : rawBody;
  const whole = new Uint8Array(head.length + body.length);
  whole.set(head);
  whole.set(body, head.length);
  return whole;
}

function parseEvent(rawBody: string | Uint8Array): WebhookEvent {
  try {
    return JSON.parse(typeof rawBody === "string" ? rawBody : new TextDecoder().decode(rawBody)) as WebhookEvent;
  } catch {
    throw new WebhookVerificationError("malformed_body");
  }
}
