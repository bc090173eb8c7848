import { createHmac, timingSafeEqual } from "node:crypto";

import { WEBHOOK_SIGNATURE_TOLERANCE_SECONDS } from "../../../config/constants.ts";

const mac = (secret: string, timestamp: number | string, rawBody: string): Buffer =>
  createHmac("sha256", secret).update(`${timestamp}.${rawBody}`).digest();

/**
 * The value of `X-Service-Signature`: `t=<unix_seconds>,v1=<hmac_sha256_hex>` over `<t>.<raw_json_body>`.
 * @param timestamp unix seconds of the attempt
 */
export function signWebhook(secret: string, rawBody: string, timestamp: number): string {
  return `t=${timestamp},v1=${mac(secret, timestamp, rawBody).toString("hex")}`;
}

/** The prefix of secrets, before the key. */
const SECRET_PREFIX = "whsec_";

const keyOf = (secret: string): Buffer => Buffer.from(secret.slice(SECRET_PREFIX.length), "hex");

/** A secret in the format of Standard Webhooks libraries: the same key, in base64 instead of hexadecimal digits. */
export function standardSecretOf(secret: string): string {
  return `${SECRET_PREFIX}${keyOf(secret).toString("base64")}`;
}

/**
 * The value of `webhook-signature` (Standard Webhooks): `v1,<base64>` of the HMAC-SHA256 over `<id>.<timestamp>.<body>`. The key
 * is the 32 bytes of the secret, while `X-Service-Signature` uses the secret's text.
 */
export function signStandardWebhook(webhook: {
  eventId: string;
  bodyJson: string;
  secret: string;
  timestamp: number;
}): string {
  const { eventId, timestamp, bodyJson, secret } = webhook;
  const signature = createHmac("sha256", keyOf(secret)).update(`${eventId}.${timestamp}.${bodyJson}`).digest("base64");
  return `v1,${signature}`;
}

/**
 * Whether a received webhook was signed with the secret, by the receiver's rules. The header splits at the comma into `t`
 * and `v1`, and |now - t| is at most 300 seconds. The HMAC is compared in constant time. A receiver answers 401 if false.
 * @param rawBody the body as it arrived, before any parsing
 * @param now unix seconds
 */
export function verifyWebhookSignature(
  secret: string,
  header: string | undefined,
  rawBody: string,
  now: number,
): boolean {
  const parts = new Map(
    (header ?? "").split(",").map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? ([part, ""] as const) : ([part.slice(0, at).trim(), part.slice(at + 1).trim()] as const);
    }),
  );
  const timestamp = parts.get("t");
  const signature = parts.get("v1");
  if (timestamp === undefined || signature === undefined) return false;
  if (!/^\d{1,15}$/.test(timestamp) || !/^[0-9a-f]{64}$/.test(signature)) return false;
  if (Math.abs(now - Number(timestamp)) > WEBHOOK_SIGNATURE_TOLERANCE_SECONDS) return false;
  const expected = mac(secret, timestamp, rawBody);
  const given = Buffer.from(signature, "hex");
  return given.length === expected.length && timingSafeEqual(given, expected);
}
