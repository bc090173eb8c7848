import { inject } from "light-my-request";

import { CompoundCall, markInner } from "./compound-call.ts";
import type { RequestHandler } from "./connection-guard.ts";

/** An answer of the application to itself. */
export interface InsideAnswer {
  status: number;
  /** Parsed JSON. */
  body: unknown;
}

/** What several requests count as, once, for the client's address. */
const UNIT = { name: "inside", limitClass: "keyless", budget: "none" } as const;

/**
 * Asks the application's own public routes in this process, through the same pipeline as a client's requests, without any key.
 * Together they count as one keyless call of the client.
 * @param paths path and query by name
 * @param ip address of the client, following TRUST_PROXY
 */
export async function askInside<Name extends string>(
  handle: RequestHandler,
  paths: Readonly<Record<Name, string>>,
  ip: string,
): Promise<Record<Name, InsideAnswer>> {
  let call: CompoundCall | undefined;
  const ask = async (path: string): Promise<InsideAnswer> => {
    const headers = { host: "in.process", accept: "application/json", "x-forwarded-for": ip };
    const answer = await inject(
      (request, response) => {
        // The package's requests have no such view of their headers.
        const headersDistinct = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
        Object.defineProperty(request, "headersDistinct", { value: headersDistinct });
        const outer = { method: "GET", target: path, headers: {}, bodyBytes: Buffer.alloc(0), response };
        call ??= new CompoundCall({ outer, main: UNIT });
        markInner(request, call);
        void handle(request, response);
      },
      { method: "GET", url: path, headers, remoteAddress: ip },
    );
    return { status: answer.statusCode, body: parseJson(answer.payload) };
  };
  const names = Object.keys(paths) as Name[];
  const answers = await Promise.all(names.map(async (name) => [name, await ask(paths[name])] as const));
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
