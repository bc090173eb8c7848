import type { Middleware, ParameterizedContext } from "koa";

import { readJsonBody } from "./body.ts";
import type { AuthPolicy, Caller, HandlerResult, RouteDefinition, RouteRequest } from "./define-route.ts";
import { validationError } from "./errors.ts";
import type { ValidationIssue } from "./errors.ts";
import type { RequestState } from "./middleware/request-context.ts";
import { issuesOf } from "./validation.ts";

/** What a step between two fixed steps of the pipeline learns of a request. */
export interface StepContext {
  route: RouteDefinition<never>;
  caller: Caller | undefined;
  /** Sets a response header. */
  setHeader(name: string, value: string): void;
  getHeader(name: string): string;
  ip: string;
  requestId: string;
}

/** A step that may refuse a request by throwing an ApiError, or wrap what follows. */
export type Step = (context: StepContext, next: () => Promise<void>) => Promise<void>;

/**
 * The pipeline of a route, in this order:
 *
 *  1. request id, access log, error envelope   (api/http/middleware, for every request, unknown paths included)
 *  2. `beforeAuthentication` steps             place of the limits per client address (section 8.2)
 *  3. authenticate                             key → caller, 401 otherwise
 *  4. `afterAuthentication` steps              place of the limits per key and of request signatures (decision 42)
 *  5. parse and validate params, query, body   400, 413, 415
 *  6. `afterValidation` steps                  place of budget, x402 and idempotency, in this order
 *  7. handler
 *  8. the answer is parsed with its schema     what the schema does not name is not sent; a mismatch is a 500
 *
 * Steps run in the order of their array and see the answer of those after them.
 */
export interface PipelineSteps {
  beforeAuthentication: readonly Step[];
  afterAuthentication: readonly Step[];
  afterValidation: readonly Step[];
}

/** The values of each header, one for each time that a request names it. */
export type DistinctHeaders = Readonly<Record<string, string[] | undefined>>;

/** Finds the caller of a request. */
export interface Authenticator {
  /** @throws ApiError `invalid_api_key` when a key is needed or presented and none is valid */
  authenticate(policy: AuthPolicy, headers: DistinctHeaders): Promise<Caller | undefined>;
}

/** What the pipeline needs. */
export interface PipelineOptions {
  authenticator: Authenticator;
  steps: PipelineSteps;
  /** Aborted when the process stops. */
  shutdown: AbortSignal;
}

type Context = ParameterizedContext<RequestState>;

/** Runs a route as Koa middleware. */
export function runRoute<Deps>(route: RouteDefinition<Deps>, deps: Deps, options: PipelineOptions): Middleware {
  const { beforeAuthentication, afterAuthentication, afterValidation } = options.steps;
  return async (koaContext) => {
    const context = koaContext as unknown as Context;
    context.state.route = route.path;
    const stepContext: StepContext = {
      route,
      caller: undefined,
      setHeader: (name, value) => {
        context.set(name, value);
      },
      getHeader: (name) => context.get(name),
      ip: context.ip,
      requestId: context.state.requestId,
    };
    await runSteps(beforeAuthentication, stepContext, async () => {
      const caller = await options.authenticator.authenticate(route.auth, context.req.headersDistinct);
      stepContext.caller = caller;
      context.state.agentId = caller?.agentId;
      await runSteps(afterAuthentication, stepContext, async () => {
        const input = await parseInput(route, context);
        await runSteps(afterValidation, stepContext, async () => {
          const request = { ...input, ...requestFacts(context, options.shutdown), caller };
          await answer(route, context, await route.handler(request, deps));
        });
      });
    });
  };
}

async function runSteps(steps: readonly Step[], context: StepContext, last: () => Promise<void>): Promise<void> {
  const [first, ...rest] = steps;
  if (first === undefined) return last();
  await first(context, () => runSteps(rest, context, last));
}

type Input = Pick<RouteRequest<AuthPolicy, unknown, unknown, unknown>, "params" | "query" | "body">;

async function parseInput(route: RouteDefinition<never>, context: Context): Promise<Input> {
  const body = route.body === undefined ? undefined : await readJsonBody(context);
  const issues: ValidationIssue[] = [];
  const take = (part: keyof Input, schema: RouteDefinition<never>["body"], value: unknown): unknown => {
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
  return input;
}

function requestFacts(context: Context, shutdown: AbortSignal) {
  const gone = new AbortController();
  context.res.once("close", () => {
    gone.abort();
  });
  return {
    headers: context.headers,
    ip: context.ip,
    requestId: context.state.requestId,
    log: context.state.log,
    signal: AbortSignal.any([gone.signal, shutdown]),
  };
}

async function answer(route: RouteDefinition<never>, context: Context, result: HandlerResult): Promise<void> {
  if ("raw" in result) {
    context.status = result.status;
    if (route.produces !== undefined) context.type = route.produces;
    context.set({ ...result.headers });
    context.body = result.raw;
    return;
  }
  const schema = route.responses[result.status];
  if (schema === undefined) throw new Error(`${route.method} ${route.path} does not declare status ${result.status}`);
  const body = await schema.parseAsync(result.body);
  context.status = result.status;
  context.set({ ...result.headers });
  context.body = body;
}
