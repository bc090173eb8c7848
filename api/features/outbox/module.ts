import type { Connection } from "mongoose";

import type { Changes } from "../../jobs/change-loop.ts";
import type { Logger } from "../../lib/logger.ts";
import { defineFeature } from "../feature.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { Send } from "./dispatcher.ts";
import { createLanes } from "./lanes.ts";
import { outboxModels } from "./model.ts";
import { Outbox, OUTBOX_DEFAULTS } from "./outbox.ts";
import type { OutboxOptions } from "./outbox.ts";
import { createOutboxWriter } from "./enqueue.ts";
import { SLOT_LIMITS } from "./slots.ts";
import { outboxState } from "./state.ts";

/** Durations of the background work. Tests shorten them. */
export interface OutboxTimings {
  /** Pause between checks for dispatches that have become due, in milliseconds. New ones are noticed at once. */
  outboxPollMs: number;
  outbox: OutboxOptions;
}

export const OUTBOX_TIMINGS: OutboxTimings = { outboxPollMs: 2_000, outbox: OUTBOX_DEFAULTS };

/** Dependencies of the outbox. */
export interface OutboxModuleDeps {
  connection: Connection;
  changes: Pick<Changes, "on">;
  log: Logger;
  now: () => Date;
  /** Identifies this process in leases. */
  processId: string;
  timings: OutboxTimings;
}

/** The queue of dispatches to agents: one lane per agent, served in turns. Features define how to send theirs. */
export const outboxModule = defineFeature({
  routes: [],
  timings: OUTBOX_TIMINGS,
  create({ connection, changes, log, now, processId, timings }: OutboxModuleDeps) {
    const models = outboxModels(connection);
    return {
      services: {},
      models,
      writer: createOutboxWriter(models),
      /** The backlog and its age, for readiness and metrics. */
      state: () => outboxState(models.dispatches, now()),
      /** Creates a dispatcher that sends with the given function. It wakes whenever a process has put something into the outbox. */
      dispatcher(send: Send): Dispatcher {
        const dispatcher = new Dispatcher({
          outbox: new Outbox(models, timings.outbox),
          lanes: createLanes(models, timings.outbox.leaseMs),
          send,
          log,
          owner: processId,
          elapsedMs: () => performance.now(),
          pollMs: timings.outboxPollMs,
          slots: SLOT_LIMITS,
        });
        changes.on(models.arrivals, ({ operationType }) => {
          if (operationType === "insert") dispatcher.wakeSoon();
        });
        return dispatcher;
      },
    };
  },
});
