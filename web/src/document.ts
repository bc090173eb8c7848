import type { Head } from "./head.ts";
import type { PageState, Site } from "./data/site.ts";

/** Addresses of the files that pages load. */
export interface Files {
  script: string;
  styles: readonly string[];
}

/** The files of public pages, and what the owner's and the operator's load in place of the script and beside the styles. */
export type Assets = Files & { owner: Files; operator: Files };

/** The parts of a page as it is sent. */
export interface DocumentParts {
  head: Head;
  /** Canonical path and search; undefined for a page that nobody should find again. */
  address: string | undefined;
  /** Rendered content. */
  body: string;
  /** What the page is about, for crawlers (JSON-LD). */
  facts?: object | undefined;
  /** What the browser goes on with; undefined for a page that stays as it is. */
  state: PageState | undefined;
  site: Site & { assets: Files };
  icon: string;
  /** Path of the picture that stands beside a shared link: a PNG of `SHARE_WIDTH` by `SHARE_HEIGHT`. */
  sharePicture: string;
}

const [SHARE_WIDTH, SHARE_HEIGHT] = [1_200, 630];

/** The whole HTML of a page. */
export function htmlDocument({ head, address, body, facts, state, site, icon, sharePicture }: DocumentParts): string {
  const { publicUrl, assets } = site;
  const canonical = address === undefined ? undefined : escapeHtml(`${publicUrl}${address}`);
  const [title, description] = [escapeHtml(head.title), escapeHtml(head.description)];
  const lines = [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${title}</title>`,
    `<meta name="description" content="${description}">`,
    '<meta name="color-scheme" content="light dark">',
    ...(canonical === undefined
      ? ['<meta name="robots" content="noindex">']
      : [`<link rel="canonical" href="${canonical}">`, `<meta property="og:url" content="${canonical}">`]),
    // People share links to searches as well, so these stand on every page.
    `<meta property="og:title" content="${title}">`,
    `<meta property="og:description" content="${description}">`,
    '<meta property="og:type" content="website">',
    `<meta property="og:image" content="${escapeHtml(publicUrl + sharePicture)}">`,
    `<meta property="og:image:width" content="${SHARE_WIDTH}">`,
    `<meta property="og:image:height" content="${SHARE_HEIGHT}">`,
    '<meta name="twitter:card" content="summary_large_image">',
    `<link rel="alternate" type="application/atom+xml" title="New listings" href="/feed.atom">`,
    `<link rel="icon" href="${icon}" type="image/svg+xml">`,
    ...assets.styles.map((file) => `<link rel="stylesheet" href="${escapeHtml(file)}">`),
    ...(state === undefined ? [] : [`<script type="module" src="${escapeHtml(assets.script)}"></script>`]),
    "</head>",
    "<body>",
    `<div id="page">${body}</div>`,
    ...(state === undefined ? [] : [`<script type="application/json" id="state">${dataBlock(state)}</script>`]),
    ...(facts === undefined ? [] : [`<script type="application/ld+json">${dataBlock(facts)}</script>`]),
    "</body>",
    "</html>",
    "",
  ];
  return lines.join("\n");
}

/** JSON that ends no element, whatever text is in it. */
export function dataBlock(data: unknown): string {
  return JSON.stringify(data).replaceAll("<", String.raw`\u003c`);
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
