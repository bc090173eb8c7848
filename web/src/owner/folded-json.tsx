import { counted } from "../words/amounts.ts";
import { clean } from "../words/strangers-text.ts";

const SPACES = 2;
const KILO = 1_000;

/**
 * A stranger's JSON, folded: nothing in it is a link or a tag, and what can't be seen is taken out with a mark. The browser's own search
 * finds it also while it is folded.
 */
export function FoldedJson({ name, value, isOpen = false }: { name: string; value: unknown; isOpen?: boolean }) {
  const { text, hidden } = clean(JSON.stringify(value, null, SPACES));
  const { length } = text;
  return (
    <details class="json" open={isOpen}>
      <summary>
        {name}{" "}
        <span class="aside">
          {length < KILO
            ? counted(length, "character")
            : `${counted(Math.round(length / KILO), "thousand", "thousand")} characters`}
        </span>{" "}
        {hidden > 0 && (
          <span class="mark" title="Characters that can't be seen, or turn text around, were taken out">
            {counted(hidden, "hidden character")} removed
          </span>
        )}
      </summary>
      <pre class="strangers">
        <code>{text}</code>
      </pre>
    </details>
  );
}
