import type { KeptSession } from "../data/answers.ts";
import { tokenHeader } from "./api.ts";

/** What a tab learns from the agent's event stream. */
export interface NewsListener {
  /** Something happened, in this tab's stream or in another one's. */
  onNews: () => void;
  /** The session has ended. */
  onEnded: () => void;
}

const NAME = "agent-events";
const STREAM = "/api/v1/events/stream";
/** The service sends a sign of life every 15 seconds. */
const SILENCE_MS = 45_000;
const FIRST_PAUSE_MS = 2_000;
/** A stream that fails all the time costs 30 calls an hour. */
const LONGEST_PAUSE_MS = 120_000;
const UNAUTHORIZED = 401;

/**
 * Follows the agent's events. All tabs of the browser share one stream: the tab that has the lock reads it and tells the others. When it is
 * closed, another one takes over.
 * @returns what ends it
 */
export function followNews(session: KeptSession, { onNews, onEnded }: NewsListener): () => void {
  const ending = new AbortController();
  const { signal } = ending;
  const channel = new BroadcastChannel(NAME);
  channel.addEventListener("message", onNews);
  const tell = () => {
    onNews();
    channel.postMessage(null);
  };
  const lead = async () => {
    let position: string | undefined;
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const before = position;
      const end = await readStream(session, position, signal, (id, isEvent) => {
        position = id;
        pauseMs = FIRST_PAUSE_MS;
        // What came between two streams without a position isn't known.
        if (isEvent || before === undefined) tell();
      });
      if (end === UNAUTHORIZED) {
        onEnded();
        return;
      }
      await pause(pauseMs, signal);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  };
  navigator.locks.request(`${NAME}-${session.agentId}`, { signal }, lead).catch(() => {
    // This tab was closed or signed out while it waited.
  });
  return () => {
    ending.abort();
    channel.close();
  };
}

/**
 * Reads the stream until it ends. `EventSource` can't send the session's token.
 * @param onFrame called with the id of each frame, and whether it is an event or just the position
 * @returns the status of the answer; 0 without one
 */
async function readStream(
  session: KeptSession,
  position: string | undefined,
  ended: AbortSignal,
  onFrame: (id: string, isEvent: boolean) => void,
): Promise<number> {
  const silence = new AbortController();
  let timer = setTimeout(() => {
    silence.abort();
  }, SILENCE_MS);
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      silence.abort();
    }, SILENCE_MS);
  };
  try {
    const response = await fetch(STREAM, {
      headers: { ...tokenHeader(session), ...(position === undefined ? {} : { "last-event-id": position }) },
      credentials: "same-origin",
      cache: "no-store",
      signal: AbortSignal.any([ended, silence.signal]),
    });
    if (!response.ok || response.body === null) return response.status;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let waiting = "";
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      alive();
      const frames = (waiting + read.value).split("\n\n");
      waiting = frames.pop() ?? "";
      for (const frame of frames) {
        const id = /^id: (.+)$/m.exec(frame)?.[1];
        if (id !== undefined) onFrame(id, /^data:/m.test(frame));
      }
    }
    return response.status;
  } catch {
    return 0;
  } finally {
    clearTimeout(timer);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
