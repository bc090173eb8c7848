import { useEffect, useRef, useState } from "preact/hooks";

import type { Answer } from "../data/answers.ts";
import { readAnswer } from "../data/refresh.ts";
import { searchAddress, searchRequest } from "../data/search.ts";
import type { SearchQuery } from "../data/search.ts";
import { searchHead } from "../head.ts";

/** How long after the last key a search begins. */
const SETTLED_MS = 400;
/** From so many characters on, typing searches. */
const LEAST_TYPED = 3;
/** When a search is tried again that had no answer. */
const AGAIN_SECONDS = 5;
const OK = 200;
const BAD_REQUEST = 400;
const TOO_MANY = 429;

/** Why no search is asked for, and until when. */
export interface Pause {
  until: number;
  why: "limit" | "outage";
}

/** A search as the page shows it. */
export interface LiveSearch {
  /** What the answer is for. */
  query: SearchQuery;
  /** Undefined where nothing is looked for. */
  answer: Answer | undefined;
  isAsking: boolean;
  pause: Pause | undefined;
  /** Whether more must be typed. */
  isShort: boolean;
  /** The fields have changed. @param how whether words were typed, another field was set, or the form was sent */
  change: (query: SearchQuery, how: "typed" | "set" | "sent") => void;
}

/**
 * Searches as someone types: once the keys rest, with one request at a time. The address follows. While a limit or an outage keeps it
 * from asking, it waits and goes on by itself.
 */
export function useSearch(start: SearchQuery, found: Answer | undefined): LiveSearch {
  const [shown, setShown] = useState({ query: start, answer: found });
  const [isAsking, setAsking] = useState(false);
  const [isShort, setShort] = useState(false);
  const [pause, setPause] = useState<Pause | undefined>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const asked = useRef<AbortController>(undefined);
  const pausedUntil = useRef(0);

  const stop = () => {
    clearTimeout(timer.current);
    asked.current?.abort();
    setAsking(false);
  };
  const waitAfter = (query: SearchQuery, { status, retryAfterSeconds = AGAIN_SECONDS }: Answer) => {
    pausedUntil.current = Date.now() + retryAfterSeconds * 1_000;
    setPause({ until: pausedUntil.current, why: status === TOO_MANY ? "limit" : "outage" });
    later(query, 0);
  };
  const ask = async (query: SearchQuery): Promise<void> => {
    stop();
    const own = new AbortController();
    asked.current = own;
    setAsking(true);
    const answer = await readAnswer(searchRequest(query), own.signal);
    if (own.signal.aborted) return;
    setAsking(false);
    if (answer.status !== OK && answer.status !== BAD_REQUEST) {
      waitAfter(query, answer);
      return;
    }
    setPause(undefined);
    setShown({ query, answer });
  };
  const later = (query: SearchQuery, delayMs: number) => {
    timer.current = setTimeout(() => void ask(query), Math.max(delayMs, pausedUntil.current - Date.now()));
  };

  useEffect(() => {
    if (found !== undefined && found.status !== OK && found.status !== BAD_REQUEST) waitAfter(start, found);
    return stop;
  }, []);

  const change: LiveSearch["change"] = (query, how) => {
    stop();
    const length = Array.from(query.q).length;
    const isTooShort = length > 0 && length < (how === "typed" ? LEAST_TYPED : 1);
    setShort(isTooShort);
    if (isTooShort) return;
    history.replaceState(null, "", searchAddress(query));
    document.title = searchHead(query.q).title;
    if (length === 0) {
      setPause(undefined);
      setShown({ query, answer: undefined });
    } else if (searchAddress(query) !== searchAddress(shown.query) || shown.answer?.status !== OK) {
      later(query, how === "sent" ? 0 : SETTLED_MS);
    }
  };
  return { ...shown, isAsking, isShort, pause, change };
}
