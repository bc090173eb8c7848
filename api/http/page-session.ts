import { sha256Hex } from "../lib/ids.ts";
import { ApiError } from "./errors.ts";
import type { ErrorCode } from "./errors.ts";
import type { Scope } from "./scopes.ts";

/** Where pages may sign in: over https, or over http on the machine's own loopback; elsewhere anyone on the way could read the cookie. */
type Transport = "https" | "loopback" | "insecure";

/** The request of a page: its method and its path without the query. */
export interface PageRequest {
  method: string;
  path: string;
}

/** A session that a request presents. Whether it exists isn't known yet. */
export interface PresentedSession {
  /** SHA-256 of the session's id. */
  hash: string;
  /** SHA-256 of the session's token; undefined if the request needs none. */
  tokenHash: string | undefined;
}

/** Codes of the answers to a session that doesn't count. */
export const SESSION_ERRORS = [
  "session_ended",
  "session_other_origin",
  "session_token_invalid",
] as const satisfies readonly ErrorCode[];
export type SessionError = (typeof SESSION_ERRORS)[number];

/** What a request presents: undefined without a session. */
export type SessionReading = PresentedSession | { refusal: SessionError } | undefined;

/** Headers by lower-case name, as Node has them in either form. */
type AnyHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The header with a session's token. No form and no other site's script can set it. */
export const TOKEN_HEADER = "X-Session-Token";

/** The names of the machine's own loopback, as a URL has them. */
export const LOOPBACK_NAMES: readonly string[] = ["127.0.0.1", "localhost", "[::1]"];
const READING = ["GET", "HEAD"];
const API_PATH = "/api/v1/";
/** 256 random bits. Keys begin with `svc_`, so no key is taken for a session, and no session for a key. */
const SESSION_ID = /^[0-9a-f]{64}$/;

/** Seconds after which a session ends that isn't used. */
export const SESSION_IDLE_SECONDS = 1_800;
/** Seconds after which every session ends. */
export const SESSION_MAX_SECONDS = 43_200;

/** Whether a page sent a request, of this service or of another: its browser says so. A program that does counts as one. */
export function isFromPage(headers: AnyHeaders): boolean {
  return headers["sec-fetch-site"] !== undefined || headers["origin"] !== undefined;
}

/**
 * How the pages of this service hold a session: its cookie, and the requests in which it counts. `SameSite` keeps the cookie from
 * other sites. Another port of the same host is the same site, and gets the cookie, too. So only requests of the service's own
 * origin count, and what changes state carries a token that isn't in the cookie. Over http on loopback everything does: cookies ignore
 * ports, so that any local server may have seen this one.
 */
export class PageSessions {
  /** The only origin whose pages may use a session. */
  readonly origin: string;
  readonly #transport: Transport;
  readonly #cookie: string;

  /** @param publicUrl address at which browsers reach the service */
  constructor(publicUrl: string) {
    const { origin, protocol, hostname } = new URL(publicUrl);
    this.origin = origin;
    if (protocol === "https:") this.#transport = "https";
    else this.#transport = LOOPBACK_NAMES.includes(hostname) ? "loopback" : "insecure";
    this.#cookie = this.#transport === "https" ? "__Host-session" : "session";
  }

  /** Whether pages can sign in at all. */
  get areSafe(): boolean {
    return this.#transport !== "insecure";
  }

  /** Whether a page of this service sent the request, as its browser says. A program can say anything, and gains nothing by it. */
  isSameOrigin(headers: AnyHeaders): boolean {
    const sites = valuesOf(headers["sec-fetch-site"]);
    return (
      sites.length === 1 &&
      sites[0] === "same-origin" &&
      valuesOf(headers["origin"]).every((origin) => origin === this.origin)
    );
  }

  /**
   * The session of a request. Another server on the same host may set a cookie of this name; unless it looks like one of our ids, it is ignored.
   * @param page undefined for a request that the service makes of itself
   */
  read(headers: AnyHeaders, page: PageRequest | undefined): SessionReading {
    if (page === undefined || headers["cookie"] === undefined || !page.path.startsWith(API_PATH)) return undefined;
    const id = this.areSafe ? this.#idOf(headers["cookie"]) : undefined;
    if (id === undefined) return undefined;
    if (!this.isSameOrigin(headers)) return { refusal: "session_other_origin" };
    const needsToken = this.#transport === "loopback" || !READING.includes(page.method);
    const [token, ...others] = valuesOf(headers[TOKEN_HEADER.toLowerCase()]);
    if (needsToken && (token === undefined || others.length > 0)) return { refusal: "session_token_invalid" };
    return { hash: sha256Hex(id), tokenHash: needsToken && token !== undefined ? sha256Hex(token) : undefined };
  }

  /** The `Set-Cookie` of a new session. */
  cookieOf(id: string): string {
    return this.#setCookie(id, SESSION_MAX_SECONDS);
  }

  /** The error for a session that doesn't count. One that has ended is removed from the browser. */
  refused(code: SessionError, headers: Readonly<Record<string, string>> = {}): ApiError {
    return new ApiError(code, {
      headers: code === "session_ended" ? { ...headers, "Set-Cookie": this.clearedCookie() } : headers,
    });
  }

  /** The `Set-Cookie` that removes the cookie. */
  clearedCookie(): string {
    return this.#setCookie("", 0);
  }

  #setCookie(value: string, maxAgeSeconds: number): string {
    const secure = this.#transport === "https" ? "; Secure" : "";
    return `${this.#cookie}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
  }

  /** The id in the cookie; undefined if there are several, as when another server of the host has set one for a longer path. */
  #idOf(cookies: string | string[]): string | undefined {
    const ids = valuesOf(cookies)
      .flatMap((line) => line.split(";"))
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${this.#cookie}=`))
      .map((pair) => pair.slice(this.#cookie.length + 1));
    const [id] = ids;
    return ids.length === 1 && id !== undefined && SESSION_ID.test(id) ? id : undefined;
  }
}

/** A caller, as far as it says by what it may act. */
interface Acting {
  scopes?: readonly Scope[];
  isSession?: true;
}

/** Whether a mandate bounds what a caller spends. A session has scopes and no mandate: the wallet itself signs each spend. */
export function actsByMandate(caller: Acting | undefined): boolean {
  return caller?.scopes !== undefined && caller.isSession !== true;
}

function valuesOf(header: string | string[] | undefined): string[] {
  return header === undefined ? [] : [header].flat();
}
