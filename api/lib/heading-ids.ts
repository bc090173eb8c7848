/** Gives each heading of a page the id that GitHub gives it: `What it costs` is `what-it-costs`, a second one `what-it-costs-1`. */
export function createHeadingIds(): (text: string) => string {
  const counts = new Map<string, number>();
  return (text) => {
    const plain = text.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "");
    const id = plain.replaceAll(" ", "-");
    const earlier = counts.get(id) ?? 0;
    counts.set(id, earlier + 1);
    return earlier === 0 ? id : `${id}-${String(earlier)}`;
  };
}
