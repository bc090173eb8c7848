import type { Readable } from "node:stream";

import {
  EVENT_ID_HEADER,
  SIGNATURE_HEADER,
  STANDARD_HEADERS,
  WEBHOOK_ATTEMPT_TIMEOUT_MS,
} from "../../../config/constants.ts";
import { untilAborted } from "../../../lib/stopping.ts";
import type { AttemptResult } from "../../outbox/model.ts";
import { checkAddress } from "../../../outbound/address-check.ts";
import { createHostResolver } from "../../../outbound/host-resolver.ts";
import type { ResolveHost } from "../../../outbound/host-resolver.ts";
import { pinnedExchange } from "../../../outbound/pinned-exchange.ts";
import type { PinnedRequest } from "../../../outbound/pinned-exchange.ts";
import { signStandardWebhook, signWebhook } from "../secrets/signature.ts";

/** A webhook to send. */
export interface OutgoingWebhook {
  url: string;
  eventId: string;
  bodyJson: string;
  secret: string;
  /** Unix seconds of this attempt. */
  timestamp: number;
}

/** Sends signed webhooks to addresses that pass the address check. */
export interface WebhookSender {
  /**
   * Makes one attempt. Never throws: a failure is in the result.
   * @param stop aborts the attempt
   */
  send(webhook: OutgoingWebhook, stop?: AbortSignal): Promise<AttemptResult>;
}

/** Settings of the sender. */
export interface WebhookSenderOptions {
  allowedPrivateHosts: readonly string[];
  resolve?: ResolveHost;
  /** Timeout of an attempt in milliseconds, including name resolution; default 10 s. */
  timeoutMs?: number;
}

const MAX_ERROR_LENGTH = 200;
/** Bytes of an answer's body that are kept for the owner's log. Only the status counts. */
const KEPT_ANSWER_BYTES = 1_024;
/** How long to wait for the body after the status, in milliseconds. */
const ANSWER_PATIENCE_MS = 1_000;

function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const text = cause instanceof Error ? cause.message || cause.name : String(cause);
  return text.slice(0, MAX_ERROR_LENGTH);
}

/** The start of an answer's body. Never throws; omits the bytes that can't be read in time. */
async function readStart(body: Readable, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  const timer = setTimeout(() => body.destroy(), ANSWER_PATIENCE_MS);
  const stop = () => body.destroy();
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= KEPT_ANSWER_BYTES) break;
    }
  } catch {
    // The chunks read so far are kept.
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    body.destroy();
  }
  return Buffer.concat(chunks).subarray(0, KEPT_ANSWER_BYTES).toString("utf8");
}

/** Creates a sender that resolves the name and opens a new connection for every attempt. */
export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const resolve = options.resolve ?? createHostResolver({ systemHosts: options.allowedPrivateHosts });
  const timeoutMs = options.timeoutMs ?? WEBHOOK_ATTEMPT_TIMEOUT_MS;

  /** The result of an attempt without its latency. */
  type Outcome = Omit<AttemptResult, "latencyMs">;

  async function post(webhook: OutgoingWebhook, signal: AbortSignal, onStatus: () => void): Promise<Outcome> {
    const url = new URL(webhook.url);
    const verdict = await untilAborted(checkAddress(url, resolve, options.allowedPrivateHosts, signal), signal);
    if (!verdict.allowed) return { outcome: "dropped", statusCode: null, error: verdict.reason, answer: null };
    const posting: PinnedRequest = {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(webhook.bodyJson),
        "user-agent": "agent-marketplace-webhooks/1",
        [SIGNATURE_HEADER]: signWebhook(webhook.secret, webhook.bodyJson, webhook.timestamp),
        [EVENT_ID_HEADER]: webhook.eventId,
        [STANDARD_HEADERS.id]: webhook.eventId,
        [STANDARD_HEADERS.timestamp]: String(webhook.timestamp),
        [STANDARD_HEADERS.signature]: signStandardWebhook(webhook),
      },
      body: webhook.bodyJson,
      addresses: verdict.addresses,
      signal,
    };
    // Redirects aren't followed, so a 3xx counts as not acknowledged.
    return pinnedExchange(url, posting, async (response): Promise<Outcome> => {
      onStatus();
      const answer = await readStart(response, signal);
      const { statusCode = 0 } = response;
      if (statusCode >= 200 && statusCode < 300) return { outcome: "acknowledged", statusCode, error: null, answer };
      return { outcome: "refused", statusCode, error: `the receiver answered ${statusCode}`, answer };
    });
  }

  return {
    async send(webhook, stop) {
      const timedOut = AbortSignal.timeout(timeoutMs);
      const signal = stop === undefined ? timedOut : AbortSignal.any([timedOut, stop]);
      const startedAt = performance.now();
      let latencyMs: number | undefined;
      const msSoFar = () => Math.round(performance.now() - startedAt);
      try {
        const outcome = await post(webhook, signal, () => {
          latencyMs = msSoFar();
        });
        return { ...outcome, latencyMs: latencyMs ?? msSoFar() };
      } catch (error) {
        const text = timedOut.aborted ? `no answer within ${timeoutMs} ms` : describe(error);
        return { outcome: "unreachable", statusCode: null, error: text, latencyMs: msSoFar(), answer: null };
      }
    },
  };
}
