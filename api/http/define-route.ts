import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";

import { z } from "zod";

import type { CallClass, RateClass } from "../config/constants.ts";
import type { Logger } from "../lib/logger.ts";
import type { ErrorCode } from "./errors.ts";
import type { Operation } from "./operation.ts";
import type { RouteScope, Scope } from "./scopes.ts";
import type { Tag } from "./tags.ts";

export type HttpMethod = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/**
 * Who may call. `none`: anyone. `apiKey`: the owner of a valid key. `bearerKey`: the same, but only
 * `Authorization: Bearer` counts, and the 401 has a body of its own.
 * `optionalApiKey`: anyone, but a key must be valid if given. `admin`: the holder of `ADMIN_API_KEY`; without that
 * variable the route isn't mounted.
 */
export type AuthPolicy = "none" | "apiKey" | "bearerKey" | "optionalApiKey" | "admin";

/**
 * Class of the per-minute limits that a route counts towards. `developerAccess`, `discover`,
 * `registration` and `keyless` (every other route without a key) count by client address, the rest by key. `unlimited` is never
 * limited.
 */
export type LimitClass = RateClass | "unlimited";

/**
 * Whom a route is for. `operators`: it has its place in a description of its own. `packageManagers`: it hands out
 * files, and no description has it. `crawlers`: programs ask for it at an address of their own choice, and no description
 * has it. `people`: it is a web page or a part of one, and no description has it. `localStack`: only the local stack has it, and
 * no description.
 */
export type Audience = "operators" | "packageManagers" | "crawlers" | "people" | "localStack";

/** Daily budget that a call draws on. */
export type BudgetClass = CallClass | "none";

/** Classes of the calls that have a query parameter, such as a search with `q`. */
export interface ParameterClasses {
  /** Name of the parameter. */
  name: string;
  limitClass: LimitClass;
  budget: BudgetClass;
}

/** The agent that a request comes from. Its identity comes from the key alone. */
export interface Caller {
  agentId: string;
  walletAddress: `0x${string}`;
  keyId: string;
  /** What the key's mandate lets it do; undefined for a key without a mandate, which may call every route. */
  scopes?: readonly Scope[];
  /** True for a page, which acts with a session of the agent's wallet. `keyId` is the session's id. */
  isSession?: true;
}

type CallerOf<Auth extends AuthPolicy> = Auth extends "apiKey" | "bearerKey"
  ? Caller
  : Auth extends "optionalApiKey"
    ? Caller | undefined
    : undefined;

/** A request after authentication and validation. */
export interface RouteRequest<Auth extends AuthPolicy, Params, Query, Body> {
  caller: CallerOf<Auth>;
  params: Params;
  query: Query;
  body: Body;
  /** Bytes of the body after content decoding, for a signature; undefined for a route without a body. */
  bodyBytes: Buffer | undefined;
  headers: IncomingHttpHeaders;
  /** Address of the client, following TRUST_PROXY. */
  ip: string;
  requestId: string;
  log: Logger;
  /** Aborted when the client disconnects or the process stops. */
  signal: AbortSignal;
  operation: Operation;
}

/** A request before anything of it is parsed. */
export interface UnparsedRequest {
  headers: IncomingHttpHeaders;
  /** Reads the body: its bytes after content decoding. */
  bytes: () => Promise<Buffer>;
}

/** Schemas of the answers by status. */
export type ResponseSchemas = Readonly<Record<number, z.ZodType>>;

/** Schemas of headers by name. */
export type HeaderSchemas = Readonly<Record<string, z.ZodType>>;

/** A handler's answer: a declared status with a body that matches that status's schema. */
export type RouteResult<Responses extends ResponseSchemas> = {
  [Status in keyof Responses & number]: {
    status: Status;
    body: z.input<Responses[Status]>;
    headers?: Readonly<Record<string, string>>;
  };
}[keyof Responses & number];

/** An answer other than a JSON document, such as a stream of server-sent events or a page. Declared by `produces`. */
export interface RawResult {
  status: number;
  raw: Readable | string | Buffer;
  headers?: Readonly<Record<string, string>>;
}

type Awaitable<T> = T | Promise<T>;

interface RouteSpec<
  Auth extends AuthPolicy,
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Responses extends ResponseSchemas,
> {
  /** Unique name, such as `webhooks.redeliver`: the operation's id in the API description, and so its name in generated clients. */
  name: `${string}.${string}`;
  /** What a key with a mandate needs. A new route is closed to such keys unless its author decides otherwise: `none`. */
  scope: RouteScope;
  /**
   * What a page's session needs, if that isn't `scope`: for what its owner does there and no key with a mandate may do.
   * A session has either `read` alone or all scopes.
   */
  pageScope?: RouteScope;
  method: HttpMethod;
  /** Full path with `{parameters}`. A path under `/api/v1` is also served under `/v1`. */
  path: string;
  /** Heading in the API description. */
  tag: Tag;
  /** One line for the API description. */
  summary: string;
  /** More for the API description: rules, choices, side effects. */
  description?: string;
  /** Whom the route is for, if not for agents. Those that take the admin key are always for operators. */
  audience?: Audience;
  /** True for a route that takes no key and yet exists only with `ADMIN_API_KEY`, such as the operator's page. */
  needsAdminKey?: boolean;
  auth: Auth;
  limitClass: LimitClass;
  budget: BudgetClass;
  /** Other classes for calls with a query parameter. */
  withParameter?: ParameterClasses;
  /**
   * Schemas of the parts of a request. Objects must be strict, because an unknown field is an error.
   * Without a schema, query and body must be empty.
   */
  params?: Params;
  query?: Query;
  body?: Body;
  /** Headers that the handler reads besides those of every route, such as `If-Match`. The handler validates them. */
  requestHeaders?: HeaderSchemas;
  responses: Responses;
  /** Headers that successful answers have besides those of every route, such as `ETag`. */
  responseHeaders?: HeaderSchemas;
  /** Content types of a raw answer, without parameters. */
  produces?: readonly [string, ...string[]];
  /**
   * False if the answer holds a secret or is about one, and so is never stored: a repeat with the same
   * `Idempotency-Key` is 409 `already_processed`, and a paid call is not kept for its payment either. True
   * by default.
   */
  storesResponse?: boolean;
  /**
   * Statuses that only say "not yet": a repeat with the same `Idempotency-Key` runs again and may have another outcome.
   * Every other answer below 400 is final.
   */
  provisional?: readonly (keyof Responses & number)[];
  /**
   * True if the call changes nothing, so that running a repeat again does no harm: its `Idempotency-Key` is ignored, and
   * no answer is stored for it. True by default for a GET alone.
   */
  readsOnly?: boolean;
  /**
   * Codes from the catalogue that the handler may answer. The description adds those of the pipeline. A route without a
   * key that uses the database must list `service_unavailable`.
   */
  errors?: readonly ErrorCode[];
}

/** A route without its handler. */
export interface DeclaredRoute<
  Auth extends AuthPolicy,
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Responses extends ResponseSchemas,
> {
  /**
   * Adds the handler. Its second argument is annotated with an interface of what the handler needs, which the
   * application passes.
   * @param beforeParsing throws the ApiError for a sender that isn't known, of whom nothing may be parsed
   */
  handle<Deps>(
    handler: (
      request: RouteRequest<Auth, z.output<Params>, z.output<Query>, z.output<Body>>,
      deps: Deps,
    ) => Awaitable<RouteResult<Responses> | RawResult>,
    beforeParsing?: (request: UnparsedRequest, deps: Deps) => Promise<void>,
  ): RouteDefinition<Deps>;
}

/** The result of any handler, regardless of its schemas. */
export type HandlerResult = { status: number; headers?: Readonly<Record<string, string>>; body?: unknown } | RawResult;

/** A route as the pipeline runs it; its handler asks for `Deps`. */
export interface RouteDefinition<Deps> {
  name: string;
  scope: RouteScope;
  pageScope?: RouteScope;
  method: HttpMethod;
  path: string;
  tag: Tag;
  summary: string;
  description?: string;
  audience?: Audience;
  needsAdminKey?: boolean;
  auth: AuthPolicy;
  limitClass: LimitClass;
  budget: BudgetClass;
  withParameter?: ParameterClasses;
  params?: z.ZodType;
  query: z.ZodType;
  /** Undefined for a method whose requests have no body. */
  body?: z.ZodType;
  requestHeaders?: HeaderSchemas;
  responses: ResponseSchemas;
  responseHeaders?: HeaderSchemas;
  produces?: readonly [string, ...string[]];
  storesResponse: boolean;
  provisional: readonly number[];
  readsOnly: boolean;
  errors: readonly ErrorCode[];
  // A property, not a method, so that parameters are compared contravariantly: a route that needs more than the
  // application has doesn't compile.
  handler: (request: RouteRequest<AuthPolicy, unknown, unknown, unknown>, deps: Deps) => Awaitable<HandlerResult>;
  beforeParsing?: (request: UnparsedRequest, deps: Deps) => Promise<void>;
}

/** The schema of a part that a route doesn't declare: it must be empty. */
const NOTHING = z.strictObject({});

/** The body of a route that takes none. */
const NO_BODY = z.strictObject({}).meta({ id: "EmptyRequest", examples: [{}] });

/**
 * Declares a route: its input, its answers and its errors. `.handle` adds the handler.
 * @example
 * export const readService = defineRoute({
 *   name: "listings.read", scope: "read", method: "GET", path: "/api/v1/services/{id}", tag: "Services", summary: "Reads a service",
 *   auth: "apiKey", limitClass: "general", budget: "api",
 *   params: z.strictObject({ id: serviceId }),
 *   responses: { 200: z.object({ success: z.literal(true), data: serviceSchema }) },
 *   errors: ["not_found"],
 * }).handle(async ({ params, caller }, { services }: ServicesDeps) => ({
 *   status: 200,
 *   body: { success: true, data: present(await services.get(params.id), caller) },
 * }));
 */
export function defineRoute<
  const Auth extends AuthPolicy,
  const Responses extends ResponseSchemas,
  Params extends z.ZodType = z.ZodUndefined,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(spec: RouteSpec<Auth, Params, Query, Body, Responses>): DeclaredRoute<Auth, Params, Query, Body, Responses> {
  return {
    handle: (handler, beforeParsing) => ({
      ...spec,
      ...(beforeParsing === undefined ? {} : { beforeParsing }),
      query: spec.query ?? NOTHING,
      ...(spec.body === undefined && spec.method !== "GET" ? { body: NO_BODY } : {}),
      storesResponse: spec.storesResponse ?? true,
      provisional: spec.provisional ?? [],
      readsOnly: spec.readsOnly ?? spec.method === "GET",
      errors: spec.errors ?? [],
      // The pipeline calls the handler only with what these schemas have parsed, so widening its input is safe.
      handler: handler as never,
    }),
  };
}

/**
 * Whether a route remembers the `Idempotency-Key` of its requests. Every key is stored, and nothing limits how many a
 * stranger sends to an unlimited route. A call that only reads needs none, and its answers may be large.
 */
export function takesIdempotencyKeys({ readsOnly, limitClass }: RouteDefinition<never>): boolean {
  return !readsOnly && limitClass !== "unlimited";
}

/** Every path of a route: its own and, for one under `/api/v1`, the short form under `/v1`. */
export function pathsOf(path: string): string[] {
  return path.startsWith("/api/v1/") ? [path, path.slice("/api".length)] : [path];
}
