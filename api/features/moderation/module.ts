import type { Connection } from "mongoose";

import type { Clock } from "../../lib/clock.ts";
import { createTradeGate } from "../agents/trade-gate.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { defineFeature } from "../feature.ts";
import { appealRoutes } from "./appeal-routes.ts";
import type { AppealRouteDeps } from "./appeal-routes.ts";
import { Appeals } from "./appeals.ts";
import { createDecisions } from "./decisions.ts";
import { moderationModels } from "./model.ts";
import { reportRoutes } from "./report-routes.ts";
import type { ReportRouteDeps } from "./report-routes.ts";
import { Reports } from "./reports.ts";
import type { ReportDeps } from "./reports.ts";
import { moderationRoutes } from "./routes.ts";
import type { ModerationDeps } from "./routes.ts";
import type { SubjectModels } from "./subjects.ts";

/** Dependencies of the moderation feature. */
export interface ModerationModuleDeps extends SubjectModels, Pick<ReportDeps, "countCall" | "findReceived"> {
  connection: Connection;
  recorder: EventRecorder;
  clock: Clock;
}

/** What agents report, what an operator does about listings and agents, and what these say against it. */
export const moderationModule = defineFeature({
  routes: [...moderationRoutes, ...reportRoutes, ...appealRoutes],
  create(deps: ModerationModuleDeps) {
    const models = moderationModels(deps.connection);
    const shared = { ...deps, ...models, gate: createTradeGate(deps.connection) };
    const appeals = new Appeals(shared);
    const services: ModerationDeps & ReportRouteDeps & AppealRouteDeps = {
      decisions: createDecisions({ ...shared, appeals }),
      reports: new Reports(shared),
      appeals,
    };
    return { services, models };
  },
});
