import { request as requestHttp } from "node:http";
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";

import type { ResolvedAddress } from "./host-resolver.ts";

/** A request to an address that a stranger named. */
export interface PinnedRequest {
  method: "GET" | "POST";
  headers: OutgoingHttpHeaders;
  body?: string;
  /** The checked addresses of the URL's name: no other one gets a connection. */
  addresses: readonly ResolvedAddress[];
  /** Ends the exchange, the reading of the answer included. */
  signal: AbortSignal;
  /** Certificate authorities to trust instead of the well-known ones. */
  ca?: string | undefined;
}

/** Bytes of all interim answers, and of the final one's head. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Bytes of a status line beside its text: `HTTP/1.1 103 `, its line break, and the empty line at the head's end. */
const STATUS_LINE_BYTES = 17;
/** Bytes beside the name or the value of a header: `: ` or a line break. */
const HEADER_PART_BYTES = 2;
const TOO_LONG = `no answer within ${MAX_HEAD_BYTES} bytes`;
const UNASKED_PROTOCOL = "the server switches to a protocol that nobody asked for";

/**
 * A lookup that returns only the checked addresses, so it doesn't matter if the name resolves to something else a
 * moment later (DNS rebinding). TLS still verifies the certificate against the name.
 */
function pinnedLookup(addresses: readonly ResolvedAddress[]): LookupFunction {
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

/** Refuses interim answers that together are larger than the head of one answer may be. */
function boundInterimAnswers(request: ClientRequest, refuse: (why: string) => void): void {
  let interimBytes = 0;
  request.on("information", ({ rawHeaders, statusMessage }) => {
    interimBytes += STATUS_LINE_BYTES + statusMessage.length;
    for (const text of rawHeaders) interimBytes += HEADER_PART_BYTES + text.length;
    if (interimBytes > MAX_HEAD_BYTES) refuse(TOO_LONG);
  });
  // The parser skips empty lines between two answers, so they are counted where they arrive.
  let receivedBytes = 0;
  let isAnswered = false;
  request.once("response", () => {
    isAnswered = true;
  });
  request.on("socket", (socket) => {
    socket.on("data", (chunk: Buffer) => {
      receivedBytes += chunk.length;
      if (!isAnswered && receivedBytes > MAX_HEAD_BYTES) refuse(TOO_LONG);
    });
  });
}

/**
 * Makes one request on a connection of its own, and closes it once `read` is done with the answer. Follows no
 * redirect, decompresses nothing, and takes any number of interim answers (RFC 9110, 15.2) before the final one, which
 * is why this isn't undici: it closes the connection at `100 Continue`.
 * @throws Error if no answer comes, or none with a head within its bound; and what `read` throws
 */
export async function pinnedExchange<T>(
  url: URL,
  options: PinnedRequest,
  read: (answer: IncomingMessage) => Promise<T>,
): Promise<T> {
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  const request = send(url, {
    method: options.method,
    headers: options.headers,
    signal: options.signal,
    ca: options.ca,
    agent: false,
    lookup: pinnedLookup(options.addresses),
    maxHeaderSize: MAX_HEAD_BYTES,
  });
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const refuse = (why: string): void => {
        reject(new Error(why));
        request.destroy();
      };
      boundInterimAnswers(request, refuse);
      request.on("upgrade", (_answer, socket) => {
        socket.destroy();
        refuse(UNASKED_PROTOCOL);
      });
      request.on("response", (response) => {
        // A body that breaks off is noticed where it is read.
        response.on("error", () => undefined);
        if (response.statusCode === 101) refuse(UNASKED_PROTOCOL);
        else resolve(response);
      });
      request.on("error", reject);
      request.on("close", () => {
        reject(new Error("the server closed the connection without an answer"));
      });
      request.end(options.body);
    });
    return await read(answer);
  } finally {
    request.destroy();
  }
}
