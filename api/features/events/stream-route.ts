import { z } from "zod";

import { EVENT_STREAMS_PER_AGENT } from "../../config/constants.ts";
import { defineRoute } from "../../http/define-route.ts";
import { validationError } from "../../http/errors.ts";
import { LOG_START } from "./log.ts";
import { eventType } from "./event-type.ts";
import type { EventStreams } from "./streams.ts";

/** Dependencies of the stream's route. */
export interface StreamDeps {
  eventStreams: EventStreams;
}

const POSITION = /^(start|evt_[0-9a-f]{1,64})$/;
const NOT_A_POSITION = `Must be an event id or "${LOG_START}"`;
const HEADER = "last-event-id";
const HEADER_PATH = `headers.${HEADER}`;

/** The position that a reconnecting client reports, which is later than the one it first asked for. */
function resumedFrom(header: string | string[] | undefined): { eventId: string; path: string } | undefined {
  const given = Array.isArray(header) ? header.join() : header;
  if (given === undefined || given === "") return undefined;
  if (!POSITION.test(given)) throw validationError([{ path: HEADER_PATH, message: NOT_A_POSITION }]);
  return { eventId: given, path: HEADER_PATH };
}

/** GET /api/v1/events/stream. */
export const streamEvents = defineRoute({
  name: "events.stream",
  scope: "read",
  method: "GET",
  path: "/api/v1/events/stream",
  tag: "Events",
  summary: "Streams the caller's events as server-sent events",
  description:
    "Complete and in order, each event once per connection. Begins after the event of the header `Last-Event-ID`, or of `after`, or else " +
    `now; \`${LOG_START}\` is the position before the first event. The first frame and the header ` +
    "`X-Event-Stream-Position` name the position. A frame has the event's `id`, its type as `event`, and as `data` the " +
    `object that GET /api/v1/events lists. An agent may have ${EVENT_STREAMS_PER_AGENT} streams. A stream ends with its ` +
    "key, when the service restarts, and when the client doesn't read it: connect again with `Last-Event-ID`.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  query: z.strictObject({
    after: z.string().regex(POSITION, NOT_A_POSITION).optional(),
    type: eventType.optional(),
    transactionId: z.string().min(1).max(100).optional(),
  }),
  responses: { 200: z.string() },
  produces: ["text/event-stream"],
  errors: ["too_many_streams"],
}).handle(async ({ caller, query, headers, signal }, { eventStreams }: StreamDeps) => {
  const { after, ...filter } = query;
  const { body, position } = await eventStreams.open({
    caller,
    ...filter,
    signal,
    after: resumedFrom(headers[HEADER]) ?? (after === undefined ? undefined : { eventId: after, path: "query.after" }),
  });
  return {
    status: 200,
    raw: body,
    headers: {
      "Cache-Control": "no-store",
      // A proxy must pass each frame on at once. nginx buffers answers unless told otherwise.
      "X-Accel-Buffering": "no",
      "X-Event-Stream-Position": position,
      // So that a server that stops doesn't wait for the connection to be reused.
      Connection: "close",
    },
  };
});
