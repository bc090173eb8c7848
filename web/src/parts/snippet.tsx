import { Copy } from "./copy.tsx";

/** Lines to paste, of ids and our own words. */
export function Snippet({ title, lines }: { title: string; lines: readonly string[] }) {
  const text = lines.join("\n");
  return (
    <figure class="snippet">
      <figcaption>
        {title}
        <Copy text={text} what={`the lines for ${title}`} />
      </figcaption>
      <pre>
        <code>{text}</code>
      </pre>
    </figure>
  );
}
