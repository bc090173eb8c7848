import type { ComponentChildren } from "preact";

import { Notice } from "../parts/notice.tsx";
import { Time } from "../parts/time.tsx";
import type { ListReading } from "./lists.ts";
import { refusalWords } from "./words.ts";

/** The head of a view with a list: what it is, from when, and the button that reads it again. */
export function ListHead({ title, of }: { title: string; of: ListReading<unknown> }) {
  return (
    <div class="heading">
      <div class="title">
        <h1>{title}</h1>
        {of.list !== undefined && (
          <p class="aside">
            Read <Time at={of.list.readAt} />
          </p>
        )}
      </div>
      <button type="button" class="quiet" onClick={of.refresh} disabled={of.isReading}>
        {of.isReading ? "Reading…" : "Read again"}
      </button>
    </div>
  );
}

/** A list, why it isn't there, or what it says when it is empty. */
export function ListBody<Item>({
  of: { list, failure, isReading, more },
  name,
  empty,
  children,
}: {
  of: ListReading<Item>;
  /** Names the list. */
  name: string;
  empty: ComponentChildren;
  children: (item: Item) => ComponentChildren;
}) {
  return (
    <section aria-label={name}>
      {failure !== undefined && <Notice tone="care">{refusalWords(failure)}</Notice>}
      {list === undefined && failure === undefined && <p class="aside">Reading…</p>}
      {list !== undefined && list.items.length === 0 && <Notice>{empty}</Notice>}
      {list !== undefined && list.items.length > 0 && <ul class="cases">{list.items.map(children)}</ul>}
      {list !== undefined && list.nextCursor !== null && (
        <p class="more">
          <button type="button" class="quiet" onClick={more} disabled={isReading}>
            More
          </button>
        </p>
      )}
    </section>
  );
}
