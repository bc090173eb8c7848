import type { Connection } from "mongoose";

import type { Limits } from "../../config/limits.ts";
import { PageSessions } from "../../http/page-session.ts";
import type { Clock } from "../../lib/clock.ts";
import { offsetMsOf } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { AgentModels } from "../agents/model.ts";
import { defineFeature } from "../feature.ts";
import { accessModels } from "./access-model.ts";
import { createClientWindows, createCounter } from "./client-windows.ts";
import { StoredAdmissionControl } from "./admission-control.ts";
import { createCredits } from "./credits.ts";
import { createRefusals } from "./refusals.ts";
import { limitRoutes } from "./routes.ts";
import type { LimitDeps } from "./routes.ts";
import { createScoreCopies } from "./scores.ts";
import type { ScoreCopies } from "./scores.ts";
import { createSessionUse } from "./session-use.ts";
import { Settlements } from "./settlements.ts";
import { createUsageReader } from "./usage.ts";

/** Dependencies of the limits feature. */
export interface LimitsModuleDeps {
  connection: Connection;
  models: Pick<AgentModels, "agents">;
  clock: Clock;
  log: Logger;
  limits: Limits;
  metrics: Pick<Metrics, "addCounter">;
  publicUrl: string;
}

/** Creates the copies of scores that multiply budgets. Separate from the feature, because standings need them first. */
export function scoreCopiesOf(connection: Connection): ScoreCopies {
  return createScoreCopies(accessModels(connection));
}

/** Admission of calls, rate limits, budgets and prepaid calls. */
export const limitsModule = defineFeature({
  routes: limitRoutes,
  create(deps: LimitsModuleDeps) {
    const { connection, models, clock, log, limits, metrics, publicUrl } = deps;
    const access = accessModels(connection);
    const offsetMs = () => offsetMsOf(clock);
    const warn = (message: string) => (error: unknown) => {
      log.warn({ err: error }, message);
    };
    const settlements = new Settlements({
      models: access,
      offsetMs,
      onFailure: warn("couldn't settle calls; they are settled later"),
    });
    const countRefusal = createRefusals({
      models: access,
      offsetMs,
      onFailure: warn("couldn't count a refusal towards a suspension"),
    });
    const countCall = createCounter(access, offsetMs);
    const windows = createClientWindows(countCall, limits.rateLimits);
    const countPrepaid = metrics.addCounter({
      name: "prepaid_calls_total",
      help: "Prepaid calls that were served, by class",
      labels: ["class"],
    });
    const admissionControl = new StoredAdmissionControl({
      models: access,
      windows,
      settlements,
      countRefusal,
      sessions: new PageSessions(publicUrl),
      noteSessionUse: createSessionUse({
        models: access,
        onFailure: warn("couldn't note the use of a session; a later call does"),
      }),
      limits,
      now: () => clock.now(),
      offsetMs,
      onPrepaid: (type) => {
        countPrepaid({ class: type });
      },
    });
    const services: LimitDeps = {
      readUsage: createUsageReader({ ...models, ...access }, limits, () => clock.now()),
    };
    return {
      services,
      models: access,
      admissionControl,
      countCall,
      flush: () => settlements.flush(),
      credit: createCredits(access),
    };
  },
});
