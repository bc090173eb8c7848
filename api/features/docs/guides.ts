import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";

import markdownIt from "markdown-it";

import { prepareText } from "../../http/prepared-text.ts";
import type { PreparedText } from "../../http/prepared-text.ts";
import { createHeadingIds } from "../../lib/heading-ids.ts";
import { GuideSearch } from "./guide-search.ts";
import type { FoundSection, GuideSection } from "./guide-search.ts";

/** A guide as the index lists it. */
interface GuideTitle {
  /** The last segment of its path: `webhooks`, `operations-accept`. */
  name: string;
  title: string;
}

/** A guide as it is shown. */
interface Guide extends GuideTitle {
  html: string;
  /** Its first sentence; empty if it begins otherwise. */
  summary: string;
}

/** A guide with its sections, for the search. */
type ReadGuide = Guide & { sections: readonly GuideSection[] };

/** The Markdown of a guide, and where links lead from it. */
interface Source extends GuideTitle {
  /** Path below the folder of the documentation: `api/webhooks.md`. */
  file: string;
  text: string;
}

type Parser = ReturnType<typeof markdownIt>;
type Token = ReturnType<Parser["parse"]>[number];

/** The guides to begin with. */
const FIRST = ["first-agent", "tour"];
/** The folders of the callers' guides, with the prefix of their names. */
const FOLDERS = [
  { folder: "api", prefix: "" },
  { folder: "operations", prefix: "operations-" },
];

/** A block or a span of code, or a link: its text and where it leads. */
const CODE_OR_LINK = /^ *(```+)[^]*?^ *\1 *$|(`+)[^]*?\2|\[([^\]]*)\]\(([^()\s]*)\)/gm;

/**
 * The callers' guides as HTML and as Markdown. The pages are listed and read once, when the service starts, so that no request
 * names a file. Raw HTML in a page is escaped, and a link to a page that isn't served becomes text.
 */
export class Guides {
  readonly #sources: ReadonlyMap<string, Source>;
  readonly #names: ReadonlyMap<string, string>;
  readonly #rendered = new Map<string, ReadGuide>();
  readonly #markdown = new Map<string, Promise<PreparedText>>();
  readonly #parser = guideParser();
  #search: GuideSearch | undefined;

  /** @param root the folder of the documentation */
  constructor({ root }: { root: string }) {
    const files = FOLDERS.flatMap(({ folder, prefix }) =>
      readdirSync(path.join(root, folder))
        .filter((file) => file.endsWith(".md"))
        .sort()
        .map((file) => ({ name: nameOf(file, prefix), file: `${folder}/${file}` })),
    );
    const first = FIRST.map((name) => ({ name, file: `${name}.md` }));
    const sources = [...first, ...files].map(({ name, file }) => {
      const text = withoutComments(readFileSync(path.join(root, file), "utf8"));
      return { name, file, text, title: /^# (.+)$/m.exec(text)?.[1]?.replaceAll("`", "") ?? name };
    });
    this.#sources = new Map(sources.map((source) => [source.name, source]));
    this.#names = new Map(sources.map(({ name, file }) => [file, name]));
  }

  list(): GuideTitle[] {
    return [...this.#sources.values()].map(({ name, title }) => ({ name, title }));
  }

  /** A guide as HTML; undefined if there is none of this name. */
  read(name: string): Guide | undefined {
    return this.#read(name);
  }

  /** Finds sections of all guides by words. */
  find(question: string): FoundSection[] {
    this.#search ??= new GuideSearch([...this.#sources.keys()].flatMap((name) => this.#read(name)?.sections ?? []));
    return this.#search.find(question);
  }

  #read(name: string): ReadGuide | undefined {
    const source = this.#sources.get(name);
    if (source === undefined) return undefined;
    const guide = this.#rendered.get(name) ?? this.#render(source);
    this.#rendered.set(name, guide);
    return guide;
  }

  /** The Markdown of a guide, whose links lead to the Markdown of others; undefined if there is none of this name. */
  async readMarkdown(name: string): Promise<PreparedText | undefined> {
    const source = this.#sources.get(name);
    if (source === undefined) return undefined;
    const kept = this.#markdown.get(name) ?? prepareText(this.#toMarkdown(source));
    this.#markdown.set(name, kept);
    return kept;
  }

  #toMarkdown({ file, text }: Source): string {
    return text.replaceAll(CODE_OR_LINK, (whole, _fence, _ticks, label?: string, href?: string) => {
      if (label === undefined || href === undefined) return whole;
      const address = this.#addressFrom(file, href, ".md");
      return address === undefined ? label : `[${label}](${address})`;
    });
  }

  #render({ file, name, title, text }: Source): ReadGuide {
    const tokens = withoutEmptyHeads(this.#parser.parse(text, {}));
    const toId = createHeadingIds();
    for (const [at, token] of tokens.entries()) {
      if (token.type === "heading_open") token.attrSet("id", toId(headingText(tokens[at + 1])));
      if (token.children !== null) token.children = this.#withServedLinks(token.children, file);
    }
    const html = this.#parser.renderer.render(tokens, this.#parser.options, {});
    const sections = sectionsOf(tokens, { name, title });
    return { name, title, html, summary: firstSentence(tokens), sections };
  }

  /** Rewrites links to other guides, and keeps only the text of those to pages that aren't served. */
  #withServedLinks(tokens: readonly Token[], file: string): Token[] {
    let isDropped = false;
    return tokens.filter((token) => {
      if (token.type === "link_close") return !isDropped;
      if (token.type !== "link_open") return true;
      const address = this.#addressFrom(file, String(token.attrGet("href") ?? ""));
      isDropped = address === undefined;
      if (address !== undefined) token.attrSet("href", address);
      return !isDropped;
    });
  }

  #addressFrom(file: string, href: string, ending = ""): string | undefined {
    if (/^(https?:|#)/.test(href)) return href;
    const [target = "", anchor] = href.split("#");
    const name = this.#names.get(path.posix.join(path.posix.dirname(file), target));
    if (name === undefined) return undefined;
    return `/guides/${name}${ending}${anchor === undefined ? "" : `#${anchor}`}`;
  }
}

function nameOf(file: string, prefix: string): string {
  return file === "README.md" ? prefix.replace(/-$/, "") : `${prefix}${path.basename(file, ".md")}`;
}

/** Comments mark what tests compare. With raw HTML off they would be shown. */
function withoutComments(text: string): string {
  return text.replaceAll(/<!--.*?-->/gs, "");
}

function headingText(token: Token | undefined): string {
  return (token?.children ?? []).map(({ content }) => content).join("");
}

/** Raw HTML is escaped. What may be wider than a page scrolls by itself, also by the keyboard. */
function guideParser(): Parser {
  const parser = markdownIt({ html: false });
  const { rules } = parser.renderer;
  rules["table_open"] = (tokens, at) => {
    const nth = tokens.slice(0, at + 1).filter(({ type }) => type === "table_open").length;
    return `<div class="scrolls" tabindex="0" role="region" aria-label="Table ${nth}">\n<table>\n`;
  };
  rules["table_close"] = () => "</table>\n</div>\n";
  rules["fence"] = (tokens, at) =>
    `<pre tabindex="0"><code>${parser.utils.escapeHtml(tokens[at]?.content ?? "")}</code></pre>\n`;
  return parser;
}

/** Leaves out heads of tables without any text. Markdown has no tables without a head. */
function withoutEmptyHeads(tokens: readonly Token[]): Token[] {
  let isDropped = false;
  return tokens.filter(({ type }, at) => {
    if (type === "thead_open") {
      const end = tokens.findIndex((token, place) => place > at && token.type === "thead_close");
      isDropped = tokens.slice(at, end).every(({ content }) => content.trim() === "");
    }
    const isLeftOut = isDropped;
    if (type === "thead_close") isDropped = false;
    return !isLeftOut;
  });
}

/** The text below each heading, code included. */
function sectionsOf(tokens: readonly Token[], { name, title }: GuideTitle): GuideSection[] {
  const sections: (Omit<GuideSection, "text"> & { parts: string[] })[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.type === "heading_open") {
      const heading = headingText(tokens[at + 1]);
      sections.push({ name, title, heading, id: String(token.attrGet("id")), parts: [] });
    } else if (tokens[at - 1]?.type !== "heading_open" && ["inline", "fence"].includes(token.type)) {
      sections.at(-1)?.parts.push(token.type === "fence" ? token.content : plainText(token));
    }
  }
  return sections.map(({ parts, ...section }) => ({
    ...section,
    text: parts.join(" ").replaceAll(/\s+/g, " ").trim(),
  }));
}

/** The first sentence of a guide's introduction; empty without one. */
function firstSentence(tokens: readonly Token[]): string {
  const part = tokens.findIndex(({ type, tag }) => type === "heading_open" && tag === "h2");
  const above = part < 0 ? tokens : tokens.slice(0, part);
  const at = above.findIndex(({ type, level }) => type === "paragraph_open" && level === 0);
  if (at < 0) return "";
  const text = plainText(above[at + 1]);
  return /^.+?[.:](?= [A-Z]|$)/.exec(text)?.[0].replace(/:$/, ".") ?? text;
}

/** A text without its markup. */
function plainText(token: Token | undefined): string {
  return (token?.children ?? []).map(({ type, content }) => (type === "softbreak" ? " " : content)).join("");
}
