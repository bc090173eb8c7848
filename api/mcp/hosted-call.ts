import type { IncomingMessage } from "node:http";

import { Marketplace } from "../../sdk/src/index.ts";
import { callerSigner } from "../../tools/src/index.ts";
import type { McpCall, McpEnd, OpenCall, PaymentRequired, ToolResult } from "../../tools/src/index.ts";
import type { AdmissionControl } from "../http/admission.ts";
import { CompoundCall } from "../http/compound-call.ts";
import type { OuterRequest } from "../http/compound-call.ts";
import type { RequestHandler } from "../http/connection-guard.ts";
import type { RouteDefinition } from "../http/define-route.ts";
import { ApiError } from "../http/errors.ts";
import { innerFetch } from "./inner-fetch.ts";
import { mainOperationOf } from "./main-operations.ts";
import { demandOf, paymentHeaders, receiptMeta } from "./payments.ts";

/** Dependencies of calls. */
export interface HostedCallDeps {
  /** Answers a request as the application does. */
  handle: RequestHandler;
  routes: readonly RouteDefinition<never>[];
  admissionControl: Pick<AdmissionControl, "countAnonymous">;
}

/** The client's request that a call came in. */
export interface HostedRequest {
  request: IncomingMessage;
  outer: OuterRequest;
  /** Address of the client, following TRUST_PROXY. */
  ip: string;
  requestId: string;
  /** Tools that were asked. */
  calls: number;
}

/** Leaves time of the 20 seconds for what is read before and after a wait. */
const WAIT_MS = 15_000;
/** The API waits for other requests itself. A longer wait is the caller's. */
const RETRY = { maxAttempts: 2, maxRetryAfterMs: 1_000 };
const DEFAULT_RETRY_SECONDS = 60;
/** Needed by the client, and replaced by what the request has. */
const ANY_KEY = "in-the-request";
/** The requests never leave this process. */
const HERE = "http://in.process";

/** Opens the call of a tool: it runs with the key of its request, by requests to the application itself. */
export function openCall(
  { handle, routes, admissionControl }: HostedCallDeps,
  hosted: HostedRequest,
  { tool, input, meta }: McpCall,
): OpenCall {
  const { request, outer, ip, requestId } = hosted;
  hosted.calls += 1;
  const { main, isPaid } = mainOperationOf(tool.name, input, routes);
  const call = new CompoundCall({
    outer,
    main,
    paidRoute: isPaid ? main : undefined,
    payment: paymentHeaders(meta),
  });
  let demand: PaymentRequired | undefined;
  let receipt: Record<string, unknown> | undefined;
  const fetch = innerFetch({ handle, call, request, requestId }, (answer) => {
    demand ??= demandOf(answer, tool.name);
    receipt ??= receiptMeta(answer);
  });
  const market = new Marketplace({ url: HERE, fetch, retry: RETRY });
  const { headersDistinct } = request;
  const hasKey = headersDistinct["x-api-key"] !== undefined || headersDistinct["authorization"] !== undefined;
  const agent = hasKey ? market.agent({ apiKey: ANY_KEY }) : undefined;
  return {
    context: { market, agent, signer: callerSigner, waitMs: WAIT_MS },
    async close(result): Promise<McpEnd> {
      await call.end();
      // A call that was refused before its first request counts for its client's address.
      const refusal = call.isCounted ? undefined : await refusalOf(() => admissionControl.countAnonymous(ip));
      return { result: refusal ?? result, meta: receipt, payment: result.isError ? demand : undefined };
    },
  };
}

async function refusalOf(count: () => Promise<unknown>): Promise<ToolResult | undefined> {
  try {
    await count();
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, message, headers } = error as ApiError;
    return {
      isError: true,
      code,
      message,
      whatToDo: "Wait, and call no more often than the limits allow.",
      retryAfterSeconds: Number(headers["Retry-After"] ?? DEFAULT_RETRY_SECONDS),
    };
  }
}
