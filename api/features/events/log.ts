import { validationError } from "../../http/errors.ts";
import { logEntryId } from "./event-id.ts";
import type { EventModel, EventRecord, EventType } from "./model.ts";

/** A query of an agent to the event log. */
export interface EventQuery {
  /** Id of the last event seen. */
  after?: string | undefined;
  type?: EventType | undefined;
  transactionId?: string | undefined;
  limit: number;
}

/** The events of an agent, complete and in order (decisions 25 and 37). */
export interface EventLog {
  list(agentId: string, query: EventQuery): Promise<{ events: EventRecord[]; hasMore: boolean }>;
}

/** The database filter of a list; `afterSeq` is the position of the last event seen. */
export function eventsFilter(
  agentId: string,
  { type, transactionId }: Pick<EventQuery, "type" | "transactionId">,
  afterSeq?: number,
) {
  return {
    agentId,
    ...(transactionId === undefined ? {} : { transactionId }),
    ...(type === undefined ? {} : { type }),
    ...(afterSeq === undefined ? {} : { seq: { $gt: afterSeq } }),
  };
}

/** The event log stored in a collection. */
export function createEventLog(model: EventModel): EventLog {
  /** Position of one of the caller's events. Another agent's event gets the same error as one that doesn't exist. */
  async function positionOf(agentId: string, eventId: string): Promise<number> {
    const event = await model.findOne({ _id: logEntryId(eventId, agentId) }, { seq: 1 }).lean();
    if (event === null)
      throw validationError([{ path: "query.after", message: "Must be the id of one of your events" }]);
    return event.seq;
  }

  return {
    async list(agentId, { after, limit, ...wanted }) {
      const afterSeq = after === undefined ? undefined : await positionOf(agentId, after);
      const found = await model
        .find(eventsFilter(agentId, wanted, afterSeq))
        .sort({ seq: 1 })
        .limit(limit + 1)
        .lean<EventRecord[]>();
      return { events: found.slice(0, limit), hasMore: found.length > limit };
    },
  };
}
