import type { Answer, KeptSession } from "../data/answers.ts";
import { send } from "../data/refresh.ts";

/** A request of the owner's page. */
export interface OwnRequest {
  method?: "GET" | "POST" | "DELETE";
  body?: unknown;
  aborted?: AbortSignal;
}

const LIMIT_MS = 20_000;
const UNAUTHORIZED = 401;
const FORBIDDEN = 403;

/** Sends a request of the page, with the session's token if it has one. Without an answer, the status is 0. */
export function askApi(
  path: string,
  { method = "GET", body, aborted }: OwnRequest = {},
  session?: KeptSession,
): Promise<Answer> {
  const headers = tokenHeader(session);
  return send(path, { method, body, headers, credentials: "same-origin", limitMs: LIMIT_MS, aborted });
}

/** The header with a session's token. */
export function tokenHeader(session: KeptSession | undefined): Record<string, string> {
  return session === undefined ? {} : { "x-session-token": session.token };
}

/** The code of a refusal; empty if it has none. */
export function codeOf({ body }: Answer): string {
  const { code } = (body ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** Whether an answer says that the session counts no longer: it has ended, or its cookie is another one's. */
export function saysEnded(answer: Answer): boolean {
  return answer.status === UNAUTHORIZED || (answer.status === FORBIDDEN && codeOf(answer) === "session_token_invalid");
}
