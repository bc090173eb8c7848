import { createServer } from "node:http";

import type { Logger } from "../lib/logger.ts";
import type { Metrics } from "../lib/metrics.ts";

/** A server for Prometheus. */
export interface MetricsServer {
  port: number;
  stop(): Promise<void>;
}

/**
 * Serves `GET /metrics`, on a port of its own: the numbers of a service are for its operator, so they aren't on the
 * public port.
 */
export async function listenForScrapes(
  metrics: Metrics,
  { host, port, log }: { host: string; port: number; log: Logger },
): Promise<MetricsServer> {
  metrics.addProcessMetrics();
  const server = createServer((request, response) => {
    if (request.method !== "GET" || request.url !== "/metrics") {
      response.writeHead(404).end();
      return;
    }
    metrics.text().then(
      ({ contentType, body }) => response.writeHead(200, { "Content-Type": contentType }).end(body),
      (error: unknown) => {
        log.error({ err: error }, "couldn't collect metrics");
        response.writeHead(500).end();
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const actualPort = typeof address === "object" && address !== null ? address.port : port;
  log.info({ host, port: actualPort }, "metrics are served");
  return {
    port: actualPort,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
