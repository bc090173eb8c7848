/** Finds the number that a bench has put into the body of an event: `"mark":17`. */
const MARK = /"mark":(\d+)/;

/** The mark of an event's text; undefined if it has none. */
export function markOf(text: string): number | undefined {
  const found = MARK.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}
