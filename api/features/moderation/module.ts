import type { Connection } from "mongoose";

import type { Clock } from "../../lib/clock.ts";
import type { AgentModels } from "../agents/model.ts";
import { createTradeGate } from "../agents/trade-gate.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { defineFeature } from "../feature.ts";
import type { ListingModel } from "../listings/model.ts";
import { createDecisions } from "./decisions.ts";
import { decisionModel } from "./model.ts";
import { moderationRoutes } from "./routes.ts";
import type { ModerationDeps } from "./routes.ts";

/** Dependencies of the moderation feature. */
export interface ModerationModuleDeps {
  connection: Connection;
  agents: AgentModels["agents"];
  listings: ListingModel;
  recorder: EventRecorder;
  clock: Clock;
}

/** What an operator does about listings and agents: hidden, suspended, restored. */
export const moderationModule = defineFeature({
  routes: moderationRoutes,
  create({ connection, agents, listings, recorder, clock }: ModerationModuleDeps) {
    const models = { decisions: decisionModel(connection) };
    const gate = createTradeGate(connection);
    const services: ModerationDeps = {
      decisions: createDecisions({ connection, ...models, agents, listings, gate, recorder, clock }),
    };
    return { services, models };
  },
});
