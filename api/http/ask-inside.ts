import { inject } from "light-my-request";

import type { ClientClass } from "./admission.ts";
import { CompoundCall, markInner } from "./compound-call.ts";
import type { RequestHandler } from "./connection-guard.ts";

/** A request of the application to itself: path and query, or also a body that is posted. */
export type InsideRequest = string | { path: string; body: unknown };

/** An answer of the application to itself. */
export interface InsideAnswer {
  status: number;
  /** Parsed JSON. */
  body: unknown;
  /** When a refused client may ask again. */
  retryAfterSeconds?: number;
}

/** What several requests count as, once, for the client's address. */
const UNIT = { name: "inside", budget: "none" } as const;

/**
 * Asks the application's own public routes in this process, through the same pipeline as a client's requests, without any key.
 * Together they count as one call of the client.
 * @param requests by name
 * @param ip address of the client, following TRUST_PROXY
 * @param limitClass what the call counts towards
 */
export async function askInside<Name extends string>(
  handle: RequestHandler,
  requests: Readonly<Record<Name, InsideRequest>>,
  ip: string,
  limitClass: ClientClass = "keyless",
): Promise<Record<Name, InsideAnswer>> {
  let call: CompoundCall | undefined;
  const ask = async (asked: InsideRequest): Promise<InsideAnswer> => {
    const { path, body } = typeof asked === "string" ? { path: asked } : asked;
    const method = body === undefined ? "GET" : "POST";
    const payload = body === undefined ? "" : JSON.stringify(body);
    const headers = {
      host: "in.process",
      accept: "application/json",
      "x-forwarded-for": ip,
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": String(Buffer.byteLength(payload)) }),
    };
    const answer = await inject(
      (request, response) => {
        // The package's requests have no such view of their headers.
        const headersDistinct = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
        Object.defineProperty(request, "headersDistinct", { value: headersDistinct });
        const outer = { method, target: path, headers: {}, bodyBytes: Buffer.alloc(0), response };
        call ??= new CompoundCall({ outer, main: { ...UNIT, limitClass } });
        markInner(request, call);
        void handle(request, response);
      },
      { method, url: path, headers, payload, remoteAddress: ip },
    );
    const retryAfter = Number(answer.headers["retry-after"] ?? NaN);
    return {
      status: answer.statusCode,
      body: parseJson(answer.payload),
      ...(Number.isFinite(retryAfter) ? { retryAfterSeconds: retryAfter } : {}),
    };
  };
  const names = Object.keys(requests) as Name[];
  const answers = await Promise.all(names.map(async (name) => [name, await ask(requests[name])] as const));
  await call?.end();
  return Object.fromEntries(answers) as Record<Name, InsideAnswer>;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
