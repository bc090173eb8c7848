import type { Connection } from "mongoose";

import type { Changes } from "../../jobs/change-loop.ts";
import type { JobDefinition } from "../../jobs/define-job.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { EventModel } from "../events/model.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { defineFeature } from "../feature.ts";
import { createIntents } from "../intents/intents.ts";
import { FanOut, FAN_OUT_TIMINGS } from "./fan-out.ts";
import type { FanOutTimings } from "./fan-out.ts";
import { messageModels } from "./model.ts";
import { MessageReader } from "./reader.ts";
import { createExpireMessages } from "./retention.ts";
import { messageRoutes } from "./routes.ts";
import type { MessageDeps } from "./routes.ts";
import { MessageSender } from "./sender.ts";
import type { MessageSenderDeps } from "./sender.ts";
import { topicRoutes } from "./topic-routes.ts";
import type { TopicDeps } from "./topic-routes.ts";
import { createTopicService } from "./topics.ts";
import { messageWebhookRoutes } from "./webhook-routes.ts";

export type { FanOutTimings } from "./fan-out.ts";

/** Dependencies of the messages feature. */
export interface MessagesModuleDeps extends Pick<MessageSenderDeps, "findAgent" | "findTransaction"> {
  connection: Connection;
  changes: Pick<Changes, "on">;
  clock: Clock;
  log: Logger;
  recorder: EventRecorder;
  /** The event log. Deleting a message removes its content there. */
  events: EventModel;
  timings: FanOutTimings;
  processId: string;
}

const EXPIRE_EVERY_MS = 3_600_000;

/** Messages to agents and topics, and ucp messages. */
export const messagesModule = defineFeature({
  routes: [...messageRoutes, ...topicRoutes, ...messageWebhookRoutes],
  timings: FAN_OUT_TIMINGS,
  create({ connection, changes, clock, log, recorder, events, timings, processId, ...lookups }: MessagesModuleDeps) {
    const models = messageModels(connection);
    const reader = new MessageReader(connection, models, clock);
    const messagesOf: MessageReader["readByTransaction"] = (transactionId, agentId, limit) =>
      reader.readByTransaction(transactionId, agentId, limit);
    const findReceived: MessageReader["findReceived"] = (agentId, messageId) => reader.findReceived(agentId, messageId);
    const intents = createIntents(connection);
    const sender = new MessageSender({ connection, intents, models, reader, recorder, clock, ...lookups });
    const fanOut = new FanOut({ connection, models, recorder, clock, log, timings, processId });
    changes.on(models.topics, () => {
      fanOut.loop.wake();
    });
    const expireMessages = createExpireMessages({ connection, models, events, clock });
    const services: MessageDeps & TopicDeps = {
      messageSender: sender,
      messageReader: reader,
      messageTopics: createTopicService(connection, models, clock),
    };
    const jobs: JobDefinition[] = [
      {
        name: "messages.expire",
        everyMs: EXPIRE_EVERY_MS,
        run: async ({ log: jobLog, signal }) => {
          const deleted = await expireMessages(signal);
          if (deleted > 0) jobLog.info({ deleted }, "messages expired");
        },
      },
    ];
    const loops = [fanOut.loop];
    return { services, models, jobs, loops, fanOut, expireMessages, messagesOf, findReceived };
  },
});
