import { defineFeature } from "../feature.ts";
import type { AuditMemory } from "../memory/audit/trails.ts";
import type { MessageReader } from "../messages/reader.ts";
import type { DispatchModel } from "../outbox/model.ts";
import type { TransactionReader } from "../transactions/reader.ts";
import { timelineRoutes } from "./routes.ts";
import type { TimelineDeps } from "./routes.ts";
import { auditSource, messageSource, webhookSource } from "./sources.ts";
import { createTimelines } from "./timeline.ts";

/** Dependencies of the timeline feature. */
export interface TimelineModuleDeps {
  reader: TransactionReader;
  audit: Pick<AuditMemory, "readAudit">;
  dispatches: DispatchModel;
  messagesOf: MessageReader["readByTransaction"];
}

/** The timelines of deals: moves, audit entries, webhook attempts and messages. */
export const timelineModule = defineFeature({
  routes: timelineRoutes,
  create({ reader, audit, dispatches, messagesOf }: TimelineModuleDeps) {
    const services: TimelineDeps = {
      timelines: createTimelines({
        read: (transactionId, agentId, at) => reader.read(transactionId, agentId, at),
        sources: {
          audit: auditSource((transactionId, agentId) => audit.readAudit(transactionId, agentId)),
          webhook: webhookSource(dispatches),
          message: messageSource(messagesOf),
        },
      }),
    };
    return { services };
  },
});
