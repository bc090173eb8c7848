import type { IncomingMessage } from "node:http";

import { inject } from "light-my-request";

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
 * A `fetch` whose requests the application itself answers, in this process, through the same pipeline as a client's. They have the
 * client's address and its key.
 * @param note gets each answer
 */
export function innerFetch(
  { handle, call, request, requestId }: InnerOptions,
  note: (answer: InnerAnswer) => void,
): typeof globalThis.fetch {
  const passedOn = Object.fromEntries(
    PASSED_ON.flatMap((name) => {
      const values = request.headersDistinct[name];
      return values === undefined ? [] : [[name, values] as const];
    }),
  );
  return async (address, { method = "GET", headers: given = {}, body } = {}) => {
    const { pathname, search } = new URL(address instanceof Request ? address.url : address);
    const own = Object.entries(given as Record<string, string>).filter(([name]) => !PASSED_ON.includes(name));
    const headers = {
      ...Object.fromEntries(own),
      host: request.headers.host ?? "",
      "x-request-id": requestId,
      ...passedOn,
    };
    const answer = await inject(
      (inner, response) => {
        // The package's requests have no such view of their headers.
        const headersDistinct = Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, [value].flat()]),
        );
        Object.defineProperty(inner, "headersDistinct", { value: headersDistinct });
        markInner(inner, call);
        void handle(inner, response);
      },
      {
        method: method as "GET",
        url: pathname + search,
        headers,
        remoteAddress: request.socket.remoteAddress ?? "",
        ...(typeof body === "string" ? { payload: body } : {}),
      },
    );
    const { statusCode: status, rawPayload } = answer;
    const received = new Headers();
    for (const [name, value] of Object.entries(answer.headers)) {
      for (const one of [value].flat()) if (one !== undefined) received.append(name, String(one));
    }
    note({ status, headers: received });
    return new Response(WITHOUT_BODY.includes(status) ? null : rawPayload, { status, headers: received });
  };
}
