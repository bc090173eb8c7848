import type { IncomingHttpHeaders } from "node:http";
import { finished, Readable } from "node:stream";

import type { Middleware, ParameterizedContext } from "koa";

import type { Logger } from "../lib/logger.ts";
import { ClientGoneError, untilAborted } from "../lib/stopping.ts";
import type { WorkSignals } from "../lib/stopping.ts";
import { DeadlineExceededError } from "../lib/timeout.ts";
import { classesOf, rateHeaders } from "./admission.ts";
import type { AdmissionControl } from "./admission.ts";
import { RequestBody } from "./body.ts";
import { compoundCallOf } from "./compound-call.ts";
import type { CompoundCall, InnerAdmission } from "./compound-call.ts";
import type { AuthPolicy, Caller, HandlerResult, RouteDefinition, RouteRequest } from "./define-route.ts";
import { ApiError, validationError } from "./errors.ts";
import type { ErrorCode, ValidationIssue } from "./errors.ts";
import type { RequestState } from "./middleware/request-context.ts";
import { RequestOperation } from "./operation.ts";
import { requireScope } from "./scopes.ts";
import type { BudgetState } from "./payment-required.ts";
import { toIssues } from "./validation.ts";

/** An answer that is checked against its schema and serialised, but not sent yet. */
export interface RouteResponse {
  status: number;
  /** Content type; undefined if `headers` has it. */
  type: string | undefined;
  headers: Readonly<Record<string, string>>;
  /** Code of the catalogue, for an answer that reports an error. */
  code?: ErrorCode;
  /** JSON text; a stream only from a route that `produces` one. */
  body: string | Buffer | Readable;
  /** Called when the answer is about to be sent. The promise tells whether it was sent to its end. It never rejects. */
  onSending?: (isSent: Promise<boolean>) => void;
}

/** The request as a custom step of the pipeline sees it. */
export interface StepContext {
  readonly route: RouteDefinition<never>;
  /** Undefined for a request without a key on a route that doesn't require one. */
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
  /** The client's call that this request was made for, inside of this process; undefined for a request of a client. */
  readonly compound: CompoundCall | undefined;
  /** Aborted when the client disconnects or the process stops. */
  readonly signal: AbortSignal;
  /** The operation that the request must perform only once. The idempotency step recognises a repeat. */
  readonly operation: RequestOperation;
  /** Sets a header of the response, whether that becomes an answer or an error. */
  setHeader(name: string, value: string): void;
}

/** A validated request as a step sees it. */
export interface ValidatedContext extends StepContext {
  /** The parts of the request as the route's schemas parsed them. */
  readonly input: RequestInput;
  /** Bytes of the body after content decoding; undefined for a route without a body. */
  readonly bodyBytes: Buffer | undefined;
}

/** Runs the steps that follow and the handler. */
export type Next = () => Promise<RouteResponse>;

/**
 * A step returns the answer of `next`, possibly with other headers. Or it returns its own answer, and the handler
 * doesn't run. Or it throws an ApiError. Errors of later steps propagate through it: a step that has something to undo
 * catches and rethrows them.
 * @example
 * const replay: Step<ValidatedContext> = async (context, next) => (await storedResponse(context)) ?? next();
 */
export type Step<Context extends StepContext = StepContext> = (context: Context, next: Next) => Promise<RouteResponse>;

/**
 * The pipeline of a route, in this order:
 *
 *  1. request id, access log, error envelope   (api/http/middleware, for every request, unknown paths included)
 *  2. admission                                limits per client address; key or a page's session, limit per key and
 *                                              budget: 401, 403, 429; scopes of a mandate or a session: 403
 *  3. an admin's key on an admin route, `afterAdmission` steps
 *  4. the route's own look at the unparsed body (`beforeParsing`), then parse and validate params, query, body:
 *                                              400, 413, 415
 *  5. `afterValidation` steps                  request signature, then idempotency, then x402: a repeat is
 *                                              never paid for twice
 *  6. handler
 *  7. parse the answer with its schema         fields that it doesn't name are dropped; a mismatch is a 500
 *  8. settlement                               the reserved call of the budget counts, or a 402, 429 or 5xx releases it
 *
 * Steps run in array order. The answer is sent once every step has returned. A call whose budget is exhausted is
 * admitted with `budget.exhausted`: the x402 step decides whether a payment opens the door.
 */
export interface PipelineSteps {
  afterAdmission: readonly Step[];
  afterValidation: readonly Step<ValidatedContext>[];
}

/** Dependencies of the pipeline. */
export interface PipelineOptions {
  admissionControl: AdmissionControl;
  /** Authorizes and records each call to an admin route. Without it, admin routes aren't mounted. */
  admin: Step | undefined;
  steps: PipelineSteps;
  /** Signals of the requests, aborted when the process begins to stop. */
  signals: WorkSignals;
  /**
   * Signals that are aborted when the drain is nearly over: what is still under way is answered with the signal's reason, and
   * begins no further step.
   */
  answers: WorkSignals;
  /** How long a request may wait for the service, without the arrival of its body, before it is answered 503; in milliseconds. */
  answerLimitMs: number;
}

/** Durations of the pipeline. */
export interface PipelineTimings {
  answerLimitMs: number;
}

/** Shorter than clients wait (the SDK's 30 seconds), longer than an index, a node and a settlement may take together. */
export const PIPELINE_TIMINGS: PipelineTimings = { answerLimitMs: 25_000 };

/** Aborts the signal of an answer once the service itself has taken too long; the time of the body isn't its own. */
function createAnswerLimit(limitMs: number, due: AbortController, work: AbortController) {
  let timer: NodeJS.Timeout | undefined;
  const pause = () => {
    clearTimeout(timer);
  };
  const start = () => {
    pause();
    timer = setTimeout(() => {
      const overdue = new DeadlineExceededError("the service", limitMs);
      due.abort(overdue);
      work.abort(overdue);
    }, limitMs);
  };
  return { start, pause };
}

type Context = ParameterizedContext<RequestState>;

/** Runs a route as Koa middleware. */
export function runRoute<Deps>(route: RouteDefinition<Deps>, deps: Deps, options: PipelineOptions): Middleware {
  const { afterAdmission, afterValidation } = options.steps;
  const guards = route.auth === "admin" ? [requireAdmin(options.admin)] : [];
  return async (koaContext) => {
    const context = koaContext as unknown as Context;
    context.state.route = route.path;
    const work = options.signals.begin();
    const arrived = stepContext(route, context, work, options.signals);
    const answer = options.answers.begin();
    const due = answer.signal;
    const limit = createAnswerLimit(options.answerLimitMs, answer, work);
    let admission: InnerAdmission | undefined;
    let produced: HandlerResult | undefined;
    const answering = async (): Promise<RouteResponse> => {
      due.throwIfAborted();
      limit.start();
      const { auth } = route;
      const { ip } = context;
      const classes = classesOf(route, context.query);
      const page = arrived.compound === undefined ? { method: context.method, path: context.path } : undefined;
      const request = { auth, headers: context.req.headersDistinct, ip, page };
      const { admissionControl } = options;
      const admitted: InnerAdmission =
        arrived.compound === undefined
          ? await admissionControl.admit({ ...request, ...classes })
          : await arrived.compound.admit(route, request, admissionControl);
      admission = admitted;
      // The request was answered while it was being admitted.
      if (due.aborted) void admitted.settle(false);
      const { caller, budget } = admitted;
      context.set(rateHeaders(admitted.rate));
      context.state.agentId = caller?.agentId;
      requireScope(route, caller);
      const headers = { ...arrived.headers, ...admitted.payment };
      const step = { ...arrived, headers, caller, budget };
      return runSteps([...guards, ...afterAdmission], step, due, async () => {
        limit.pause();
        const requestBody = new RequestBody(context);
        await route.beforeParsing?.({ headers: context.headers, bytes: () => requestBody.bytes() }, deps);
        const validated = { ...step, ...(await parseInput(route, context, requestBody)) };
        limit.start();
        return runSteps(afterValidation, validated, due, async () => {
          produced = await route.handler({ ...validated, ...validated.input }, deps);
          return serialise(route, produced);
        });
      });
    };
    /** Once an answer is overdue or the process is about to end, it no longer waits for the database. */
    const whileTimeIsLeft = (write: Promise<void> | undefined) =>
      untilAborted(Promise.resolve(write), due).catch(() => undefined);
    try {
      // Chain, subgraph or database may never answer. The caller gets a 503 then instead of no answer at all.
      const answered = await untilAborted(answering(), due);
      if (isServed(answered.status)) await admission?.settle(true);
      else await whileTimeIsLeft(admission?.settle(false));
      send(context, answered);
    } catch (error) {
      if (produced !== undefined && "raw" in produced && produced.raw instanceof Readable) produced.raw.destroy();
      await whileTimeIsLeft(admission?.settle(countsDespite(error)));
      throw error;
    } finally {
      limit.pause();
      options.answers.end(answer);
    }
  };
}

const TOO_MANY = 429;
const FIRST_SERVER_ERROR = 500;

/** Whether an answer consumes the budget: a 402, 429 or 5xx does not. */
function isServed(status: number): boolean {
  return status !== 402 && status !== TOO_MANY && status < FIRST_SERVER_ERROR;
}

/** The same for an error. Everything that isn't in the catalogue becomes a 5xx. A client that leaves pays for the work. */
function countsDespite(error: unknown): boolean {
  return error instanceof ClientGoneError || (error instanceof ApiError && isServed(error.status));
}

function requireAdmin(admin: Step | undefined): Step {
  if (admin === undefined) throw new Error("An admin route is mounted without a step that authorizes its calls");
  return admin;
}

/** Runs steps, and begins none once the request is to be answered. */
async function runSteps<C extends StepContext>(
  steps: readonly Step<C>[],
  context: C,
  due: AbortSignal,
  last: Next,
): Promise<RouteResponse> {
  due.throwIfAborted();
  const [first, ...rest] = steps;
  return first === undefined ? last() : first(context, () => runSteps(rest, context, due, last));
}

function stepContext(
  route: RouteDefinition<never>,
  context: Context,
  work: AbortController,
  signals: WorkSignals,
): StepContext {
  context.res.once("close", () => {
    signals.end(work);
    if (!context.res.writableFinished) work.abort(new ClientGoneError());
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
    compound: compoundCallOf(context.req),
    signal: work.signal,
    operation: new RequestOperation(),
    setHeader: (name, value) => {
      context.set(name, value);
    },
  };
}

export type RequestInput = Pick<RouteRequest<AuthPolicy, unknown, unknown, unknown>, "params" | "query" | "body">;

async function parseInput(
  route: RouteDefinition<never>,
  context: Context,
  requestBody: RequestBody,
): Promise<Pick<ValidatedContext, "input" | "bodyBytes">> {
  const json = route.body === undefined ? undefined : await requestBody.json();
  const issues: ValidationIssue[] = [];
  const take = (part: keyof RequestInput, schema: RouteDefinition<never>["body"], value: unknown): unknown => {
    if (schema === undefined) return undefined;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    issues.push(...toIssues(part, parsed.error));
    return undefined;
  };
  const params = (context as unknown as { params: unknown }).params;
  const input = {
    params: take("params", route.params, params),
    query: take("query", route.query, { ...context.query }),
    body: take("body", route.body, json),
  };
  if (issues.length > 0) throw validationError(issues);
  return { input, bodyBytes: route.body === undefined ? undefined : await requestBody.bytes() };
}

async function serialise(route: RouteDefinition<never>, result: HandlerResult): Promise<RouteResponse> {
  const { status, headers = {} } = result;
  if ("raw" in result) return { status, type: route.produces?.[0], headers, body: result.raw };
  const schema = route.responses[status];
  if (schema === undefined) throw new Error(`${route.method} ${route.path} doesn't declare status ${status}`);
  return { status, type: "application/json", headers, body: JSON.stringify(await schema.parseAsync(result.body)) };
}

function send(context: Context, { status, type, headers, code, body, onSending }: RouteResponse): void {
  // What was answered inside of this process is sent once the client's own request is.
  const sent = compoundCallOf(context.req)?.outer.response ?? context.res;
  onSending?.(
    new Promise((resolve) => {
      finished(sent, (error) => {
        resolve(error === null || error === undefined);
      });
    }),
  );
  context.state.code = code;
  context.status = status;
  if (type !== undefined) context.type = type;
  context.set({ ...headers });
  if (body instanceof Readable) context.state.streamingSince = performance.now();
  context.body = body;
}
