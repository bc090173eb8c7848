import Koa from "koa";
import { formatUnits } from "viem";

import { ChainUnavailableError, PriceUnavailableError } from "./chain/errors.ts";
import { CALL_CLASSES, USDC_DECIMALS, X402_PRICES_USD } from "./config/constants.ts";
import { VERSION } from "./config/version.ts";
import type { Container } from "./container.ts";
import { isDatabaseOutage } from "./db/connection.ts";
import { StaticDocument } from "./features/docs/module.ts";
import type { DocsDeps } from "./features/docs/module.ts";
import { htmlErrors } from "./features/pages/module.ts";
import type { PagesDeps } from "./features/pages/module.ts";
import { FEATURE_ROUTES } from "./features.ts";
import type { FeatureServices } from "./features.ts";
import { rateHeaders } from "./http/admission.ts";
import { askInside } from "./http/ask-inside.ts";
import type { RequestHandler } from "./http/connection-guard.ts";
import type { RouteDefinition } from "./http/define-route.ts";
import { ApiError } from "./http/errors.ts";
import { crossOrigin, securityHeaders } from "./http/middleware/browser-headers.ts";
import { drainBody } from "./http/middleware/drain-body.ts";
import { oneLoopbackName } from "./http/middleware/one-loopback-name.ts";
import { requestContext } from "./http/middleware/request-context.ts";
import { requireHost } from "./http/middleware/require-host.ts";
import { describeApi, isForAgents, isForOperators } from "./http/openapi.ts";
import type { ApiDescription, DescriptionOptions } from "./http/openapi.ts";
import type { PipelineSteps } from "./http/pipeline.ts";
import { idempotency } from "./http/policies/idempotency.ts";
import { requestSignature } from "./http/policies/request-signature.ts";
import { x402 } from "./http/policies/x402.ts";
import { mountRoutes } from "./http/router.ts";
import { IndexerBehindError, IndexerUnavailableError } from "./indexer/errors.ts";
import { StoppingError } from "./lib/stopping.ts";
import { DeadlineExceededError } from "./lib/timeout.ts";
import { mcpEndpoint } from "./mcp/endpoint.ts";
import type { ServerFactory } from "./mcp/endpoint.ts";

/** Every route of the API. The type checks that the application provides what their handlers need. */
export const routes: readonly RouteDefinition<FeatureServices & DocsDeps & PagesDeps>[] = FEATURE_ROUTES;

/** What a description says of the service besides its routes. */
type ServiceFacts = Partial<Pick<DescriptionOptions, "publicUrl" | "prices">>;

/**
 * The API description of the routes for agents, committed as api/openapi.json with the prices of the specification. It takes 0.2 s
 * of CPU time.
 */
export function apiDescription({ publicUrl, prices }: ServiceFacts = { prices: X402_PRICES_USD }): ApiDescription {
  return describeApi({ routes: routes.filter(isForAgents), version: VERSION, publicUrl, prices });
}

/** The API description of the routes for operators. */
export function operatorDescription(publicUrl?: string): ApiDescription {
  return describeApi({ routes: routes.filter(isForOperators), version: VERSION, publicUrl, prices: undefined });
}

const PRICE_RETRY_SECONDS = 60;

/** Maps outages of the chain, the subgraph and the database to errors that the client may retry. */
function translateError(error: unknown): ApiError | undefined {
  if (error instanceof ChainUnavailableError) {
    return new ApiError("chain_unavailable", {
      details: { network: error.network },
      retryAfterSeconds: 5,
      cause: error,
    });
  }
  if (error instanceof PriceUnavailableError) {
    return new ApiError("price_feed_unavailable", {
      details: error.facts,
      retryAfterSeconds: PRICE_RETRY_SECONDS,
      cause: error,
    });
  }
  if (error instanceof IndexerUnavailableError || error instanceof IndexerBehindError) {
    const details = { network: error.network };
    return new ApiError("indexer_unavailable", { details, retryAfterSeconds: 2, cause: error });
  }
  // Another process of the service, or this one after its restart, can answer the same request.
  if (error instanceof StoppingError) {
    return new ApiError("service_unavailable", { retryAfterSeconds: 1, cause: error });
  }
  // A call that waited longer than its limit may have had its effect, as after any outage.
  if (error instanceof DeadlineExceededError) {
    return new ApiError("service_unavailable", { retryAfterSeconds: 5, cause: error });
  }
  if (isDatabaseOutage(error)) return new ApiError("service_unavailable", { retryAfterSeconds: 5, cause: error });
  return undefined;
}

/** What calls cost in US dollars; undefined if they can't be paid for. */
function pricesOf({ payTo, prices }: Container["env"]["x402"]): ServiceFacts["prices"] {
  if (payTo === undefined) return undefined;
  const amounts = CALL_CLASSES.map((kind) => [kind, formatUnits(prices[kind], USDC_DECIMALS)] as const);
  return Object.fromEntries(amounts) as ServiceFacts["prices"];
}

/** The policies of the pipeline, in their order. */
function policySteps(container: Container): PipelineSteps {
  const { env, clock, idempotencyKeys, paymentGate, drainEnd, signatureNonces: nonces } = container;
  const { publicUrl, requireRequestSignatures } = env;
  return {
    afterAdmission: [],
    afterValidation: [
      ...(requireRequestSignatures ? [requestSignature({ publicUrl, nonces, clock })] : []),
      idempotency(idempotencyKeys),
      x402(paymentGate, drainEnd),
    ],
  };
}

/** Headers of every answer, unless something later sets other values. */
export function defaultHeadersOf({
  env,
  admissionControl,
}: Pick<Container, "env" | "admissionControl">): Record<string, string> {
  return { ...securityHeaders(env.publicUrl), ...rateHeaders(admissionControl.emptyWindow) };
}

/** What of the application a test replaces. */
export interface AppParts {
  /** Request signatures, idempotency and x402, each in its place in the pipeline. */
  steps?: PipelineSteps;
  /** Makes the servers of `/mcp`. */
  createMcpServer?: ServerFactory;
}

/** Creates the HTTP application for a wired container. */
export function createApp(
  container: Container,
  { steps = policySteps(container), createMcpServer: createServer }: AppParts = {},
): Koa {
  const app = new Koa({ proxy: container.env.trustedProxies > 0, maxIpsCount: container.env.trustedProxies });
  const { publicUrl } = container.env;
  let callback: ReturnType<Koa["callback"]> | undefined;
  /** Answers what the application asks of itself as it answers a client. */
  const handle: RequestHandler = (request, response) => (callback ??= app.callback())(request, response);
  const askApi: PagesDeps["askApi"] = (...args) => askInside(handle, ...args);
  const deps = {
    ...container.services,
    askApi,
    apiDescription: new StaticDocument(() => apiDescription({ publicUrl, prices: pricesOf(container.env.x402) })),
    operatorDescription: new StaticDocument(() => operatorDescription(publicUrl)),
  };
  const { env, log, clock, metrics } = container;
  const defaultHeaders = defaultHeadersOf(container);
  app.use(drainBody(container.drainEnd));
  app.use(
    requestContext({ log, clock, metrics, defaultHeaders, publicUrl, translate: translateError }) as Koa.Middleware,
  );
  app.use(requireHost);
  if (env.corsOrigins.length > 0) app.use(crossOrigin(env.corsOrigins));
  const oneName = oneLoopbackName(publicUrl);
  if (oneName !== undefined) app.use(oneName);
  app.use(htmlErrors(container.services.pages) as Koa.Middleware);
  app.use(
    mcpEndpoint({
      version: VERSION,
      log,
      doors: env,
      createServer,
      routes,
      admissionControl: container.admissionControl,
      handle,
    }),
  );
  const mounted = mountRoutes(routes, deps, {
    admissionControl: container.admissionControl,
    admin: container.admin,
    shutdown: container.shutdown,
    drainEnd: container.drainEnd,
    answerLimitMs: container.answerLimitMs,
    isLocalStack: env.isLocalStack,
    steps,
  });
  for (const middleware of mounted) app.use(middleware);
  app.on("error", (error: unknown) => {
    // A client closes a stream by closing its connection.
    if ((error as { code?: unknown }).code === "ERR_STREAM_PREMATURE_CLOSE") return;
    container.log.error({ err: error }, "couldn't send the answer");
  });
  return app;
}
