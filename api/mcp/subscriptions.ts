import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";

import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, InMemoryServerEventBus, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { McpServerFactory, ServerEventBus } from "@modelcontextprotocol/server";
import { createParser } from "eventsource-parser";

import { CompoundCall } from "../http/compound-call.ts";
import { ApiError } from "../http/errors.ts";
import type { HostedCallDeps, HostedRequest } from "./hosted-call.ts";
import { answerInside } from "./inner-fetch.ts";
import { paymentHeaders } from "./payments.ts";

const METHOD = "subscriptions/listen";
/** The stream that reports what happens to an agent's deals. It is admitted, counted and ended as any client's. */
const STREAM = { name: "events.stream", path: "/api/v1/events/stream" };
const OK = 200;

/** A message as far as it is looked at before the package checks it. */
interface Message {
  id?: unknown;
  method?: unknown;
  params?: { notifications?: { resourceSubscriptions?: unknown }; _meta?: Record<string, unknown> };
}

/** Whether a message subscribes to changes of resources, which takes one of the agent's streams. */
export function isSubscription(message: unknown): boolean {
  const { method, params } = (message ?? {}) as Message;
  const uris = params?.notifications?.resourceSubscriptions;
  return method === METHOD && Array.isArray(uris) && uris.length > 0;
}

/** Dependencies of subscriptions. */
export interface SubscriptionDeps extends HostedCallDeps {
  factory: McpServerFactory;
  onerror: (error: Error) => void;
}

/**
 * Serves one `subscriptions/listen` until its client leaves, its key ends, or the process stops. Only the caller's own deals reach it,
 * because it reads the caller's own event stream.
 */
export async function serveSubscription(
  { factory, onerror, ...deps }: SubscriptionDeps,
  hosted: HostedRequest,
  message: unknown,
): Promise<void> {
  const { request, outer } = hosted;
  const { response } = outer;
  const opened = await openStream(deps, hosted, (message as Message).params?._meta ?? {});
  if ("refusal" in opened) {
    const error = { code: ProtocolErrorCode.InvalidParams, ...opened.refusal };
    answerJson(response, { jsonrpc: "2.0", id: (message as Message).id ?? null, error });
    return;
  }
  // A bus of its own: a shared one would tell everyone of everyone's deals.
  const events = new InMemoryServerEventBus(onerror);
  const bus: ServerEventBus = {
    publish(event) {
      events.publish(event);
    },
    subscribe(listener) {
      const unsubscribe = events.subscribe(listener);
      // Not before, or what happens first would reach nobody. The package ends the subscription once the stream has ended.
      void forward(opened.stream, events, response)
        .catch(onerror)
        .finally(() => void handler.close());
      return unsubscribe;
    },
  };
  const handler = createMcpHandler(factory, { onerror, bus, maxSubscriptions: 1 });
  response.once("close", opened.close);
  if (response.destroyed) opened.close();
  try {
    await toNodeHandler(handler, { onerror })(request, response, message);
  } finally {
    // The protocol has refused it, or it is over.
    opened.close();
  }
}

type Opened = { stream: Readable; close: () => void } | { refusal: { message: string; data: Record<string, unknown> } };

/** Opens the caller's event stream, as a request of the caller's to the application. */
async function openStream(
  { handle, routes, admissionControl }: HostedCallDeps,
  hosted: HostedRequest,
  meta: Record<string, unknown>,
): Promise<Opened> {
  const { request, outer, ip, requestId } = hosted;
  hosted.calls += 1;
  const main = routes.find(({ name }) => name === STREAM.name);
  if (main === undefined) throw new Error(`The route ${STREAM.name} doesn't exist`);
  const call = new CompoundCall({ outer, main, payment: paymentHeaders(meta) });
  const answer = await answerInside(
    { handle, call, request, requestId },
    { method: "GET", url: STREAM.path, headers: {}, payloadAsStream: true },
  );
  const stream = answer.stream();
  const close = () => {
    answer.raw.res.destroy();
  };
  await call.end();
  if (answer.statusCode === OK) return { stream, close };
  const refused = call.isCounted ? undefined : await refusalOf(admissionControl, ip);
  const body = refused ?? (JSON.parse(await textOf(stream)) as { error?: unknown; code?: unknown; details?: unknown });
  return { refusal: { message: String(body.error), data: { code: body.code, details: body.details } } };
}

/** A request that was refused before it counted counts for its client's address. */
async function refusalOf(control: HostedCallDeps["admissionControl"], ip: string) {
  try {
    await control.countAnonymous(ip);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, message, details } = error as ApiError;
    return { error: message, code, details };
  }
}

/** Reports each event's deal as an updated resource. Reads no faster than the client does. */
async function forward(stream: Readable, bus: ServerEventBus, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => {
    gone.abort();
  });
  const parser = createParser({
    onEvent({ data }) {
      const { transactionId } = JSON.parse(data) as { transactionId: string | null };
      if (transactionId !== null) bus.publish({ kind: "resource_updated", uri: `deal://${transactionId}` });
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    parser.feed(decoder.decode(chunk as Buffer, { stream: true }));
    if (response.writableNeedDrain) await once(response, "drain", { signal: gone.signal });
  }
}

async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function answerJson(response: ServerResponse, body: object): void {
  response.writeHead(OK, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
