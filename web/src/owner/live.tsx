import { createContext } from "preact";
import type { ComponentChildren } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";

import type { Answer, KeptSession } from "../data/answers.ts";
import { Notice } from "../parts/notice.tsx";
import { Time } from "../parts/time.tsx";
import type { Reading } from "./api.ts";
import { followNews } from "./news.ts";

/** News come in groups: one move makes several events. */
const GATHER_MS = 1_000;
/** Without news, what is shown again after a while in the background is read again. */
const OLD_MS = 60_000;

/** Calls back upon news. Returns what ends that. */
type Listen = (onNews: () => void) => () => void;

const News = createContext<Listen>(() => () => undefined);

/** Follows the agent's events for all of the owner's pages. Going from one to another opens no new stream. */
export function NewsProvider({
  session,
  onEnded,
  children,
}: {
  session: KeptSession;
  onEnded: () => void;
  children: ComponentChildren;
}) {
  const listeners = useRef(new Set<() => void>());
  useEffect(() => {
    let isOver = false;
    const stop = followNews(session, {
      onNews: () => {
        for (const onNews of listeners.current) onNews();
      },
      onEnded: () => {
        if (!isOver) onEnded();
      },
    });
    return () => {
      isOver = true;
      stop();
    };
  }, [session.token]);
  const listen = useRef<Listen>((onNews) => {
    listeners.current.add(onNews);
    return () => {
      listeners.current.delete(onNews);
    };
  });
  return <News.Provider value={listen.current}>{children}</News.Provider>;
}

/** What a page has read. */
export interface Shown<Data> {
  data: Data | undefined;
  /** What the last reading was answered if it failed. */
  failure: Answer | undefined;
  /** Whether the service has no such record of this agent. */
  isMissing: boolean;
}

/** What a page has read, and what reads it again. */
export interface Live<Data> extends Shown<Data> {
  /** Reads at once. */
  refresh: () => void;
}

/**
 * Reads what a page shows: at first, upon news, and when it is looked at again. An idle page asks nothing: it listens.
 * @param read gets what is known, undefined at first
 */
export function useLive<Data extends { readAt: number }>(
  session: KeptSession,
  read: (known: Data | undefined) => Promise<Reading<Data>>,
  onEnded: () => void,
): Live<Data> {
  const [shown, setShown] = useState<Shown<Data>>({ data: undefined, failure: undefined, isMissing: false });
  const known = useRef<Data | undefined>(undefined);
  const refresh = useRef(() => {});
  const listen = useContext(News);

  useEffect(() => {
    let isOver = false;
    let isReading = false;
    /** How often news came, and how many of them had come when the last reading began. */
    let due = 0;
    let seen = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;

    const readNow = async () => {
      if (isReading) {
        due += 1;
        return;
      }
      isReading = true;
      seen = due;
      const reading = await read(known.current);
      isReading = false;
      if (isOver) return;
      if (reading.kind === "ended") {
        onEnded();
        return;
      }
      if (reading.kind === "there") {
        known.current = reading.data;
        setShown({ data: reading.data, failure: undefined, isMissing: false });
        if (due > seen) soon(GATHER_MS);
      } else {
        const isMissing = reading.kind === "missing";
        setShown({ data: known.current, failure: reading.answer, isMissing });
        soon(OLD_MS);
      }
    };
    const soon = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (document.visibilityState === "visible") void readNow();
        else due += 1;
      }, ms);
    };
    const look = () => {
      const isOld = Date.now() - (known.current?.readAt ?? 0) > OLD_MS;
      if (document.visibilityState === "visible" && (due > seen || isOld)) void readNow();
    };

    refresh.current = () => void readNow();
    void readNow();
    const stop = listen(() => {
      soon(GATHER_MS);
    });
    document.addEventListener("visibilitychange", look);
    return () => {
      isOver = true;
      clearTimeout(timer);
      stop();
      document.removeEventListener("visibilitychange", look);
    };
  }, [session.token]);

  return {
    ...shown,
    refresh: () => {
      refresh.current();
    },
  };
}

const TOO_MANY = 429;

/** Says that what is shown is old, or that there is nothing to show yet. @param what is being read */
export function Freshness({ of: { data, failure }, what }: { of: Shown<{ readAt: number }>; what: string }) {
  if (failure === undefined) return data === undefined ? <p class="aside">{what}</p> : null;
  const why =
    failure.status === TOO_MANY
      ? "Your agent has asked more often than the service answers."
      : "The service doesn't answer.";
  return (
    <Notice tone="care">
      {why}{" "}
      {data === undefined ? (
        "This page tries again every minute."
      ) : (
        <>
          What you see is from <Time at={data.readAt} />.
        </>
      )}
    </Notice>
  );
}
