import type { ApiMutant } from "./api-mutant.ts";

const PAGES = "http/page-session.ts";
const ADMISSION_CONTROL = "features/limits/admission-control.ts";
const USE = "features/limits/session-use.ts";
const SESSIONS = "features/sessions/sessions.ts";
const ROUTES = "features/sessions/routes.ts";
const SIGN_IN = "features/identity/sign-in-message.ts";
const KEYS = "features/identity/keys.ts";
const MANAGEMENT = "features/sessions/key-management.ts";
const SIGNED_TEXTS = "features/sessions/signed-texts.ts";
const SCOPES = "http/scopes.ts";
const STREAMS = "features/events/streams.ts";
const TESTS = ["sessions/sessions.test.ts"];
const OF_KEYS = ["sessions/keys.test.ts"];
const OF_SECRET = ["sessions/webhook-secret.test.ts"];
const OF_SCOPES = ["identity/scopes.test.ts", "checkout/approvals.test.ts"];
const OF_STREAMS = ["events/stream.test.ts"];
const OVER_HTTP = ["sessions/transport.test.ts"];

/** Faults in what the sessions of web pages let others do. */
export const SESSION_FAULTS: ApiMutant[] = [
  {
    fault: "a page of the same site may use the session",
    file: PAGES,
    from: 'sites[0] === "same-origin" &&',
    to: 'sites[0]?.startsWith("same-") === true &&',
    tests: TESTS,
  },
  {
    fault: "a browser that doesn't say where a request comes from may use the session",
    file: PAGES,
    from: "sites.length === 1 &&\n      sites[0] ===",
    to: 'sites.length <= 1 &&\n      (sites[0] ?? "same-origin") ===',
    tests: TESTS,
  },
  {
    fault: "another origin may use the session if its browser calls it the same",
    file: PAGES,
    from: ".every((origin) => origin === this.origin)",
    to: ".every((origin) => origin.length > 0)",
    tests: TESTS,
  },
  {
    fault: "on loopback the cookie alone reads",
    file: PAGES,
    from: 'this.#transport === "loopback" || !READING.includes(page.method)',
    to: "!READING.includes(page.method)",
    tests: OVER_HTTP,
  },
  {
    fault: "pages sign in over http anywhere",
    file: PAGES,
    from: 'return this.#transport !== "insecure";',
    to: "return this.#cookie.length > 0;",
    tests: OVER_HTTP,
  },
  {
    fault: "a session counts on every path",
    file: PAGES,
    from: " || !page.path.startsWith(API_PATH)) return undefined;",
    to: ") return undefined;",
    tests: TESTS,
  },
  {
    fault: "any token will do",
    file: ADMISSION_CONTROL,
    from: "if (given !== undefined && given !== held.tokenHash) {",
    to: "if (given !== undefined && given.length !== held.tokenHash.length) {",
    tests: TESTS,
  },
  {
    fault: "any token signs out",
    file: ROUTES,
    from: "if (tokenHash !== undefined && tokenHash !== session.tokenHash)",
    to: "if (tokenHash !== undefined && tokenHash.length !== session.tokenHash.length)",
    tests: TESTS,
  },
  {
    fault: "a session beside a key counts, too",
    file: ADMISSION_CONTROL,
    from: 'key === "absent" && auth === "apiKey" ? sessions.read',
    to: 'auth === "apiKey" ? sessions.read',
    tests: TESTS,
  },
  {
    fault: "another origin may sign its visitor in",
    file: ROUTES,
    from: "headers.origin !== pageSessions.origin || !pageSessions.isSameOrigin(headers)",
    to: "headers.origin === undefined || headers.origin.length === 0",
    tests: TESTS,
  },
  {
    fault: "a read-only text opens a session that acts",
    file: SIGN_IN,
    from: "namesOnlySession(statement) && !NAMES_READING.test(statement)",
    to: "namesOnlySession(statement)",
    tests: TESTS,
  },
  {
    fault: "one text opens any number of sessions",
    file: SESSIONS,
    from: "await models.nonces.create([nonceRecord(accepted)], { session });",
    to: "",
    tests: TESTS,
  },
  {
    fault: "an agent has any number of sessions",
    file: SESSIONS,
    from: "$expr: { $lt: [open, SESSIONS_AT_ONCE] }",
    to: "$expr: { $gte: [open, 0] }",
    tests: TESTS,
  },
  {
    fault: "sessions that have ended count among the ten",
    file: SESSIONS,
    from: "keysThat({ $and: [isLive, isSession] })",
    to: "keysThat(isSession)",
    tests: TESTS,
  },
  {
    fault: "a session that is used never ends",
    file: USE,
    from: "now.getTime() + SESSION_IDLE_SECONDS * 1_000, endsAt.getTime())",
    to: "now.getTime() + SESSION_IDLE_SECONDS * 1_000, Infinity)",
    tests: TESTS,
  },
  {
    fault: "sessions are listed as keys",
    file: KEYS,
    from: "session === undefined && (expiresAt === null || expiresAt > now)",
    to: "(session === undefined || session !== null) && (expiresAt === null || expiresAt > now)",
    tests: TESTS,
  },
  {
    fault: "any wallet's signature manages the keys",
    file: SIGNED_TEXTS,
    from: "accepted.address.toLowerCase() !== walletAddress.toLowerCase()",
    to: "accepted.address.length !== walletAddress.length",
    tests: OF_KEYS,
  },
  {
    fault: "one text manages keys any number of times",
    file: SIGNED_TEXTS,
    from: "await models.nonces.create(nonceRecord(accepted));",
    to: "nonceRecord(accepted);",
    tests: OF_KEYS,
  },
  {
    fault: "a text that lists keys revokes one",
    file: MANAGEMENT,
    from: 'if (asked.action === "revoke") return',
    to: 'if (asked.action === "revoke" && Date.now() === 0) return',
    tests: OF_KEYS,
  },
  {
    fault: "a text for one action on the webhook secret does another",
    file: ROUTES,
    from: "SECRET_STATEMENTS[action], text",
    to: 'SECRET_STATEMENTS[action === "activate" ? "rotate" : action], text',
    tests: OF_SECRET,
  },
  {
    fault: "keys with a mandate may do what pages may",
    file: SCOPES,
    from: "caller?.isSession === true ? pageScope : scope",
    to: "pageScope",
    tests: OF_SCOPES,
  },
  {
    fault: "a page's session may do no more than a key with a mandate",
    file: SCOPES,
    from: "caller?.isSession === true ? pageScope : scope",
    to: "scope",
    tests: OF_SCOPES,
  },
  {
    fault: "a session has any number of event streams",
    file: STREAMS,
    from: "? [keyId, STREAMS_PER_SESSION]",
    to: "? [keyId, STREAMS_PER_SESSION + 1]",
    tests: OF_STREAMS,
  },
  {
    fault: "a session's event stream is among its agent's five",
    file: STREAMS,
    from: "? [keyId, STREAMS_PER_SESSION]",
    to: "? [agentId, STREAMS_PER_SESSION]",
    tests: OF_STREAMS,
  },
];
