import { createServer } from "node:http";
import type { Server } from "node:http";
import { Server as SocketServer } from "node:net";
import type { Socket } from "node:net";
import { pathToFileURL } from "node:url";
import process from "node:process";

import { createApp, defaultHeadersOf } from "./app.ts";
import { loadEnv } from "./config/env.ts";
import { createContainer } from "./container.ts";
import { CONNECTION_LIMITS, guardConnections } from "./http/connection-guard.ts";
import type { ConnectionLimits } from "./http/connection-guard.ts";
import { listenForScrapes } from "./http/metrics-server.ts";
import { answerClientError } from "./http/client-errors.ts";
import type { Container } from "./container.ts";
import { runProcess, stopInOrder } from "./lib/process.ts";
import { createLogger } from "./lib/logger.ts";
import { takeNoArguments } from "./commands/usage.ts";

/** How long clients may take, in milliseconds. A slower one gets 408 and its connection is closed. */
export interface ServerTimeouts {
  /** For the whole request. */
  requestTimeout: number;
  headersTimeout: number;
  /** Between two requests. Longer than a load balancer's, which would otherwise send into a closed connection. */
  keepAliveTimeout: number;
  /** How often the first two are checked. */
  connectionsCheckingInterval: number;
}

const SERVER_TIMEOUTS: ServerTimeouts = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
};
/** How long in-flight requests may take once the process stops; those that take longer are answered 503. */
const DRAIN_MS = 4_000;
/** When the connections are cut whose clients don't read their answers. */
const DRAIN_TIMEOUT_MS = 5_000;
const BACKGROUND_LIMIT_MS = 1_000;
const METRICS_LIMIT_MS = 500;
/** How long the connections may take to close. */
const CLOSE_LIMIT_MS = 2_000;

/** The HTTP server of a container. */
export interface RunningServer {
  server: Server;
  /** The listening port. */
  port: number;
  /** Accepts no new requests, waits for in-flight ones and closes. */
  stop(): Promise<void>;
}

/**
 * Starts listening.
 * @param bounds replaces some of the usual ones
 */
export async function listen(
  container: Container,
  host: string,
  port: number,
  bounds: Partial<ServerTimeouts & ConnectionLimits> = {},
): Promise<RunningServer> {
  const { clock, metrics, env } = container;
  const server = createServer({ ...SERVER_TIMEOUTS, ...bounds, requireHostHeader: false });
  const connections = guardConnections(server, {
    handle: createApp(container).callback(),
    limits: { ...CONNECTION_LIMITS, ...bounds },
    perAddress: env.connectionsPerAddress,
    metrics,
  });
  server.on("request", connections.take);
  // Otherwise Node answers an unknown `Expect` with a bare 417.
  server.on("checkExpectation", connections.take);
  const answerUnread = answerClientError({ defaultHeaders: defaultHeadersOf(container), clock, metrics });
  server.on("clientError", (error, socket: Socket) => {
    if (!connections.isLateBehindOthers(error, socket)) answerUnread(error, socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return {
    server,
    port: typeof address === "object" && address !== null ? address.port : port,
    stop: () =>
      stopServer(server, connections.closeWhenAnswered(), () => {
        container.endDrain();
      }),
  };
}

async function stopServer(server: Server, allAnswered: Promise<undefined>, endDrain: () => void): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    // To an HTTP server's own `close` a connection is idle whose answer has ended and isn't written yet: it cuts it.
    SocketServer.prototype.close.call(server, () => {
      resolve();
    });
  });
  void allAnswered.then(() => {
    server.closeIdleConnections();
  });
  const answer = setTimeout(endDrain, DRAIN_MS);
  const force = setTimeout(() => {
    server.closeAllConnections();
  }, DRAIN_TIMEOUT_MS);
  await closed;
  clearTimeout(answer);
  clearTimeout(force);
}

const HELP = `usage: npm run api -- [--help]

Runs the HTTP API until SIGINT or SIGTERM. Environment variables configure it (docs/operating/configuration.md); several
processes may share one database. The worker is a process of its own: npm run worker.
  --help   this text`;

async function main(): Promise<void> {
  takeNoArguments(HELP);
  const env = loadEnv();
  const log = createLogger({ level: env.logLevel, name: "api" });
  await runProcess(log, async () => {
    const container = await createContainer({ env, log });
    const running = await listen(container, env.host, env.port);
    const scrapes =
      env.metricsPort === undefined
        ? undefined
        : await listenForScrapes(container.metrics, { host: env.host, port: env.metricsPort, log });
    const loops = Promise.all(container.apiLoops.map((loop) => loop.run(container.shutdown)));
    log.info({ host: env.host, port: running.port, publicUrl: env.publicUrl }, "API listens");
    return async () => {
      container.beginShutdown();
      await stopInOrder(log, [
        { name: "HTTP server", limitMs: DRAIN_TIMEOUT_MS + 1_000, stop: () => running.stop() },
        { name: "background work", limitMs: BACKGROUND_LIMIT_MS, stop: () => loops },
        { name: "metrics", limitMs: METRICS_LIMIT_MS, stop: async () => scrapes?.stop() },
        { name: "connections", limitMs: CLOSE_LIMIT_MS, stop: () => container.close() },
      ]);
    };
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
