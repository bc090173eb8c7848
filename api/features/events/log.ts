import { validationError } from "../../http/errors.ts";
import { logEntryId } from "./event-id.ts";
import type { EventModel, EventRecord, EventType } from "./model.ts";

/** What an agent asks the event log. */
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

/** What a list asks of the stored events; `afterSeq` is the position of the last event seen. */
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

/** The event log on its collection. */
export function createEventLog(model: EventModel): EventLog {
  /** Position of an event of the caller's; another agent's event is as unknown as one that never was. */
  async function positionOf(agentId: string, eventId: string): Promise<number> {
    const event = await model.findOne({ _id: logEntryId(eventId, agentId) }, { seq: 1 }).lean();
    if (event === null)
      throw validationError([{ path: "query.after", message: "Must be the id of an event of yours" }]);
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
