import type { LengthModel } from "../../db/lengths.ts";
import { readPage } from "../../db/pages.ts";
import { validationError } from "../../http/errors.ts";
import { logEntryId } from "./event-id.ts";
import type { EventModel, EventRecord, EventType } from "./model.ts";

/** The position before an agent's first event, where an event id is expected. */
export const LOG_START = "start";

/** A filter for an agent's events. */
export interface EventFilter {
  type?: EventType | undefined;
  transactionId?: string | undefined;
}

/** A query of an agent to the event log. */
export interface EventQuery extends EventFilter {
  /** Id of the last event seen. */
  after?: string | undefined;
  /** What an error calls `after`; `query.after` by default. */
  path?: string;
  limit: number;
}

/** A position in an agent's log: that of an event, or the one before the first. */
export interface LogPosition {
  /** 0 before the first event. */
  seq: number;
  /** `start` before the first event. */
  eventId: string;
}

const BEFORE_FIRST: LogPosition = { seq: 0, eventId: LOG_START };

/** The database filter of a list; `afterSeq` is the position of the last event seen. */
export function eventsFilter(agentId: string, { type, transactionId }: EventFilter, afterSeq?: number) {
  return {
    agentId,
    ...(transactionId === undefined ? {} : { transactionId }),
    ...(type === undefined ? {} : { type }),
    ...(afterSeq === undefined ? {} : { seq: { $gt: afterSeq } }),
  };
}

/** The event log stored in a collection. */
export class EventLog {
  readonly #model: EventModel;
  readonly #logLengths: LengthModel;

  constructor(model: EventModel, logLengths: LengthModel) {
    this.#model = model;
    this.#logLengths = logLengths;
  }

  /** The position of the agent's newest event. */
  async end(agentId: string): Promise<LogPosition> {
    const last = await this.#model.findOne({ agentId }, { seq: 1, eventId: 1 }).sort({ seq: -1 }).lean();
    return last ?? BEFORE_FIRST;
  }

  /**
   * The position of one of the agent's events, or the one before the first for `start`. Throws `validation_error` for an
   * event that doesn't exist or is another agent's.
   * @param path what the error names
   */
  async findPosition(agentId: string, eventId: string, path: string): Promise<LogPosition> {
    if (eventId === LOG_START) return BEFORE_FIRST;
    const event = await this.#model.findOne({ _id: logEntryId(eventId, agentId) }, { seq: 1, eventId: 1 }).lean();
    if (event === null) throw validationError([{ path, message: "Must be the id of one of your events" }]);
    return event;
  }

  /** A page of at most `limit` events and about 1 MB. */
  async list(
    agentId: string,
    { after, path = "query.after", limit, ...wanted }: EventQuery,
  ): Promise<{ events: EventRecord[]; hasMore: boolean }> {
    const afterSeq = after === undefined ? undefined : (await this.findPosition(agentId, after, path)).seq;
    const filter = eventsFilter(agentId, wanted, afterSeq);
    const { records, next } = await readPage(this.#model, filter, { sort: { seq: 1 }, limit });
    return { events: records, hasMore: next !== null };
  }

  /**
   * The wanted events after a position, oldest first.
   * @returns at most `limit` of them and about 1 MB, and the position up to which they are complete
   */
  async after(
    agentId: string,
    seq: number,
    filter: EventFilter,
    limit: number,
  ): Promise<{ events: EventRecord[]; complete: number }> {
    // Read before the events: everything up to here is found, even if others are added meanwhile.
    const { seq: length } = await this.end(agentId);
    const { records, next } = await readPage(this.#model, eventsFilter(agentId, filter, seq), {
      sort: { seq: 1 },
      limit,
    });
    const last = records.at(-1)?.seq ?? seq;
    return { events: records, complete: next === null ? Math.max(last, length) : last };
  }

  /** The body of one of the agent's events; undefined if the log doesn't have the event. */
  async readBody(agentId: string, eventId: string): Promise<string | undefined> {
    const event = await this.#model.findOne({ _id: logEntryId(eventId, agentId), agentId }, { bodyJson: 1 }).lean();
    return event?.bodyJson;
  }

  /** How many events the logs of agents have, by agent id. An empty log is missing. */
  async lengths(agentIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const found = await this.#logLengths.find({ _id: { $in: [...agentIds] } }).lean();
    return new Map(found.map(({ _id, length }) => [_id, length]));
  }
}
