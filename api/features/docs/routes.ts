import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

import { z } from "zod";

import { defineRoute } from "../../http/define-route.ts";
import type { RawResult } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import type { StaticDocument } from "./static-document.ts";

/** Dependencies of the documentation routes. */
export interface DocsDeps {
  /** The OpenAPI document of the routes for agents. */
  apiDescription: StaticDocument;
  /** That of the routes for operators. */
  operatorDescription: StaticDocument;
}

const uiFolder = path.dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));

/** Scripts and styles load only from this server, and the page may call only this API. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Agent marketplace: API</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css" />
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

const START_SCRIPT = `window.ui = SwaggerUIBundle({ url: "/openapi.json", dom_id: "#swagger-ui", deepLinking: true, validatorUrl: null });\n`;

function asset(contentType: string, content: string | Buffer): RawResult {
  return {
    status: 200,
    raw: content,
    headers: { "Content-Type": contentType, "Content-Security-Policy": CONTENT_SECURITY_POLICY },
  };
}

const shared = { method: "GET", tag: "Documentation", auth: "none", limitClass: "unlimited", budget: "none" } as const;

/** What both descriptions have in common. */
const described = {
  requestHeaders: {
    "If-None-Match": z.string().optional().meta({ description: "The `ETag` of a known version" }),
  },
  responses: {
    200: z.looseObject({ openapi: z.string() }).meta({ id: "OpenApiDocument" }),
    304: z.undefined(),
  },
  responseHeaders: {
    ETag: z.string().meta({ description: "Changes with the document" }),
    "Content-Encoding": z.enum(["br", "gzip"]).optional(),
  },
} as const;

const openApiDocument = defineRoute({
  name: "docs.readDescription",
  scope: "none",
  ...shared,
  ...described,
  path: "/openapi.json",
  summary: "This API description",
  description: "Compressed for clients that accept it, and 304 for one that names the current `ETag`.",
}).handle(({ headers }, { apiDescription }: DocsDeps) => apiDescription.answer(headers));

const operatorDocument = defineRoute({
  name: "docs.readOperatorDescription",
  scope: "none",
  method: "GET",
  tag: "Documentation",
  auth: "admin",
  limitClass: "keyless",
  budget: "none",
  ...described,
  path: "/openapi-admin.json",
  summary: "The description of the routes for operators",
}).handle(({ headers }, { operatorDescription }: DocsDeps) => operatorDescription.answer(headers));

const docsPage = defineRoute({
  name: "docs.readPage",
  scope: "none",
  ...shared,
  path: "/docs",
  summary: "This API description as a web page",
  produces: ["text/html"],
  responses: { 200: z.string() },
}).handle(() => asset("text/html; charset=utf-8", PAGE));

const ASSETS = ["swagger-ui.css", "swagger-ui-bundle.js", "start.js"];

const docsAsset = defineRoute({
  name: "docs.readAsset",
  scope: "none",
  ...shared,
  path: "/docs/{file}",
  summary: "Scripts and styles of that web page",
  produces: ["text/javascript", "text/css"],
  params: z.strictObject({ file: z.string().min(1).max(100).meta({ examples: ASSETS }) }),
  responses: { 200: z.string() },
  errors: ["not_found"],
}).handle(async ({ params: { file } }) => {
  if (!ASSETS.includes(file)) throw new ApiError("not_found", { details: { file } });
  const contentType = file.endsWith(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8";
  if (file === "start.js") return asset(contentType, START_SCRIPT);
  return asset(contentType, await readFile(path.join(uiFolder, file)));
});

export const docsRoutes = [openApiDocument, operatorDocument, docsPage, docsAsset];
