import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { Dispatcher } from "../../../api/features/outbox/dispatcher.ts";
import { createLanes } from "../../../api/features/outbox/lanes.ts";
import { outboxModels } from "../../../api/features/outbox/model.ts";
import { OUTBOX_TIMINGS } from "../../../api/features/outbox/module.ts";
import { Outbox } from "../../../api/features/outbox/outbox.ts";
import { createOutboxWriter, buildDispatches } from "../../../api/features/outbox/enqueue.ts";
import type { DispatchTarget } from "../../../api/features/outbox/enqueue.ts";
import { SLOT_LIMITS } from "../../../api/features/outbox/slots.ts";
import { createWebhookSender } from "../../../api/features/webhooks/dispatches/sender.ts";
import { withTransaction } from "../../../api/db/connection.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import type { FollowerBench } from "../../fixtures/follower.ts";
import { percentile } from "./floor.ts";

const LOOPBACK = "127.0.0.1";
const DEALS_EACH = 5;
/** Pause between two webhooks of the healthy seller, at most: they don't fall into step with the dispatcher's looks. */
const PAUSE_MS = 200;

/** Milliseconds from the commit of a webhook to its arrival. */
interface Delay {
  samples: number;
  p50Ms: number;
  p95Ms: number;
  maxMs: number;
}

const delayOf = (samples: readonly number[]): Delay => ({
  samples: samples.length,
  p50Ms: percentile(samples, 0.5),
  p95Ms: percentile(samples, 0.95),
  maxMs: percentile(samples, 1),
});

async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  return server;
}

async function end(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

const urlOf = (server: Server) => `http://${LOOPBACK}:${(server.address() as AddressInfo).port}/hook`;

/**
 * How long the webhooks of a healthy seller take alone, and beside sellers whose endpoints take five deals each and never
 * answer. One dispatcher with the settings of a worker sends them over HTTP. Alone is measured before and after, so that
 * a load on the machine that comes or goes is in both.
 */
export async function measureFairness(bench: FollowerBench, hangingSellers: number, seconds: number) {
  await bench.reset();
  const models = outboxModels(bench.connection);
  const writer = createOutboxWriter(models);
  const arrivals = new Map<string, () => void>();
  const healthy = await serve((request, response) => {
    arrivals.get(String(request.headers["x-service-event-id"]))?.();
    response.end();
  });
  const hanging = await serve(() => undefined);
  const sender = createWebhookSender({ allowedPrivateHosts: [LOOPBACK] });
  const { outbox: options, outboxPollMs } = OUTBOX_TIMINGS;
  const dispatcher = new Dispatcher({
    outbox: new Outbox(models, options),
    lanes: createLanes(models, options.leaseMs),
    send: ({ url, eventId, bodyJson }, signal) =>
      sender.send({ url, eventId, bodyJson: bodyJson ?? "", secret: "secret", timestamp: 0 }, signal),
    log: createLogger({ level: "silent", name: "bench" }),
    elapsedMs: () => performance.now(),
    owner: "bench",
    pollMs: outboxPollMs,
    slots: SLOT_LIMITS,
  });

  let events = 0;
  /** Commits an event as the follower does: one transaction, then the dispatcher of this process is woken. */
  async function put(targets: readonly DispatchTarget[], eventId = `evt_${(events += 1)}`): Promise<void> {
    const event = {
      eventId,
      eventType: "escrow.funded",
      transactionId: `txn_${eventId}`,
      orderKey: null,
      seq: 1,
      bodyJson: "{}",
    };
    const dispatches = buildDispatches(event, targets, new Date());
    await withTransaction(bench.connection, (session) => writer.enqueue(dispatches, session));
    dispatcher.wake();
  }

  async function healthyDelays(lastMs: number): Promise<number[]> {
    const delays: number[] = [];
    const endAt = performance.now() + lastMs;
    while (performance.now() < endAt) {
      const eventId = `evt_${(events += 1)}`;
      const arrived = new Promise<void>((resolve) => arrivals.set(eventId, resolve));
      const startedAt = performance.now();
      await put([{ agentId: "agt_healthy", url: urlOf(healthy) }], eventId);
      await arrived;
      delays.push(performance.now() - startedAt);
      arrivals.delete(eventId);
      await sleep(Math.random() * PAUSE_MS);
    }
    return delays;
  }

  const running = async <T>(work: () => Promise<T>): Promise<T> => {
    const stopping = new AbortController();
    const stopped = dispatcher.run(stopping.signal);
    try {
      return await work();
    } finally {
      stopping.abort();
      await stopped;
    }
  };
  const clear = async () => {
    for (const model of Object.values(models)) await model.deleteMany({});
  };

  const spanMs = seconds * 1_000;
  const before = await running(() => healthyDelays(spanMs / 2));
  await clear();
  const beside = await running(async () => {
    for (let deal = 0; deal < DEALS_EACH; deal += 1) {
      const sellers = Array.from({ length: hangingSellers }, (_, n) => `agt_hanging_${n}`);
      await Promise.all(sellers.map((agentId) => put([{ agentId, url: urlOf(hanging) }])));
    }
    return healthyDelays(spanMs);
  });
  await clear();
  const after = await running(() => healthyDelays(spanMs / 2));
  await Promise.all([end(healthy), end(hanging)]);
  const [alone, besideThem] = [delayOf([...before, ...after]), delayOf(beside)];
  return {
    alone,
    beside: besideThem,
    /** The goal is at most 2. */
    p50PerAlone: besideThem.p50Ms / alone.p50Ms,
    p95PerAlone: besideThem.p95Ms / alone.p95Ms,
  };
}
