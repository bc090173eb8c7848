import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";

import type { Caller } from "../../http/define-route.ts";
import { keyRefused } from "../../http/authenticate.ts";
import { ApiError } from "../../http/errors.ts";
import { ClientGoneError } from "../../lib/stopping.ts";
import { EventStream } from "./event-stream.ts";
import type { EventFilter, EventLog } from "./log.ts";
import type { StreamHub } from "./stream-hub.ts";
import type { StreamSlots } from "./stream-slots.ts";

/** A client that wants to receive its events. */
export interface StreamRequest extends EventFilter {
  caller: Caller;
  /** The event after which the stream begins, and what an error calls it. Without it, the end of the log. */
  after: { eventId: string; path: string } | undefined;
  /** Aborted when the client disconnects or the process stops. */
  signal: AbortSignal;
}

/** The streams of server-sent events. */
export interface EventStreams {
  /**
   * Opens a stream.
   * @returns its frames, and the id of the event after which it begins
   * @throws ApiError `validation_error`, `too_many_streams`, `invalid_api_key`
   */
  open(request: StreamRequest): Promise<{ body: Readable; position: string }>;
}

const STREAMS_PER_SESSION = 1;
const MS_PER_SECOND = 1_000;

/** Streams from the event log. */
export function createEventStreams(log: EventLog, hub: StreamHub, slots: StreamSlots): EventStreams {
  return {
    async open({ caller, after, type, transactionId, signal }) {
      const { agentId, keyId } = caller;
      const start =
        after === undefined ? await log.end(agentId) : await log.findPosition(agentId, after.eventId, after.path);
      const id = randomUUID();
      // The tabs of a browser share one stream, which takes none of the agent's.
      const isSession = caller.isSession === true;
      const [holder, most] = isSession ? [keyId, STREAMS_PER_SESSION] : [agentId, slots.perAgent];
      const slot = await slots.take(holder, id, most);
      if (!slot.taken) {
        const retryAfterSeconds = Math.max(1, Math.ceil(slot.retryInMs / MS_PER_SECOND));
        throw new ApiError("too_many_streams", {
          details: { window: "eventStreams", countedBy: isSession ? "key" : "agent", limit: most },
          retryAfterSeconds,
        });
      }
      const stream = new EventStream({
        id,
        agentId,
        keyId,
        holder,
        start,
        filter: { type, transactionId },
        onDemand: (behind) => {
          hub.resume(behind);
        },
        onClose: (closed) => {
          hub.remove(closed);
        },
      });
      try {
        if (!(await hub.add(stream))) throw keyRefused("apiKey");
        signal.throwIfAborted();
      } catch (error) {
        stream.cut();
        throw error;
      }
      signal.addEventListener("abort", () => {
        if (signal.reason instanceof ClientGoneError) stream.cut();
        else stream.end();
      });
      return { body: stream.body, position: start.eventId };
    },
  };
}
