import path from "node:path";

import markdownIt from "markdown-it";

import { createHeadingIds } from "../../../api/lib/heading-ids.ts";

const MAX_README_LINES = 120;
const MAX_PAGE_LINES = 200;
const MAX_LINE_LENGTH = 160;
const MAX_SENTENCE_WORDS = 25;

/** A page of the repository, parsed. */
export interface Page {
  /** Path from the root of the repository. */
  path: string;
  text: string;
  /** Whether a program writes the page: its length and its prose aren't checked. */
  isGenerated?: boolean;
  /** Whether the page may be longer than others. */
  isLong?: boolean;
}

/** What a page breaks, as `path:line: problem`. */
type Problem = string;

type Token = ReturnType<ReturnType<typeof markdownIt>["parse"]>[number];

/** Comments are HTML: they are parsed, so that they aren't read as text. */
const parser = markdownIt({ html: true });
const sentences = new Intl.Segmenter("en", { granularity: "sentence" });

/**
 * What would look for our packages where they aren't: no registry has them, the service hands them out itself. A path or an
 * address may end with their names.
 */
const OUR_NAME = String.raw`(?<=npm:|(?<![\w@./:-]))@?agent-marketplace(?![\w.:-])`;
const MISLEADING: readonly { pattern: RegExp; problem: string }[] = [
  {
    pattern: new RegExp(String.raw`\b(npx|npm (exec|x)|pnpm (dlx|exec)|yarn dlx|bunx)\b[^\n\`|]*?${OUR_NAME}`),
    problem: "runs our package from a registry, which doesn't have it",
  },
  {
    pattern: new RegExp(
      String.raw`\b((npm|pnpm|bun) (install|i|ci|add|create|init|view)|yarn add|deno add)\b[^\n\`|]*?${OUR_NAME}`,
    ),
    problem: "installs our package from a registry, which doesn't have it: the service hands it out at /downloads",
  },
  {
    pattern: /https?:\/\/\S*\/package\/@?agent-marketplace/,
    problem: "leads to a registry, which doesn't have our package",
  },
];

/**
 * Checks the pages: their length, their lines and sentences outside tables and code blocks, that every relative link leads to a
 * file and a heading, and that nobody is sent to a registry for our packages.
 * @param isFile whether the repository has a file or folder of this path
 */
export function findProblems(pages: readonly Page[], isFile: (path: string) => boolean): Problem[] {
  const anchors = new Map(pages.map((page) => [page.path, collectAnchors(page.text)]));
  return pages.flatMap((page) => {
    const tokens = parser.parse(page.text, {});
    const prose =
      page.isGenerated === true ? [] : [...checkLength(page), ...checkLines(page, tokens), ...checkWords(page, tokens)];
    return [...prose, ...checkLinks(page, tokens, anchors, isFile), ...checkInstalls(page)];
  });
}

function checkLength({ path: name, text, isLong }: Page): Problem[] {
  const lines = text.trimEnd().split("\n").length;
  const limit = name === "README.md" ? MAX_README_LINES : MAX_PAGE_LINES;
  return lines <= limit || isLong === true ? [] : [`${name}:1: ${String(lines)} lines, at most ${String(limit)}`];
}

/** Lines of prose that are too long. Tables and blocks of code may have longer ones. */
function checkLines({ path: name, text }: Page, tokens: readonly Token[]): Problem[] {
  const free = new Set<number>();
  for (const { type, map } of tokens) {
    if (map === null || !["table_open", "fence", "code_block"].includes(type)) continue;
    for (let line = map[0]; line < map[1]; line += 1) free.add(line);
  }
  return text
    .split("\n")
    .flatMap((line, index) =>
      line.length <= MAX_LINE_LENGTH || free.has(index)
        ? []
        : [
            `${name}:${String(index + 1)}: a line of ${String(line.length)} characters, at most ${String(MAX_LINE_LENGTH)}`,
          ],
    );
}

function checkWords({ path: name }: Page, tokens: readonly Token[]): Problem[] {
  let tables = 0;
  const problems: Problem[] = [];
  for (const token of tokens) {
    if (token.type === "table_open") tables += 1;
    if (token.type === "table_close") tables -= 1;
    if (token.type !== "inline" || tables > 0) continue;
    // A word of code counts as one, and may begin a sentence.
    const prose = (token.children ?? [])
      .map((child) => (child.type === "code_inline" ? "Code" : textOf(child)))
      .join("");
    for (const { segment } of sentences.segment(prose)) {
      const words = segment.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
      if (words <= MAX_SENTENCE_WORDS) continue;
      const start = segment.trim().slice(0, 60);
      problems.push(
        `${name}:${lineOf(token)}: ${String(words)} words, at most ${String(MAX_SENTENCE_WORDS)}: "${start}…"`,
      );
    }
  }
  return problems;
}

function checkLinks(
  page: Page,
  tokens: readonly Token[],
  anchors: ReadonlyMap<string, ReadonlySet<string>>,
  isFile: (path: string) => boolean,
): Problem[] {
  const links = tokens.flatMap((token) =>
    (token.children ?? []).flatMap((child) => {
      const address = child.attrGet("href") ?? child.attrGet("src");
      return address === null || /^[a-z]+:/.test(String(address))
        ? []
        : [{ address: String(address), line: lineOf(token) }];
    }),
  );
  return links.flatMap(({ address, line }) => {
    const [file = "", anchor] = decodeURI(address).split("#");
    const target =
      file === "" ? page.path : path.normalize(path.join(path.dirname(page.path), file)).replace(/\/$/, "");
    const headings = anchors.get(target);
    const isFound = isFile(target) && (anchor === undefined || headings?.has(anchor) !== false);
    return isFound ? [] : [`${page.path}:${line}: the link ${address} leads nowhere`];
  });
}

/** Also in blocks of code, where commands are. */
function checkInstalls({ path: name, text }: Page): Problem[] {
  return text
    .split("\n")
    .flatMap((line, index) =>
      MISLEADING.filter(({ pattern }) => pattern.test(line)).map(
        ({ problem }) => `${name}:${String(index + 1)}: ${problem}`,
      ),
    );
}

function collectAnchors(text: string): Set<string> {
  const toId = createHeadingIds();
  const tokens = parser.parse(text, {});
  return new Set(tokens.flatMap((token, at) => (tokens[at - 1]?.type === "heading_open" ? [toId(textOf(token))] : [])));
}

/** The text of a token as its reader sees it. */
function textOf({ type, content, children }: Token): string {
  if (children !== null) return children.map((child) => textOf(child)).join("");
  if (type === "html_inline") return "";
  return type.endsWith("break") ? " " : content;
}

function lineOf({ map }: Token): string {
  return String((map?.[0] ?? 0) + 1);
}
