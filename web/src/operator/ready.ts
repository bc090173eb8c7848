import { useEffect, useState } from "preact/hooks";

import { readAnswer } from "../data/refresh.ts";
import type { Readiness } from "./answers.ts";

/** What `/ready` said last. */
export interface Ready {
  data: Readiness | undefined;
  /** Whether the last reading failed. */
  isFailed: boolean;
  readAt: number;
}

const EVERY_MS = 15_000;

/** Reads the state of every part, again while the page is looked at. That takes no key, so it fills no audit. */
export function useReady(): Ready {
  const [ready, setReady] = useState<Ready>({ data: undefined, isFailed: false, readAt: 0 });
  useEffect(() => {
    const ending = new AbortController();
    const read = async () => {
      // Also 503 has the state of every part.
      const { body } = await readAnswer("/ready");
      if (ending.signal.aborted) return;
      const data = isReadiness(body) ? body : undefined;
      setReady((before) =>
        data === undefined ? { ...before, isFailed: true } : { data, isFailed: false, readAt: Date.now() },
      );
    };
    const look = () => {
      if (document.visibilityState === "visible") void read();
    };
    void read();
    const timer = setInterval(look, EVERY_MS);
    document.addEventListener("visibilitychange", look, { signal: ending.signal });
    return () => {
      clearInterval(timer);
      ending.abort();
    };
  }, []);
  return ready;
}

/** Whether an answer is the state of the service, not an error in its place. */
function isReadiness(body: unknown): body is Readiness {
  return typeof body === "object" && body !== null && "networks" in body && "database" in body;
}
