import type { Connection } from "mongoose";

import { EVENT_STREAMS_PER_AGENT } from "../../config/constants.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { KeyStates } from "../identity/key-states.ts";
import { defineFeature } from "../feature.ts";
import type { OutboxWriter } from "../outbox/enqueue.ts";
import type { AuditTrail } from "./audit-trail.ts";
import { EventLog } from "./log.ts";
import { eventModels } from "./model.ts";
import { createEventRecorder } from "./recorder.ts";
import { eventRoutes } from "./routes.ts";
import type { EventDeps } from "./routes.ts";
import { StreamHub, STREAM_TIMINGS } from "./stream-hub.ts";
import type { StreamTimings } from "./stream-hub.ts";
import type { StreamDeps } from "./stream-route.ts";
import { StreamSlots, streamSlotsModel } from "./stream-slots.ts";
import { createEventStreams } from "./streams.ts";
import type { Subscriptions } from "./subscriptions.ts";

export type { StreamTimings } from "./stream-hub.ts";

/** Dependencies of the events feature. */
export interface EventsModuleDeps {
  connection: Connection;
  /** Takes the dispatches of events, in the transaction that writes the log. */
  outbox: OutboxWriter;
  /** The addresses that agents have registered for events. */
  subscriptions: Subscriptions;
  /** Takes the events of escrows, in the same transaction. */
  audit: AuditTrail;
  now: () => Date;
  /** Tells streams when their keys end. */
  keys: KeyStates;
  timings: StreamTimings;
  metrics: Pick<Metrics, "addGauge">;
  log: Logger;
  /** Aborted when the process stops. */
  shutdown: AbortSignal;
}

/** The public event log and its streams. */
export const eventsModule = defineFeature({
  routes: eventRoutes,
  timings: STREAM_TIMINGS,
  create({
    connection,
    outbox,
    subscriptions,
    audit,
    now,
    keys,
    timings,
    metrics,
    log: logger,
    shutdown,
  }: EventsModuleDeps) {
    const models = eventModels(connection);
    const log = new EventLog(models.events, models.lengths);
    const slots = new StreamSlots({
      slots: streamSlotsModel(connection),
      perAgent: EVENT_STREAMS_PER_AGENT,
      leaseMs: timings.streamLeaseMs,
      now,
    });
    const hub = new StreamHub({ connection, events: models.events, log, slots, keys, timings, shutdown, logger });
    metrics.addGauge({
      name: "event_streams",
      help: "Open event streams of this process",
      labels: [],
      read: () => Promise.resolve([{ labels: {}, value: hub.count() }]),
    });
    const services: EventDeps & StreamDeps = { eventLog: log, eventStreams: createEventStreams(log, hub, slots) };
    return { services, models, recorder: createEventRecorder({ models, outbox, subscriptions, audit, now }) };
  },
});
