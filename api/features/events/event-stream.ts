import { Readable } from "node:stream";

import type { EventFilter, LogPosition } from "./log.ts";
import type { EventRecord } from "./model.ts";
import { eventFrame, HEARTBEAT, openingFrame } from "./stream-frames.ts";

/**
 * Bytes of frames that may wait for a client, besides what the socket buffers. Further events stay in the log until the
 * client has read these, so a slow client costs no more memory than this and one event.
 */
const BUFFER_BYTES = 64 * 1024;

/** Settings of one stream. */
export interface EventStreamOptions {
  id: string;
  agentId: string;
  keyId: string;
  /** Whose slot it has: the agent's by default, or the session's. */
  holder?: string | undefined;
  filter: EventFilter;
  /** The stream begins after this. */
  start: LogPosition;
  /** Called when the client has read enough for further events. */
  onDemand: (stream: EventStream) => void;
  onClose: (stream: EventStream) => void;
}

/** One client's stream: its position in the log, and the frames that wait for it. */
export class EventStream {
  readonly id: string;
  readonly agentId: string;
  readonly keyId: string;
  /** Id of the agent or the session whose slot it has. */
  readonly holder: string;
  readonly filter: EventFilter;
  readonly body: Readable;
  /** Position in the log up to which the client has everything that it wants. */
  position: number;
  /** Highest position that is known to be in the log. */
  known: number;
  /** Whether it is being read from the log, or waits for that. */
  isQueued = false;
  /** When its key ends, on the scale of `performance.now()`. */
  keyEndsAt = Infinity;
  /** Since when the client has read nothing although frames wait for it, on the scale of `performance.now()`. */
  #stalledAt: number | undefined;
  #isEnded = false;

  constructor({ id, agentId, keyId, holder = agentId, filter, start, onDemand, onClose }: EventStreamOptions) {
    this.id = id;
    this.agentId = agentId;
    this.keyId = keyId;
    this.holder = holder;
    this.filter = filter;
    this.position = start.seq;
    this.known = start.seq;
    this.body = new Readable({
      highWaterMark: BUFFER_BYTES,
      read: () => {
        this.#stalledAt = undefined;
        onDemand(this);
      },
      destroy: (error, done) => {
        this.#isEnded = true;
        onClose(this);
        done(error);
      },
    });
    this.body.push(openingFrame(start.eventId));
  }

  /** Whether the log has events that the stream hasn't. */
  isBehind(): boolean {
    return this.known > this.position;
  }

  /** Whether the client has room for another event. */
  hasRoom(): boolean {
    return !this.#isEnded && this.body.readableLength < BUFFER_BYTES;
  }

  /** Sends the next event of the log, if the filter wants it. Call it only with room. */
  push(event: EventRecord): void {
    this.position = event.seq;
    this.known = Math.max(this.known, event.seq);
    const { type, transactionId } = this.filter;
    if (type !== undefined && type !== event.type) return;
    if (transactionId !== undefined && transactionId !== event.transactionId) return;
    this.#write(eventFrame(event));
  }

  /** Notes that the stream has everything up to a position. */
  skipTo(position: number): void {
    this.position = Math.max(this.position, position);
    this.known = Math.max(this.known, position);
  }

  /** Shows that the connection is alive, unless other frames are waiting. */
  beat(): void {
    if (!this.#isEnded && this.body.readableLength === 0) this.#write(HEARTBEAT);
  }

  /** For how long the client hasn't read although frames wait for it, in milliseconds. */
  stalledMs(now: number): number {
    return this.#stalledAt === undefined ? 0 : now - this.#stalledAt;
  }

  /** Ends the answer after the frames that wait. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.body.push(null);
  }

  /** Cuts the connection. */
  cut(): void {
    this.#isEnded = true;
    this.body.destroy();
  }

  #write(frame: string): void {
    if (!this.body.push(frame)) this.#stalledAt ??= performance.now();
  }
}
