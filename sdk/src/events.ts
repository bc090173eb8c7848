import { createParser } from "eventsource-parser";

import { ApiError, isTransient, NetworkError } from "./errors.ts";
import type * as wire from "./generated/api-types.ts";
import type { CallOptions, Http } from "./http.ts";
import { paginate } from "./pagination.ts";
import type { Page } from "./pagination.ts";
import type { LoggedEvent } from "./records.ts";
import { pause } from "./waiting.ts";

/** Filters of the event log. `cursor` is the id of the last event seen; `after` is its older name. */
export type EventFilter = NonNullable<wire.EventsListData["query"]>;

/** Where a stream begins, which events it has, and how it deals with lost connections. */
export interface EventStreamOptions extends CallOptions {
  /** Id of the last event processed, or `start` for the whole log. By default the stream begins now. */
  after?: string | undefined;
  type?: LoggedEvent["event"] | undefined;
  transactionId?: string | undefined;
  /** A connection that is silent for this long is given up, in milliseconds; 45,000 by default: three heartbeats. */
  silenceMs?: number | undefined;
  /** Upper bound of the first random pause before another connection, in milliseconds; it doubles. 1,000 by default. */
  baseDelayMs?: number | undefined;
  /** Maximum random pause in milliseconds; 30,000 by default. */
  maxDelayMs?: number | undefined;
}

const STREAM_PATH = "/api/v1/events/stream";
const DEFAULT_SILENCE_MS = 45_000;
const DEFAULT_BASE_DELAY_MS = 1_000;
const DEFAULT_MAX_DELAY_MS = 30_000;
const LONGEST_DOUBLING = 16;

/** The events of an agent. */
export class AgentEvents {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The agent's events so far, oldest first, complete and in order. */
  list(
    { after, cursor: first = after, ...filter }: EventFilter = {},
    options: CallOptions = {},
  ): AsyncGenerator<LoggedEvent, void, undefined> {
    const fetchPage = (cursor: string | undefined) =>
      this.#http.get<Page<LoggedEvent>>("/api/v1/events", { query: { ...filter, cursor }, ...options });
    return paginate(fetchPage, first);
  }

  /**
   * The agent's events as they happen, complete and in order. A lost connection is replaced after a random pause and
   * continues after the last event. It ends when the caller leaves the loop; aborting `signal` throws its reason.
   * @throws ApiError `invalid_api_key` as soon as the key has ended, and every other error that a retry can't mend
   */
  async *stream(options: EventStreamOptions = {}): AsyncGenerator<LoggedEvent, void, undefined> {
    const { signal, baseDelayMs = DEFAULT_BASE_DELAY_MS, maxDelayMs = DEFAULT_MAX_DELAY_MS } = options;
    let position = options.after;
    for (let failures = 0; ; failures += 1) {
      let askedMs = 0;
      try {
        const connection = await this.#connect(options, position);
        position ??= connection.position;
        for await (const event of connection.events) {
          if (event !== undefined) {
            position = event.id;
            yield event;
          }
          // The connection works, so the next loss is the first again.
          failures = 0;
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (!isTransient(error) && !isFull(error)) throw error;
        if (error instanceof ApiError) askedMs = (error.retryAfterSeconds ?? 0) * 1_000;
      }
      const longest = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(failures, LONGEST_DOUBLING));
      // Random, so that the clients of a process that stopped don't all return together.
      await pause(askedMs + Math.random() * longest, signal);
    }
  }

  async #connect(
    { type, transactionId, silenceMs = DEFAULT_SILENCE_MS, signal }: EventStreamOptions,
    position: string | undefined,
  ): Promise<{ position: string | undefined; events: AsyncGenerator<LoggedEvent | undefined, void, undefined> }> {
    const silence = new AbortController();
    const both = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
    const { headers, body } = await this.#http.open(STREAM_PATH, {
      query: { type, transactionId },
      headers: { accept: "text/event-stream", ...(position === undefined ? {} : { "last-event-id": position }) },
      signal: both,
    });
    return {
      position: headers.get("x-event-stream-position") ?? undefined,
      events: readEvents(body, silenceMs, silence),
    };
  }
}

/** The slot of a lost connection is free again after a while. */
function isFull(error: unknown): boolean {
  return error instanceof ApiError && error.code === "too_many_streams";
}

/** The events of an answer, and undefined for what only shows that the connection is alive. */
async function* readEvents(
  body: ReadableStream<Uint8Array>,
  silenceMs: number,
  silence: AbortController,
): AsyncGenerator<LoggedEvent | undefined, void, undefined> {
  let parsed: (LoggedEvent | undefined)[] = [];
  const parser = createParser({
    onEvent: ({ data }) => parsed.push(JSON.parse(data) as LoggedEvent),
    onComment: () => parsed.push(undefined),
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const timer = setTimeout(() => {
        silence.abort(new NetworkError(`${STREAM_PATH} was silent for ${silenceMs} ms`));
      }, silenceMs);
      const { done, value } = await reader.read().finally(() => {
        clearTimeout(timer);
      });
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      const events = parsed;
      parsed = [];
      yield* events;
    }
  } catch (cause) {
    throw cause instanceof NetworkError ? cause : new NetworkError(`${STREAM_PATH} broke off`, { cause });
  } finally {
    // Leaves nothing open when the caller leaves the loop.
    await reader.cancel().catch(() => undefined);
  }
}
