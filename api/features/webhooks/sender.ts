import type { LookupFunction } from "node:net";

import { Agent, request } from "undici";

import { EVENT_ID_HEADER, SIGNATURE_HEADER, WEBHOOK_ATTEMPT_TIMEOUT_MS } from "../../config/constants.ts";
import type { AttemptResult } from "../outbox/model.ts";
import { checkAddress } from "./address-check.ts";
import { createHostResolver } from "./host-resolver.ts";
import type { ResolvedAddress, ResolveHost } from "./host-resolver.ts";
import { signWebhook } from "./signature.ts";

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
  /** Timeout of an attempt in milliseconds, including name resolution; default 10 s (specification 6). */
  timeoutMs?: number;
}

const MAX_ERROR_LENGTH = 200;
/** Only the status of an answer counts. At most this many bytes of its body are read, and discarded. */
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * A lookup that returns only the checked addresses, so it doesn't matter if the name resolves to something else a
 * moment later (specification 9, DNS rebinding). TLS still verifies the certificate against the name.
 */
export function pinnedLookup(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    if (options.all === true) {
      callback(null, [...addresses]);
      return;
    }
    const [first] = addresses;
    if (first === undefined) callback(new Error("no address was checked"), "", 0);
    else callback(null, first.address, first.family);
  };
}

function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const text = cause instanceof Error ? cause.message || cause.name : String(cause);
  return text.slice(0, MAX_ERROR_LENGTH);
}

/** A sender that resolves the name again and opens its own connection for every attempt. */
export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const resolve = options.resolve ?? createHostResolver({ systemHosts: options.allowedPrivateHosts });
  const timeoutMs = options.timeoutMs ?? WEBHOOK_ATTEMPT_TIMEOUT_MS;

  async function post(webhook: OutgoingWebhook, signal: AbortSignal): Promise<AttemptResult> {
    const url = new URL(webhook.url);
    const verdict = await abortable(checkAddress(url, resolve, options.allowedPrivateHosts, signal), signal);
    if (!verdict.allowed) return { outcome: "dropped", statusCode: null, error: verdict.reason };
    const dispatcher = new Agent({
      connect: { lookup: pinnedLookup(verdict.addresses), timeout: timeoutMs, autoSelectFamily: true },
      maxResponseSize: MAX_ANSWER_BYTES,
      pipelining: 0,
    });
    try {
      // undici's request doesn't follow redirects, so a 3xx counts as not acknowledged.
      const response = await request(url, {
        method: "POST",
        dispatcher,
        signal,
        headers: {
          "content-type": "application/json",
          "user-agent": "agent-marketplace-webhooks/1",
          [SIGNATURE_HEADER]: signWebhook(webhook.secret, webhook.bodyJson, webhook.timestamp),
          [EVENT_ID_HEADER]: webhook.eventId,
        },
        body: webhook.bodyJson,
      });
      // Only the status counts. A body that never ends must not hold up the attempt.
      response.body.on("error", () => undefined);
      response.body.destroy();
      const { statusCode } = response;
      if (statusCode >= 200 && statusCode < 300) return { outcome: "acknowledged", statusCode, error: null };
      return { outcome: "refused", statusCode, error: `the receiver answered ${statusCode}` };
    } finally {
      await dispatcher.destroy();
    }
  }

  return {
    async send(webhook, stop) {
      const timedOut = AbortSignal.timeout(timeoutMs);
      const signal = stop === undefined ? timedOut : AbortSignal.any([timedOut, stop]);
      try {
        return await post(webhook, signal);
      } catch (error) {
        const text = timedOut.aborted ? `no answer within ${timeoutMs} ms` : describe(error);
        return { outcome: "unreachable", statusCode: null, error: text };
      }
    },
  };
}

/** Waits for work that can't be stopped, but only until the signal aborts. */
async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return Promise.race([
    work,
    new Promise<never>((_, reject) => {
      signal.addEventListener(
        "abort",
        () => {
          reject(signal.reason as Error);
        },
        { once: true },
      );
    }),
  ]);
}
