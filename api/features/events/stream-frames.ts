import type { EventRecord } from "./model.ts";

/** How long a client waits before it connects again, in milliseconds, unless it decides otherwise. */
const RECONNECT_MS = 1_000;

/** A comment. It shows clients and proxies that the connection is alive. */
export const HEARTBEAT = ": alive\n\n";

/**
 * The first frame. Its id without data sets the client's `Last-Event-ID`: a client whose connection breaks before the
 * first event then resumes from here and misses nothing.
 * @param position id of the last event before the stream
 */
export function openingFrame(position: string): string {
  return `retry: ${RECONNECT_MS}\nid: ${position}\n\n`;
}

/** An event as a frame, with the same JSON object as in the event log. JSON texts have no line breaks. */
export function eventFrame({ eventId, type, transactionId, occurredAt, bodyJson }: EventRecord): string {
  const facts = { id: eventId, event: type, transactionId, occurredAt: occurredAt.toISOString() };
  const data = `${JSON.stringify(facts).slice(0, -1)},"payload":${bodyJson}}`;
  return `id: ${eventId}\nevent: ${type}\ndata: ${data}\n\n`;
}
