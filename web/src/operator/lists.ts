import { useEffect, useRef, useState } from "preact/hooks";

import type { Answer } from "../data/answers.ts";
import { useAdmin } from "./api.ts";
import type { AskAdmin } from "./api.ts";

/** A list as far as it is read. */
export interface Listed<Item> {
  items: readonly Item[];
  nextCursor: string | null;
  readAt: number;
}

/** What a view has read of a list, and what reads it again. */
export interface ListReading<Item> {
  list: Listed<Item> | undefined;
  /** What the last reading was answered if it failed. */
  failure: Answer | undefined;
  isReading: boolean;
  refresh: () => void;
  /** Reads one page more. */
  more: () => void;
}

const OK = 200;
const PAGE = 50;

/** Reads pages of a list: as many as are asked for, or the answer that came in place of one. */
async function readPages<Item>(ask: AskAdmin, path: string, pages: number): Promise<Listed<Item> | Answer> {
  const items: Item[] = [];
  let nextCursor: string | null = null;
  for (let read = 0; read < pages; read += 1) {
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (nextCursor !== null) query.set("cursor", nextCursor);
    const answer = await ask(`${path}${path.includes("?") ? "&" : "?"}${query.toString()}`);
    if (answer.status !== OK) return answer;
    const page = answer.body as { data: readonly Item[]; nextCursor?: string | null };
    items.push(...page.data);
    // A list without pages has no cursor.
    nextCursor = page.nextCursor ?? null;
    if (nextCursor === null) break;
  }
  return { items, nextCursor, readAt: Date.now() };
}

/**
 * Reads a list when its view is opened, and when the operator asks for it. It isn't read again by itself: each call is an
 * entry of the audit, which is kept for ever.
 */
export function useList<Item>(path: string): ListReading<Item> {
  const ask = useAdmin();
  const [shown, setShown] = useState<Pick<ListReading<Item>, "list" | "failure">>({
    list: undefined,
    failure: undefined,
  });
  const [isReading, setReading] = useState(true);
  const pages = useRef(1);
  /** Counts readings: the answer to an earlier one isn't shown. */
  const latest = useRef(0);

  const read = async () => {
    latest.current += 1;
    const own = latest.current;
    setReading(true);
    const found = await readPages<Item>(ask, path, pages.current);
    if (own !== latest.current) return;
    setReading(false);
    if ("items" in found) setShown({ list: found, failure: undefined });
    else setShown((before) => ({ list: before.list, failure: found }));
  };
  useEffect(() => {
    pages.current = 1;
    setShown({ list: undefined, failure: undefined });
    void read();
    return () => {
      latest.current += 1;
    };
  }, [path]);

  return {
    ...shown,
    isReading,
    refresh: () => void read(),
    more: () => {
      pages.current += 1;
      void read();
    },
  };
}
