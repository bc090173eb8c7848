import type { z } from "zod";

import { ApiError } from "../../http/errors.ts";
import type { DispatchModel, DispatchRecord } from "../outbox/model.ts";
import type { dispatchListQuery } from "./schemas.ts";

/** A query of an agent to its dispatch log. */
export type DispatchQuery = z.output<typeof dispatchListQuery>;

/** What the log shows of a dispatch. */
export type ListedDispatch = Omit<DispatchRecord, "bodyJson">;

/** A page of the dispatch log and the position where the next page starts. */
export interface DispatchPage {
  dispatches: ListedDispatch[];
  next: { createdAt: number; id: string } | null;
}

/** The attempts of the last seven days to the caller's addresses, newest first (decisions 38 and 39). */
export interface DispatchLog {
  list(agentId: string, query: DispatchQuery): Promise<DispatchPage>;
  /** @throws ApiError `not_found`, also for another agent's */
  get(agentId: string, deliveryId: string): Promise<DispatchRecord>;
}

/** The database filter of a list. */
export function dispatchesFilter(agentId: string, { transactionId, webhookId, status, cursor }: DispatchQuery) {
  const createdAt = cursor === undefined ? undefined : new Date(cursor.createdAt);
  return {
    agentId,
    ...(transactionId === undefined ? {} : { transactionId }),
    ...(webhookId === undefined ? {} : { webhookId }),
    ...(status === undefined ? {} : { status }),
    // The first condition is redundant, but it bounds the index range however MongoDB plans the second one.
    ...(cursor === undefined || createdAt === undefined
      ? {}
      : {
          createdAt: { $lte: createdAt },
          $or: [{ createdAt: { $lt: createdAt } }, { createdAt, _id: { $lt: cursor.id } }],
        }),
  };
}

/** The order of the dispatch log: newest first. */
export const DISPATCH_ORDER = { createdAt: -1, _id: -1 } as const;

/** The dispatch log stored in a collection. */
export function createDispatchLog(model: DispatchModel): DispatchLog {
  return {
    async list(agentId, query) {
      const { limit } = query;
      const found = await model
        .find(dispatchesFilter(agentId, query), { bodyJson: 0 })
        .sort(DISPATCH_ORDER)
        .limit(limit + 1)
        .lean<ListedDispatch[]>();
      const dispatches = found.slice(0, limit);
      const last = dispatches.at(-1);
      const hasMore = found.length > limit && last !== undefined;
      return { dispatches, next: hasMore ? { createdAt: last.createdAt.getTime(), id: last._id } : null };
    },

    async get(agentId, deliveryId) {
      const found = await model.findOne({ _id: deliveryId, agentId }).lean<DispatchRecord | null>();
      if (found === null) throw new ApiError("not_found", { details: { deliveryId } });
      return found;
    },
  };
}
