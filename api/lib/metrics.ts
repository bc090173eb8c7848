import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

/** An answer of the API, as metrics see it. */
export interface AnsweredRequest {
  method: string;
  /** Path of the matched route with placeholders; `(none)` for an unknown path. */
  route: string;
  status: number;
  /** Code of an error from the catalogue. */
  code: string | undefined;
  seconds: number;
}

/** Reads gauges when they are scraped: label values and number, or none where that isn't known. */
export type GaugeReader<Label extends string> = () => Promise<
  readonly { labels: Readonly<Record<Label, string>>; value: number | null }[]
>;

/** Adds to a counter: label values, and how much, by default 1. */
export type Count<Label extends string> = (labels: Readonly<Record<Label, string>>, value?: number) => void;

/** Why a connection was closed before its time: its address had too many, or its client took no answer. */
const CLOSING_REASONS = ["address", "stalled"] as const;

/** The service's metrics, in the form of Prometheus. */
export interface Metrics {
  answered(request: AnsweredRequest): void;
  connectionClosed(reason: (typeof CLOSING_REASONS)[number]): void;
  /** Adds a counter of this process, which starts at 0. A combination of labels appears with its first count. */
  addCounter<Label extends string>(counter: { name: string; help: string; labels: readonly Label[] }): Count<Label>;
  /** Adds gauges that are read at each scrape. A failed read leaves them out of that scrape. */
  addGauge<Label extends string>(gauge: {
    name: string;
    help: string;
    labels: readonly Label[];
    read: GaugeReader<Label>;
  }): void;
  /** Adds the metrics of the process: memory, CPU, event loop delay, garbage collection. */
  addProcessMetrics(): void;
  /** Text of all metrics and its content type. */
  text(): Promise<{ contentType: string; body: string }>;
}

/** Seconds: from an indexed read to a request that waits for a block. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Creates the metrics of one process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: "http_requests_total",
    help: "Requests answered, by route and status",
    labelNames: ["method", "route", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "http_request_duration_seconds",
    help: "Time from a request's arrival to the end of its answer",
    labelNames: ["method", "route"],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const errors = new Counter({
    name: "http_errors_total",
    help: "Errors answered, by code: limits hit, budgets used up, payments refused and all others",
    labelNames: ["code"],
    registers,
  });
  const closed = new Counter({
    name: "http_connections_closed_total",
    help: "Connections closed because they took more than their share, by reason",
    labelNames: ["reason"],
    registers,
  });
  for (const reason of CLOSING_REASONS) closed.inc({ reason }, 0);
  return {
    connectionClosed(reason) {
      closed.inc({ reason });
    },
    answered({ method, route, status, code, seconds }) {
      requests.inc({ method, route, status: String(status) });
      durations.observe({ method, route }, seconds);
      if (code !== undefined) errors.inc({ code });
    },
    addCounter({ name, help, labels }) {
      const counter = new Counter({ name, help, registers, labelNames: labels });
      return (values, value = 1) => {
        counter.inc(values, value);
      };
    },
    addGauge({ name, help, labels, read }) {
      new Gauge({
        name,
        help,
        registers,
        labelNames: labels,
        async collect() {
          this.reset();
          // A gauge without labels would serve 0 where nothing is known.
          if (labels.length === 0) this.remove();
          const readings = await read().catch(() => []);
          for (const { labels: values, value } of readings) if (value !== null) this.set(values, value);
        },
      });
    },
    addProcessMetrics() {
      collectDefaultMetrics({ register: registry });
    },
    async text() {
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}
