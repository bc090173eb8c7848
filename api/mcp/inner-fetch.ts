import type { IncomingMessage } from "node:http";

import { inject } from "light-my-request";
import type { InjectOptions, Response as InjectedResponse } from "light-my-request";

import { markInner } from "../http/compound-call.ts";
import type { CompoundCall } from "../http/compound-call.ts";
import type { RequestHandler } from "../http/connection-guard.ts";

/** What the requests of a call take over from the client's. */
export interface InnerOptions {
  handle: RequestHandler;
  call: CompoundCall;
  /** The client's request. */
  request: IncomingMessage;
  requestId: string;
}

/** An answer of the API. */
export interface InnerAnswer {
  status: number;
  headers: Headers;
}

/** Headers by which the API knows the caller and the address of the client. Each may have several values. */
const PASSED_ON = ["authorization", "x-api-key", "x-forwarded-for"];
const WITHOUT_BODY = [204, 304];

/**
 * The application's own answer to a request, in this process, through the same pipeline as a client's. It has the client's address and
 * its key.
 */
export function answerInside(
  { handle, call, request, requestId }: InnerOptions,
  { headers: given, ...options }: InjectOptions & { headers: Readonly<Record<string, string>> },
): Promise<InjectedResponse> {
  const own = Object.entries(given).filter(([name]) => !PASSED_ON.includes(name));
  const passedOn = PASSED_ON.flatMap((name) => {
    const values = request.headersDistinct[name];
    return values === undefined ? [] : [[name, values] as const];
  });
  const headers = {
    ...Object.fromEntries(own),
    host: request.headers.host ?? "",
    "x-request-id": requestId,
    ...Object.fromEntries(passedOn),
  };
  return inject(
    (inner, response) => {
      // The package's requests have no such view of their headers.
      const headersDistinct = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, [value].flat()]),
      );
      Object.defineProperty(inner, "headersDistinct", { value: headersDistinct });
      markInner(inner, call);
      void handle(inner, response);
    },
    { ...options, headers, remoteAddress: request.socket.remoteAddress ?? "" },
  );
}

/**
 * A `fetch` whose requests the application itself answers.
 * @param note gets each answer
 */
export function innerFetch(inner: InnerOptions, note: (answer: InnerAnswer) => void): typeof globalThis.fetch {
  return async (address, { method = "GET", headers = {}, body } = {}) => {
    const { pathname, search } = new URL(address instanceof Request ? address.url : address);
    const answer = await answerInside(inner, {
      method,
      url: pathname + search,
      headers: headers as Record<string, string>,
      ...(typeof body === "string" ? { payload: body } : {}),
    });
    const { statusCode: status, rawPayload } = answer;
    const received = new Headers();
    for (const [name, value] of Object.entries(answer.headers)) {
      for (const one of [value].flat()) if (one !== undefined) received.append(name, String(one));
    }
    note({ status, headers: received });
    return new Response(WITHOUT_BODY.includes(status) ? null : rawPayload, { status, headers: received });
  };
}
