/** One page of a list from the API. */
export interface Page<Item> {
  data: Item[];
  /** Null on the last page. */
  nextCursor: string | null;
}

/** Every item of a list in order. The next page is requested once the items of the current one are used up. */
export async function* paginate<Item>(
  fetchPage: (cursor: string | undefined) => Promise<Page<Item>>,
  first?: string,
): AsyncGenerator<Item, void, undefined> {
  for (let cursor = first; ;) {
    const { data, nextCursor } = await fetchPage(cursor);
    yield* data;
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}

/** The items of a list as an array, at most `limit` of them. */
export async function collect<Item>(items: AsyncIterable<Item>, limit = Infinity): Promise<Item[]> {
  const found: Item[] = [];
  if (limit <= 0) return found;
  for await (const item of items) {
    found.push(item);
    if (found.length >= limit) break;
  }
  return found;
}
