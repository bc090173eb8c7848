import type { Connection } from "mongoose";

import { defineFeature } from "../feature.ts";
import type { OutboxWriter } from "../outbox/put.ts";
import type { AuditTrail } from "./audit-trail.ts";
import { createEventLog } from "./log.ts";
import { eventModels } from "./model.ts";
import { createEventRecorder } from "./recorder.ts";
import { eventRoutes } from "./routes.ts";
import type { EventDeps } from "./routes.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** Dependencies of the events feature. */
export interface EventsModuleDeps {
  connection: Connection;
  /** Takes the dispatches of events, in the transaction that writes the log. */
  outbox: OutboxWriter;
  /** Where else events go: the addresses that agents have registered. */
  subscriptions: Subscriptions;
  /** Takes the events of escrows, in the same transaction. */
  audit: AuditTrail;
  now: () => Date;
}

/** The public event log. */
export const eventsModule = defineFeature({
  routes: eventRoutes,
  create({ connection, outbox, subscriptions, audit, now }: EventsModuleDeps) {
    const models = eventModels(connection);
    const services: EventDeps = { eventLog: createEventLog(models.events) };
    return { services, models, recorder: createEventRecorder({ models, outbox, subscriptions, audit, now }) };
  },
});
