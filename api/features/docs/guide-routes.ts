import { createHash } from "node:crypto";

import { z } from "zod";

import { defineRoute } from "../../http/define-route.ts";
import type { RawResult } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import { answerText } from "../../http/prepared-text.ts";
import type { PreparedText } from "../../http/prepared-text.ts";
import { pageAnswer } from "../pages/page-answer.ts";
import type { Pages } from "../pages/pages.ts";
import type { Guides } from "./guides.ts";

/** Dependencies of the guides' routes. */
export interface GuidesDeps {
  guides: Guides;
  /** Shows guides in the look of the web pages, once their bundle is built. */
  pages: Pick<Pages, "read">;
  /** What a language model reads first. */
  llmsText: () => Promise<PreparedText>;
}

const STYLE = `
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; color: #1a1a1a; }
pre { overflow-x: auto; padding: 0.75rem; background: #f5f5f5; }
code { font-size: 0.9em; }
table { display: block; overflow-x: auto; border-collapse: collapse; }
th, td { padding: 0.25rem 0.5rem; border: 1px solid #ccc; text-align: left; vertical-align: top; }
`;

/** While the bundle of the web pages isn't built. Nothing is loaded and no script runs; the one style is the page's own. */
const CONTENT_SECURITY_POLICY =
  `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const shared = { method: "GET", tag: "Documentation", auth: "none", limitClass: "unlimited", budget: "none" } as const;

/** Of what changes with the service's version alone. */
const CACHE_CONTROL = "public, max-age=300";

const QUERY_MAX_LENGTH = 1_000;
const guideName = z.string().min(1).max(100);

/** A person who follows a link with more than it should have sees the page. */
const question = z.string().max(QUERY_MAX_LENGTH).optional().catch(undefined);

const forPeople = {
  ...shared,
  audience: "people",
  produces: ["text/html"],
  responses: { 200: z.string(), 304: z.undefined() },
} as const;

const guideList = defineRoute({
  name: "guides.list",
  scope: "none",
  ...forPeople,
  // A search costs the service some work.
  limitClass: "keyless",
  path: "/guides",
  summary: "The guides as a web page, and a search in them",
  query: z.object({ q: question }),
}).handle(async ({ query: { q = "" }, headers, ip }, { guides, pages }: GuidesDeps) => {
  const titles = guides.list();
  const data = () => ({
    guides: titles.map(({ name, title }) => ({ name, title, summary: guides.read(name)?.summary ?? "" })),
    found: q.trim() === "" ? null : guides.find(q),
  });
  const search = q === "" ? "" : new URLSearchParams({ q }).toString();
  const shown = await pages.read("/guides", search, ip, () => answered("guides", data()));
  if (shown !== undefined) return pageAnswer(shown, headers);
  const items = titles.map(({ name, title }) => `<li><a href="/guides/${name}">${escapeHtml(title)}</a></li>`);
  const api = `<p>The API is described at <a href="/docs">/docs</a>.</p>`;
  return page("Guides", `<h1>Guides</h1>\n${api}\n<ul>\n${items.join("\n")}\n</ul>\n`);
});

const guide = defineRoute({
  name: "guides.read",
  scope: "none",
  ...forPeople,
  path: "/guides/{page}",
  summary: "A guide as a web page",
  query: z.object({}),
  params: z.strictObject({ page: guideName.meta({ examples: ["webhooks", "operations-accept"] }) }),
  errors: ["not_found"],
}).handle(async ({ params, headers, ip }, { guides, pages }: GuidesDeps) => {
  const found = guides.read(params.page);
  if (found === undefined) throw new ApiError("not_found", { details: { page: params.page } });
  const { name, title, html, summary } = found;
  const data = () => ({ name, title, html, summary, guides: guides.list() });
  const shown = await pages.read(`/guides/${name}`, "", ip, () => answered("guide", data()));
  if (shown !== undefined) return pageAnswer(shown, headers);
  return page(title, `<p><a href="/guides">Guides</a></p>\n${html}`);
});

/** What the page is made of, as an answer of the API. */
function answered(name: string, data: object): Promise<Record<string, { status: number; body: unknown }>> {
  return Promise.resolve({ [name]: { status: 200, body: { data } } });
}

const forPrograms = { ...shared, audience: "crawlers", responses: { 200: z.string(), 304: z.undefined() } } as const;

const guideText = defineRoute({
  name: "guides.readText",
  scope: "none",
  ...forPrograms,
  path: "/guides/{page}.md",
  summary: "A guide as Markdown",
  produces: ["text/markdown"],
  params: z.strictObject({ page: guideName }),
  errors: ["not_found"],
}).handle(async ({ params, headers }, { guides }: GuidesDeps) => {
  const found = await guides.readMarkdown(params.page);
  if (found === undefined) throw new ApiError("not_found", { details: { page: params.page } });
  return answerText(found, headers, { type: "text/markdown; charset=utf-8", cacheControl: CACHE_CONTROL });
});

const llmsText = defineRoute({
  name: "guides.readOverview",
  scope: "none",
  ...forPrograms,
  path: "/llms.txt",
  summary: "What a language model reads first",
  produces: ["text/plain"],
}).handle(async ({ headers }, deps: GuidesDeps) =>
  answerText(await deps.llmsText(), headers, { type: "text/plain; charset=utf-8", cacheControl: CACHE_CONTROL }),
);

function page(title: string, body: string): RawResult {
  return {
    status: 200,
    raw: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${escapeHtml(title)}</title>
    <style>${STYLE}</style>
  </head>
  <body>
${body}  </body>
</html>
`,
    headers: { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": CONTENT_SECURITY_POLICY },
  };
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

// The more exact path first: both have one parameter.
export const guideRoutes = [guideList, guideText, guide, llmsText];
