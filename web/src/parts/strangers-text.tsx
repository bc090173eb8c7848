import { counted } from "../words/amounts.ts";
import { clean, shortened } from "../words/strangers-text.ts";

/** A stranger's text as text alone: nothing in it is a link or a tag, and what can't be seen is taken out with a mark. */
export function StrangersText({ text, max }: { text: string; max?: number }) {
  const safe = clean(text);
  const shown = max === undefined ? safe.text : shortened(safe.text, max);
  return (
    <>
      <bdi class="strangers">{shown.trim() === "" ? "(nothing that can be read)" : shown}</bdi>
      {safe.hidden > 0 && " "}
      {safe.hidden > 0 && (
        <span class="mark" title="Characters that can't be seen, or turn text around, were taken out">
          {counted(safe.hidden, "hidden character")} removed
        </span>
      )}
    </>
  );
}
