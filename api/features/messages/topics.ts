import type { Connection } from "mongoose";

import { SUBSCRIPTIONS_MAX } from "../../config/constants.ts";
import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { MessageModels, SubscriptionRecord } from "./model.ts";

/** Subscriptions of agents to topics. */
export interface TopicService {
  /**
   * Subscribes an agent to messages sent from now on. A repeat changes nothing.
   * @throws ApiError `subscription_limit_reached`
   */
  subscribe(agentId: string, topic: string): Promise<SubscriptionRecord>;
  /** Ends a subscription; undelivered messages no longer arrive. Returns false if there was none. */
  unsubscribe(agentId: string, topic: string): Promise<boolean>;
  /** The agent's subscriptions by topic, after a topic. */
  list(agentId: string, after: string | undefined, limit: number): Promise<SubscriptionRecord[]>;
}

/** Id of an agent's subscription to a topic. */
export function subscriptionId(topic: string, agentId: string): string {
  return `${topic}:${agentId}`;
}

/** Creates the subscriptions in the database. */
export function createTopicService(connection: Connection, models: MessageModels, clock: Clock): TopicService {
  const { topics, subscriptions, inboxes } = models;

  async function create(agentId: string, topic: string): Promise<SubscriptionRecord> {
    const createdAt = clock.now();
    return withTransaction(connection, async (session) => {
      const _id = subscriptionId(topic, agentId);
      const existing = await subscriptions.findById(_id, null, { session }).lean();
      if (existing !== null) return existing;
      const counted = await inboxes
        .findOneAndUpdate(
          { _id: agentId },
          { $inc: { subscriptions: 1 }, $setOnInsert: { unread: 0, length: 0 } },
          { upsert: true, returnDocument: "after", session },
        )
        .lean()
        .orFail();
      if (counted.subscriptions > SUBSCRIPTIONS_MAX) {
        throw new ApiError("subscription_limit_reached", { details: { max: SUBSCRIPTIONS_MAX } });
      }
      const reached = await topics.findById(topic, null, { session }).lean();
      const record: SubscriptionRecord = {
        _id,
        topic,
        agentId,
        deliveredSeq: reached?.seq ?? 0,
        isBlocked: false,
        missed: 0,
        createdAt,
      };
      await subscriptions.create([record], { session });
      return record;
    });
  }

  return {
    async subscribe(agentId, topic) {
      try {
        return await create(agentId, topic);
      } catch (error) {
        // A concurrent request of the agent has subscribed.
        if (!isDuplicateKey(error, "_id")) throw error;
        return create(agentId, topic);
      }
    },

    unsubscribe: (agentId, topic) =>
      withTransaction(connection, async (session) => {
        const { deletedCount } = await subscriptions.deleteOne(
          { _id: subscriptionId(topic, agentId), agentId },
          { session },
        );
        if (deletedCount === 0) return false;
        await inboxes.updateOne({ _id: agentId }, { $inc: { subscriptions: -1 } }, { session });
        return true;
      }),

    list: (agentId, after, limit) =>
      subscriptions
        .find({ agentId, ...(after === undefined ? {} : { topic: { $gt: after } }) })
        .sort({ topic: 1 })
        .limit(limit)
        .lean(),
  };
}
