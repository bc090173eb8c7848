import type { Connection } from "mongoose";

import type { Clock } from "../../lib/clock.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { defineFeature } from "../feature.ts";
import { listOrigins } from "../identity/sign-in-message.ts";
import { approvalModel } from "../mandates/approval-model.ts";
import { mandateModel } from "../mandates/model.ts";
import { createApprovals } from "./approvals.ts";
import { approvalRoutes } from "./routes.ts";
import type { ApprovalRouteDeps } from "./routes.ts";

/** Dependencies of the approvals feature. */
export interface ApprovalsModuleDeps {
  connection: Connection;
  recorder: EventRecorder;
  clock: Clock;
  publicUrl: string;
}

/** Checkouts above a mandate's amounts that the wallet approves or declines. */
export const approvalsModule = defineFeature({
  routes: approvalRoutes,
  create({ connection, recorder, clock, publicUrl }: ApprovalsModuleDeps) {
    const models = { approvals: approvalModel(connection), mandates: mandateModel(connection) };
    const hosts = listOrigins(new URL(publicUrl)).map(({ host }) => host);
    const services: ApprovalRouteDeps = {
      approvals: createApprovals({ connection, ...models, recorder, clock, hosts }),
    };
    return { services, models };
  },
});
