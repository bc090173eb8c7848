import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

import type { Clock } from "../lib/clock.ts";
import { newId } from "../lib/ids.ts";
import type { Metrics } from "../lib/metrics.ts";
import { ApiError } from "./errors.ts";
import type { ErrorCode } from "./errors.ts";

/** Dependencies of the answers to requests that the HTTP parser gives up on. */
export interface ClientErrorOptions {
  /** Headers of every answer. */
  defaultHeaders: Readonly<Record<string, string>>;
  clock: Clock;
  metrics: Pick<Metrics, "answered">;
}

const CODES: Readonly<Record<string, ErrorCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
  HPE_HEADER_OVERFLOW: "headers_too_large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "payload_too_large",
};

/** Something came behind a request with `Connection: close`. */
const BEHIND_THE_LAST = "HPE_CLOSED_CONNECTION";

/** The response that Node is writing to a socket, if any. */
type WithResponse = Socket & { _httpMessage?: { headersSent: boolean } | null };

/**
 * Answers what never became a request (not HTTP, headers too large, too slow) like every other error, and closes the
 * connection. Koa doesn't see it, and Node's own answer has neither a body nor the rate-limit headers.
 */
export function answerClientError({ defaultHeaders, clock, metrics }: ClientErrorOptions) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    // The connection ends with an answer that was given or will be, and what comes behind that is read for nothing.
    if (socket.writableEnded || error.code === BEHIND_THE_LAST) return;
    // Part of another answer is already on its way, or nobody listens any more.
    if (!socket.writable || (socket as WithResponse)._httpMessage?.headersSent === true) {
      socket.destroy();
      return;
    }
    const answer = new ApiError(CODES[error.code ?? ""] ?? "malformed_request");
    const body = JSON.stringify(answer.toBody());
    const headers: Record<string, string> = {
      ...defaultHeaders,
      "X-Request-Id": newId("req", clock.now()),
      "Content-Type": "application/json; charset=utf-8",
      "Content-Length": String(Buffer.byteLength(body)),
      Connection: "close",
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const { status, code } = answer;
    metrics.answered({ method: "other", route: "(none)", status, code, seconds: 0 });
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
    socket.destroySoon();
  };
}
