import type { Answer, KeptSession } from "../data/answers.ts";
import { send } from "../data/refresh.ts";

/** A request of the owner's page. */
export interface OwnRequest {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  body?: unknown;
  /** A repeat with the same key isn't done twice. */
  operation?: string;
  aborted?: AbortSignal;
}

const LIMIT_MS = 20_000;
const UNAUTHORIZED = 401;
const FORBIDDEN = 403;

/** Sends a request of the page, with the session's token if it has one. Without an answer, the status is 0. */
export function askApi(
  path: string,
  { method = "GET", body, operation, aborted }: OwnRequest = {},
  session?: KeptSession,
): Promise<Answer> {
  const headers = {
    ...tokenHeader(session),
    ...(operation === undefined ? {} : { "idempotency-key": operation }),
  };
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

/** An answer without the data that were asked for. */
export class Refused extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`Status ${answer.status}`);
    this.answer = answer;
  }
}

const OK = 200;
const NOT_FOUND = 404;

/** The body of an answer to the session. @throws Refused for any other status than 200 */
export async function readOwn<Body>(session: KeptSession, path: string, request: OwnRequest = {}): Promise<Body> {
  const answer = await askApi(path, request, session);
  if (answer.status !== OK) throw new Refused(answer);
  return answer.body as Body;
}

/** The same for what a page can do without: undefined if it can't be had. @throws Refused once the session has ended */
export async function readIfThere<Body>(
  session: KeptSession,
  path: string,
  request: OwnRequest = {},
): Promise<Body | undefined> {
  try {
    return await readOwn<Body>(session, path, request);
  } catch (error) {
    if (!(error instanceof Refused) || saysEnded(error.answer)) throw error;
    return undefined;
  }
}

/** What reading a page came to. */
export type Reading<Data> =
  { kind: "there"; data: Data } | { kind: "ended" } | { kind: "missing" | "failed"; answer: Answer };

/** Reads what a page shows. Answers without data say what became of it. */
export async function readPage<Data>(read: () => Promise<Data>): Promise<Reading<Data>> {
  try {
    return { kind: "there", data: await read() };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { answer } = error;
    if (saysEnded(answer)) return { kind: "ended" };
    // To its seller, a deal isn't there before the deposit is.
    const isMissing = answer.status === NOT_FOUND || codeOf(answer) === "transaction_not_funded";
    return { kind: isMissing ? "missing" : "failed", answer };
  }
}
