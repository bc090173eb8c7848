import type { Model, QueryFilter } from "mongoose";
import { z } from "zod";

import { readPage } from "../../db/pages.ts";
import { pageCursor, pageLimit } from "../../http/query-params.ts";

/** Begin the places of closed and of open records, and what sorts after both. */
const [CLOSED, OPEN, END] = ["0", "1", "2"] as const;

/** The sort key of a record: open records come before closed ones, and newer before older. */
export function placeOf(id: string, isOpen: boolean): string {
  return `${isOpen ? OPEN : CLOSED}${id}`;
}

/** Query of a list that an operator works off. */
export const queueQuery = {
  state: z.enum(["open", "closed"]).optional(),
  cursor: pageCursor(z.strictObject({ after: z.string().max(100) })).optional(),
  limit: pageLimit,
};

/** A page of such a list. */
export interface QueuePage {
  state?: "open" | "closed" | undefined;
  cursor?: { after: string } | undefined;
  limit: number;
}

/**
 * Reads a page, open records first.
 * @param hint the index, which ends with the place
 * @returns the records, and the place of the last one if there are more
 */
export async function readQueue<R extends { _id: string; place: string }>(
  model: Model<R>,
  filter: QueryFilter<R>,
  { state, cursor, limit, hint }: QueuePage & { hint: Readonly<Record<string, 1 | -1>> },
): Promise<{ records: R[]; next: string | null }> {
  const end = state === "closed" ? OPEN : END;
  const after = cursor === undefined || cursor.after > end ? end : cursor.after;
  const place = { $gte: state === "open" ? OPEN : CLOSED, $lt: after };
  const page = await readPage(model, { ...filter, place }, { sort: { place: -1 }, limit, hint });
  return { records: page.records, next: page.next === null ? null : (page.records.at(-1)?.place ?? null) };
}
