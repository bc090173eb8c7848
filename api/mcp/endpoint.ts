import { AsyncLocalStorage } from "node:async_hooks";

import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import type { McpServerFactory } from "@modelcontextprotocol/server";
import type { Middleware, ParameterizedContext } from "koa";

import { createMcpServer } from "../../tools/src/index.ts";
import type { McpHost, OpenCall } from "../../tools/src/index.ts";
import { rateHeaders } from "../http/admission.ts";
import { RequestBody } from "../http/body.ts";
import { ApiError } from "../http/errors.ts";
import type { RequestState } from "../http/middleware/request-context.ts";
import type { Logger } from "../lib/logger.ts";
import { checkDoors } from "./doors.ts";
import type { DoorOptions } from "./doors.ts";
import { openCall } from "./hosted-call.ts";
import type { HostedCallDeps, HostedRequest } from "./hosted-call.ts";
import { isSubscription, serveSubscription } from "./subscriptions.ts";

/** Dependencies of the endpoint. */
export interface McpEndpointDeps extends HostedCallDeps {
  version: string;
  log: Logger;
  doors: DoorOptions;
  /** Makes the server of a request; the catalogue's by default. */
  createServer?: ServerFactory | undefined;
}

/** Makes a server on behalf of a host. */
export type ServerFactory = (host: McpHost) => ReturnType<typeof createMcpServer>;

type Context = ParameterizedContext<RequestState>;

/** Where the tools are served. */
const PATH = "/mcp";

/** Methods that run a tool. Each of their calls counts by itself; all others count for the client's address. */
const COUNTED_BY_CALL = new Set(["tools/call", "resources/read"]);
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

/**
 * Serves the tools by the Model Context Protocol, without a session, for all revisions of the official package. Every call runs
 * through the application's own pipeline.
 */
export function mcpEndpoint({
  version,
  log,
  doors,
  createServer = createMcpServer,
  ...deps
}: McpEndpointDeps): Middleware {
  /** The request of a client, while its messages are handled. */
  const requests = new AsyncLocalStorage<HostedRequest>();
  const onerror = (error: Error) => {
    log.debug({ err: error }, "an MCP request was refused");
  };
  const factory: McpServerFactory = ({ era }) => {
    const hosted = requests.getStore();
    if (hosted === undefined) throw new Error("An MCP server is made without a request");
    const open = (call: Parameters<typeof openCall>[2]): OpenCall => openCall(deps, hosted, call);
    return createServer({ version, takesPayments: true, reportsUpdates: era === "modern", open });
  };
  // Its subscriptions follow nothing, so they end at once.
  const handler = createMcpHandler(factory, { onerror });
  const answer = toNodeHandler(handler, { onerror });
  const serve: Middleware = async (koaContext) => {
    const context = koaContext as unknown as Context;
    const { req, res, ip } = context;
    const count = async () => {
      context.set(rateHeaders(await deps.admissionControl.countAnonymous(ip)));
    };
    const body = new RequestBody(context);
    const read = context.method === "POST" ? await readMessage(body) : { message: undefined };
    const isStream = "message" in read && isSubscription(read.message);
    const isCall = isStream || ("message" in read && COUNTED_BY_CALL.has(methodOf(read.message)));
    if (!isCall) await count();
    if ("refusal" in read) throw read.refusal;
    if ("failure" in read) {
      context.status = BAD_REQUEST;
      context.body = { jsonrpc: "2.0", error: read.failure, id: null };
      return;
    }
    const { message } = read;
    const outer = {
      method: context.method,
      target: context.originalUrl,
      headers: context.headers,
      bodyBytes: await body.bytes(),
      response: res,
    };
    const hosted = { request: req, outer, ip, requestId: context.state.requestId, calls: 0 };
    // The package writes the answer itself, which may be a stream.
    (context as { respond?: boolean }).respond = false;
    const serveMessage = () =>
      isStream ? serveSubscription({ ...deps, factory, onerror }, hosted, message) : answer(req, res, message);
    await requests.run(hosted, serveMessage);
    // The protocol has refused it before any tool was asked.
    if (isCall && hosted.calls === 0) await deps.admissionControl.countAnonymous(ip).catch(() => undefined);
  };
  const check = checkDoors(doors);
  return async (context, next) => {
    if (context.path !== PATH) {
      await next();
      return;
    }
    (context.state as RequestState).route = PATH;
    await check(context, async () => {
      await serve(context, next);
    });
  };
}

const methodOf = (message: unknown): string => String((message as { method?: unknown } | undefined)?.method);

/** The message of a body, the JSON-RPC error of one that holds none, or why it can't be read. */
type Read = { message: unknown } | { failure: { code: number; message: string } } | { refusal: ApiError };

/** Reads the message of a request. A number that a double doesn't keep is refused as in every other body, before it is lost. */
async function readMessage(body: RequestBody): Promise<Read> {
  try {
    const message = await body.json();
    if (!Array.isArray(message)) return { message };
    return { failure: { code: INVALID_REQUEST, message: "Send one message a request" } };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const refusal = error as ApiError;
    if (refusal.status !== BAD_REQUEST) return { refusal };
    const { code, details } = refusal;
    if (code === "malformed_json") return { failure: { code: PARSE_ERROR, message: "The body isn't JSON" } };
    const issues = Array.isArray(details) ? (details as { path?: unknown; message?: unknown }[]) : [];
    const named = issues.map(({ path, message }) => `${String(path)}: ${String(message)}`).join("; ");
    return { failure: { code: INVALID_REQUEST, message: named || refusal.message } };
  }
}

const BAD_REQUEST = 400;
