import type { Answer, Answers, ApiRequest } from "./answers.ts";

const LIMIT_MS = 10_000;

/** Asks the API for the answers of a page. One that can't be had has status 0. */
export async function readAnswers(requests: Readonly<Record<string, ApiRequest>>): Promise<Answers> {
  const asked = Object.entries(requests).map(async ([name, request]) => [name, await readAnswer(request)] as const);
  return Object.fromEntries(await Promise.all(asked));
}

/** Asks the API once, as anyone. Without an answer, or once the signal aborts, the status is 0. */
export function readAnswer(request: ApiRequest, aborted?: AbortSignal): Promise<Answer> {
  const { path, body } = typeof request === "string" ? { path: request } : request;
  const method = body === undefined ? "GET" : "POST";
  return send(path, { method, body, credentials: "omit", limitMs: LIMIT_MS, aborted });
}

/** A request as it is sent. */
export interface Sending {
  method: string;
  /** Sent as JSON; undefined for a request without a body. */
  body: unknown;
  headers?: Readonly<Record<string, string>>;
  credentials: "omit" | "same-origin";
  /** How long the answer may take, in milliseconds. */
  limitMs: number;
  aborted: AbortSignal | undefined;
}

/** Sends a request to the API. Without an answer, or once the signal aborts, the status is 0. */
export async function send(
  path: string,
  { method, body, headers = {}, credentials, limitMs, aborted }: Sending,
): Promise<Answer> {
  const limit = AbortSignal.timeout(limitMs);
  const content: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
  try {
    const response = await fetch(path, {
      method,
      headers: { accept: "application/json", ...content, ...headers },
      credentials,
      signal: aborted === undefined ? limit : AbortSignal.any([limit, aborted]),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const retryAfter = response.headers.get("retry-after");
    return {
      status: response.status,
      body: await response.json(),
      ...(retryAfter === null ? {} : { retryAfterSeconds: Number(retryAfter) }),
    };
  } catch {
    return { status: 0, body: undefined };
  }
}
