import type { Answer, Answers, ApiRequest } from "./answers.ts";

const LIMIT_MS = 10_000;

/** Asks the API for the answers of a page. One that can't be had has status 0. */
export async function readAnswers(requests: Readonly<Record<string, ApiRequest>>): Promise<Answers> {
  const asked = Object.entries(requests).map(async ([name, request]) => [name, await readAnswer(request)] as const);
  return Object.fromEntries(await Promise.all(asked));
}

/** Asks the API once. Without an answer, or once the signal aborts, the status is 0. */
export async function readAnswer(request: ApiRequest, aborted?: AbortSignal): Promise<Answer> {
  const { path, body } = typeof request === "string" ? { path: request } : request;
  const limit = AbortSignal.timeout(LIMIT_MS);
  try {
    const response = await fetch(path, {
      headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) },
      credentials: "omit",
      signal: aborted === undefined ? limit : AbortSignal.any([limit, aborted]),
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
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
