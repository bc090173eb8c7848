import { z } from "zod";

import { dataOf, listOf, timestampOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { validationError } from "../../http/errors.ts";
import { encodeCursor, pageCursor, pageLimit } from "../../http/query-params.ts";
import type { SubscriptionRecord } from "./model.ts";
import { topicName } from "./schemas.ts";
import type { TopicService } from "./topics.ts";

/** Dependencies of the topic routes. */
export interface TopicDeps {
  messageTopics: TopicService;
}

const general = { tag: "Messages", auth: "apiKey", limitClass: "general", budget: "api" } as const;
const PATH = "/api/v1/messages/subscribe";

const subscription = z
  .object({
    topic: z.string(),
    subscribedAt: timestampOutput,
    deliveredSeq: z.number().int().meta({ description: "`topicSeq` of the last message that has arrived" }),
    missed: z.number().int().meta({ description: "Messages that found no room in the inbox for 24 hours" }),
  })
  .meta({ id: "TopicSubscription" });

function present({ topic, createdAt, deliveredSeq, missed }: SubscriptionRecord) {
  return { topic, subscribedAt: createdAt.toISOString(), deliveredSeq, missed };
}

const subscribe = defineRoute({
  name: "topics.subscribe",
  scope: "message",
  ...general,
  method: "POST",
  path: PATH,
  summary: "Subscribes the caller to a topic",
  description:
    "Messages that are sent from now on arrive in the inbox, each once and in order, but not the caller's own. Any agent may " +
    "subscribe to any topic, at most to 100. A repeat changes nothing.",
  body: z.strictObject({ topic: topicName }).meta({ id: "SubscriptionRequest", examples: [{ topic: "token-risks" }] }),
  responses: { 200: dataOf(subscription) },
  errors: ["subscription_limit_reached"],
}).handle(async ({ body, caller }, { messageTopics }: TopicDeps) => ({
  status: 200,
  body: { success: true, data: present(await messageTopics.subscribe(caller.agentId, body.topic)) },
}));

const unsubscribe = defineRoute({
  name: "topics.unsubscribe",
  scope: "message",
  ...general,
  method: "DELETE",
  path: PATH,
  summary: "Ends the caller's subscription to a topic",
  description:
    "`topic` is a query parameter, because many clients drop the body of a DELETE; a body `{topic}` counts too. What has " +
    "already arrived stays in the inbox. A repeat changes nothing.",
  query: z.strictObject({ topic: topicName.optional() }),
  body: z.strictObject({ topic: topicName.optional() }),
  responses: {
    200: dataOf(z.object({ topic: z.string(), unsubscribed: z.boolean() }).meta({ id: "EndedSubscription" })),
  },
}).handle(async ({ query, body, caller }, { messageTopics }: TopicDeps) => {
  const topic = query.topic ?? body.topic;
  if (topic === undefined) throw validationError([{ path: "query.topic", message: "Give topic" }]);
  if (body.topic !== undefined && body.topic !== topic)
    throw validationError([{ path: "body.topic", message: "Differs from the topic of the query" }]);
  const unsubscribed = await messageTopics.unsubscribe(caller.agentId, topic);
  return { status: 200, body: { success: true, data: { topic, unsubscribed } } };
});

const listSubscriptions = defineRoute({
  name: "topics.listSubscriptions",
  scope: "message",
  ...general,
  method: "GET",
  path: "/api/v1/messages/subscriptions",
  summary: "Lists the topics that the caller is subscribed to",
  query: z.strictObject({
    limit: pageLimit,
    cursor: pageCursor(z.strictObject({ after: z.string().max(100) })).optional(),
  }),
  responses: { 200: listOf(subscription) },
}).handle(async ({ query, caller }, { messageTopics }: TopicDeps) => {
  const { limit, cursor } = query;
  const found = await messageTopics.list(caller.agentId, cursor?.after, limit + 1);
  const data = found.slice(0, limit).map(present);
  const last = data.at(-1);
  const nextCursor = found.length > limit && last !== undefined ? encodeCursor({ after: last.topic }) : null;
  return { status: 200, body: { success: true, data, nextCursor } };
});

export const topicRoutes = [subscribe, unsubscribe, listSubscriptions];
