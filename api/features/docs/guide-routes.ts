import { createHash } from "node:crypto";

import { z } from "zod";

import { defineRoute } from "../../http/define-route.ts";
import type { RawResult } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import type { Guides } from "./guides.ts";

/** Dependencies of the guides' routes. */
export interface GuidesDeps {
  guides: Guides;
}

const STYLE = `
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; color: #1a1a1a; }
pre { overflow-x: auto; padding: 0.75rem; background: #f5f5f5; }
code { font-size: 0.9em; }
table { display: block; overflow-x: auto; border-collapse: collapse; }
th, td { padding: 0.25rem 0.5rem; border: 1px solid #ccc; text-align: left; vertical-align: top; }
`;

/** Nothing is loaded and no script runs; the one style is the page's own. */
const CONTENT_SECURITY_POLICY =
  `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const shared = { method: "GET", tag: "Documentation", auth: "none", limitClass: "unlimited", budget: "none" } as const;

const guideList = defineRoute({
  name: "guides.list",
  scope: "none",
  ...shared,
  path: "/guides",
  summary: "The guides as a web page",
  produces: ["text/html"],
  responses: { 200: z.string() },
}).handle((_request, { guides }: GuidesDeps) => {
  const items = guides.list().map(({ name, title }) => `<li><a href="/guides/${name}">${escapeHtml(title)}</a></li>`);
  const api = `<p>The API is described at <a href="/docs">/docs</a>.</p>`;
  return page("Guides", `<h1>Guides</h1>\n${api}\n<ul>\n${items.join("\n")}\n</ul>\n`);
});

const guide = defineRoute({
  name: "guides.read",
  scope: "none",
  ...shared,
  path: "/guides/{page}",
  summary: "A guide as a web page",
  produces: ["text/html"],
  params: z.strictObject({
    page: z
      .string()
      .min(1)
      .max(100)
      .meta({ examples: ["webhooks", "operations-accept"] }),
  }),
  responses: { 200: z.string() },
  errors: ["not_found"],
}).handle(({ params }, { guides }: GuidesDeps) => {
  const found = guides.read(params.page);
  if (found === undefined) throw new ApiError("not_found", { details: { page: params.page } });
  return page(found.title, `<p><a href="/guides">Guides</a></p>\n${found.html}`);
});

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

export const guideRoutes = [guideList, guide];
