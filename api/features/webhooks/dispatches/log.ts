import type { z } from "zod";

import { readPage } from "../../../db/pages.ts";
import { ApiError } from "../../../http/errors.ts";
import type { DispatchModel, DispatchRecord } from "../../outbox/model.ts";
import type { dispatchListQuery } from "./schemas.ts";

/** An agent's query of its dispatch log. */
export type DispatchQuery = z.output<typeof dispatchListQuery>;

/** A dispatch as the log lists it, without its body. */
export type ListedDispatch = Omit<DispatchRecord, "bodyJson">;

/** A page of the dispatch log and the position where the next page starts. */
export interface DispatchPage {
  dispatches: ListedDispatch[];
  next: { createdAt: number; id: string } | null;
}

/** The dispatches of the last seven days to the caller's addresses, newest first. */
export interface DispatchLog {
  /** A page of at most `limit` dispatches and about 1 MB: a durable dispatch may have a hundred attempts with answers. */
  list(agentId: string, query: DispatchQuery): Promise<DispatchPage>;
  /** @throws ApiError `not_found`, also for another agent's */
  get(agentId: string, dispatchId: string): Promise<DispatchRecord>;
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

/** Creates the dispatch log of a collection. */
export function createDispatchLog(model: DispatchModel): DispatchLog {
  return {
    async list(agentId, query) {
      const { limit } = query;
      const page = await readPage(model, dispatchesFilter(agentId, query), { sort: DISPATCH_ORDER, limit });
      const last = page.records.at(-1);
      const hasMore = page.next !== null && last !== undefined;
      return { dispatches: page.records, next: hasMore ? { createdAt: last.createdAt.getTime(), id: last._id } : null };
    },

    async get(agentId, dispatchId) {
      const found = await model.findOne({ _id: dispatchId, agentId }).lean();
      if (found === null) throw new ApiError("not_found", { details: { deliveryId: dispatchId } });
      return found;
    },
  };
}
