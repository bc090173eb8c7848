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

/** What a list asks of the stored deliveries. */
export function deliveriesFilter(agentId: string, { transactionId, status, cursor }: DeliveryQuery) {
  const createdAt = cursor === undefined ? undefined : new Date(cursor.createdAt);
  return {
    agentId,
    ...(transactionId === undefined ? {} : { transactionId }),
    ...(status === undefined ? {} : { status }),
    // The first condition says nothing new, but bounds the range of the index whichever way the second one is read.
    ...(cursor === undefined || createdAt === undefined
      ? {}
      : {
          createdAt: { $lte: createdAt },
          $or: [{ createdAt: { $lt: createdAt } }, { createdAt, _id: { $lt: cursor.id } }],
        }),
  };
}

/** The order of the delivery log, newest first. */
export const DELIVERY_ORDER = { createdAt: -1, _id: -1 } as const;

/** The delivery log on its collection. */
export function createDeliveryLog(model: DeliveryModel): DeliveryLog {
  return {
    async list(agentId, query) {
      const { limit } = query;
      const found = await model
        .find(deliveriesFilter(agentId, query))
        .sort(DELIVERY_ORDER)
        .limit(limit + 1)
        .lean<DeliveryRecord[]>();
      const deliveries = found.slice(0, limit);
      const last = deliveries.at(-1);
      const hasMore = found.length > limit && last !== undefined;
      return { deliveries, next: hasMore ? { createdAt: last.createdAt.getTime(), id: last._id } : null };
    },
  };
}
