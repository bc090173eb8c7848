import type { z } from "zod";

import type { DeliveryModel, DeliveryRecord } from "./model.ts";
import type { deliveryListQuery } from "./schemas.ts";

/** What an agent asks its delivery log. */
export type DeliveryQuery = z.output<typeof deliveryListQuery>;

/** One page of the delivery log and the place where the next begins. */
export interface DeliveryPage {
  deliveries: DeliveryRecord[];
  next: { createdAt: number; id: string } | null;
}

/** The attempts of the last seven days to the caller's own addresses, newest first (decisions 38 and 39). */
export interface DeliveryLog {
  list(agentId: string, query: DeliveryQuery): Promise<DeliveryPage>;
}

/** The delivery log on its collection. */
export function createDeliveryLog(model: DeliveryModel): DeliveryLog {
  return {
    async list(agentId, { transactionId, status, limit, cursor }) {
      const conditions: Record<string, unknown>[] = [{ agentId }];
      if (transactionId !== undefined) conditions.push({ transactionId });
      if (status !== undefined) conditions.push({ status });
      if (cursor !== undefined) {
        const createdAt = new Date(cursor.createdAt);
        conditions.push({ $or: [{ createdAt: { $lt: createdAt } }, { createdAt, _id: { $lt: cursor.id } }] });
      }
      const found = await model
        .find({ $and: conditions })
        .sort({ createdAt: -1, _id: -1 })
        .limit(limit + 1)
        .lean<DeliveryRecord[]>();
      const deliveries = found.slice(0, limit);
      const last = deliveries.at(-1);
      const hasMore = found.length > limit && last !== undefined;
      return { deliveries, next: hasMore ? { createdAt: last.createdAt.getTime(), id: last._id } : null };
    },
  };
}
