import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";

import type { Middleware, ParameterizedContext } from "koa";

import type { Logger } from "../lib/logger.ts";
import { ClientGoneError, untilAborted } from "../lib/stopping.ts";
import { readJsonBody } from "./body.ts";
import type { AuthPolicy, Caller, HandlerResult, RouteDefinition, RouteRequest } from "./define-route.ts";
import { validationError } from "./errors.ts";
import type { ValidationIssue } from "./errors.ts";
import type { RequestState } from "./middleware/request-context.ts";
import { RequestOperation } from "./operation.ts";
import type { BudgetState } from "./payment-required.ts";
import { issuesOf } from "./validation.ts";

/** An answer that is checked against its schema and serialised, but not sent yet. */
export interface Answer {
  status: number;
  /** Content type; undefined if `headers` has it. */
  type: string | undefined;
  headers: Readonly<Record<string, string>>;
  /** JSON text; a stream only from a route that `produces` one. */
  body: string | Buffer | Readable;
}

/** What a custom step of the pipeline knows about a request. */
export interface StepContext {
  readonly route: RouteDefinition<never>;
  /** Undefined before authentication, and for a request without a key on a route that doesn't require one. */
  readonly caller: Caller | undefined;
  /** The daily budget of this call; undefined for a route of budget `none` and without a caller. */
  readonly budget: BudgetState | undefined;
  readonly method: string;
  /** As requested, without the query. */
  readonly path: string;
  /** Path and query as requested. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Address of the client, following TRUST_PROXY. */
  readonly ip: string;
  readonly requestId: string;
  readonly log: Logger;
  /** Aborted when the client disconnects or the process stops. */
  readonly signal: AbortSignal;
  /** What the request is to do once. The idempotency step recognises a repeat. */
  readonly operation: RequestOperation;
  /** Sets a header of the response, whether that becomes an answer or an error. */
  setHeader(name: string, value: string): void;
}

/** What a step knows about a request that matches its schemas. */
export interface ValidatedContext extends StepContext {
  /** The parts of the request as the route's schemas parsed them. */
  readonly input: RequestInput;
  /** Bytes of the body after content decoding; undefined for a route without a body. */
  readonly bodyBytes: Buffer | undefined;
}

/** Runs the steps that follow and the handler. */
export type Next = () => Promise<Answer>;

/**
 * A step returns the answer of `next`, possibly with other headers. Or it returns its own answer, and the handler
 * doesn't run. Or it throws an ApiError. Errors of later steps propagate through it: a step that has something to undo
 * catches and rethrows them.
 * @example
 * const replay: Step<ValidatedContext> = async (context, next) => (await storedAnswer(context)) ?? next();
 */
export type Step<Context extends StepContext = StepContext> = (context: Context, next: Next) => Promise<Answer>;

/**
 * The pipeline of a route, in this order:
 *
 *  1. request id, access log, error envelope   (api/http/middleware, for every request, unknown paths included)
 *  2. `beforeAuthentication` steps             for the limits per client address (section 8.2)
 *  3. authenticate                             key → caller, 401 otherwise; an admin's key on an admin route
 *  4. `afterAuthentication` steps              for the limits per key
 *  5. parse and validate params, query, body   400, 413, 415
 *  6. `afterValidation` steps                  request signature (decision 42), then idempotency, then x402: a repeat is
 *                                              never paid for twice
 *  7. handler
 *  8. parse the answer with its schema         fields that it doesn't name are dropped; a mismatch is a 500
 *
 * Steps run in array order. The answer is sent once every step has returned.
 */
export interface PipelineSteps {
  beforeAuthentication: readonly Step[];
  afterAuthentication: readonly Step[];
  afterValidation: readonly Step<ValidatedContext>[];
}

/** The values of each header: one for each time that a request has it. */
export type DistinctHeaders = Readonly<Record<string, string[] | undefined>>;

/** Finds the caller of a request. */
export interface Authenticator {
  /** @throws ApiError `invalid_api_key` if a key is required or given and none is valid */
  authenticate(policy: AuthPolicy, headers: DistinctHeaders): Promise<Caller | undefined>;
}

/** Dependencies of the pipeline. */
export interface PipelineOptions {
  authenticator: Authenticator;
  /** Authorizes and records each call to an admin route. Without it, admin routes aren't mounted. */
  admin: Step | undefined;
  steps: PipelineSteps;
  /** Aborted when the process begins to stop. */
  shutdown: AbortSignal;
  /** Aborted when the drain is nearly over: what is still under way is answered with the signal's reason. */
  drainEnd: AbortSignal;
}

type Context = ParameterizedContext<RequestState>;

/** Runs a route as Koa middleware. */
export function runRoute<Deps>(route: RouteDefinition<Deps>, deps: Deps, options: PipelineOptions): Middleware {
  const { beforeAuthentication, afterAuthentication, afterValidation } = options.steps;
  const guards = route.auth === "admin" ? [requireAdmin(options.admin)] : [];
  return async (koaContext) => {
    const context = koaContext as unknown as Context;
    context.state.route = route.path;
    const before = stepContext(route, context, options.shutdown);
    const answering = runSteps(beforeAuthentication, before, async () => {
      const caller = await options.authenticator.authenticate(route.auth, context.req.headersDistinct);
      context.state.agentId = caller?.agentId;
      const authenticated = { ...before, caller };
      return runSteps([...guards, ...afterAuthentication], authenticated, async () => {
        const validated = { ...authenticated, ...(await parseInput(route, context)) };
        return runSteps(afterValidation, validated, async () =>
          serialise(route, await route.handler({ ...validated, ...validated.input }, deps)),
        );
      });
    });
    // Chain, subgraph or database may never answer. The caller gets a 503 then instead of a connection that is cut.
    send(context, await untilAborted(answering, options.drainEnd));
  };
}

function requireAdmin(admin: Step | undefined): Step {
  if (admin === undefined) throw new Error("An admin route is mounted without a step that authorizes its calls");
  return admin;
}

async function runSteps<C extends StepContext>(steps: readonly Step<C>[], context: C, last: Next): Promise<Answer> {
  const [first, ...rest] = steps;
  return first === undefined ? last() : first(context, () => runSteps(rest, context, last));
}

function stepContext(route: RouteDefinition<never>, context: Context, shutdown: AbortSignal): StepContext {
  const gone = new AbortController();
  context.res.once("close", () => {
    gone.abort(new ClientGoneError());
  });
  return {
    route,
    caller: undefined,
    budget: undefined,
    method: context.method,
    path: context.path,
    target: context.originalUrl,
    headers: context.headers,
    ip: context.ip,
    requestId: context.state.requestId,
    log: context.state.log,
    signal: AbortSignal.any([gone.signal, shutdown]),
    operation: new RequestOperation(),
    setHeader: (name, value) => {
      context.set(name, value);
    },
  };
}

type RequestInput = Pick<RouteRequest<AuthPolicy, unknown, unknown, unknown>, "params" | "query" | "body">;

async function parseInput(
  route: RouteDefinition<never>,
  context: Context,
): Promise<Pick<ValidatedContext, "input" | "bodyBytes">> {
  const body = route.body === undefined ? undefined : await readJsonBody(context);
  const issues: ValidationIssue[] = [];
  const take = (part: keyof RequestInput, schema: RouteDefinition<never>["body"], value: unknown): unknown => {
    if (schema === undefined) return undefined;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    issues.push(...issuesOf(part, parsed.error));
    return undefined;
  };
  const params = (context as unknown as { params: unknown }).params;
  const input = {
    params: take("params", route.params, params),
    query: take("query", route.query, { ...context.query }),
    body: take("body", route.body, body?.json),
  };
  if (issues.length > 0) throw validationError(issues);
  return { input, bodyBytes: body?.bytes };
}

async function serialise(route: RouteDefinition<never>, result: HandlerResult): Promise<Answer> {
  const { status, headers = {} } = result;
  if ("raw" in result) return { status, type: route.produces, headers, body: result.raw };
  const schema = route.responses[status];
  if (schema === undefined) throw new Error(`${route.method} ${route.path} doesn't declare status ${status}`);
  return { status, type: "application/json", headers, body: JSON.stringify(await schema.parseAsync(result.body)) };
}

function send(context: Context, { status, type, headers, body }: Answer): void {
  context.status = status;
  if (type !== undefined) context.type = type;
  context.set({ ...headers });
  context.body = body;
}
