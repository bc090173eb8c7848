import { z } from "zod";

import { listOf } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import { namesEtag } from "../../http/if-none-match.ts";
import { BUILD_COMMAND } from "./downloads.ts";
import type { Downloads } from "./downloads.ts";

/** Dependencies of the routes that hand out packages. */
export interface DownloadsDeps {
  downloads: Downloads;
}

const downloadOutput = z
  .object({
    file: z.string(),
    name: z.string(),
    version: z.string(),
    bytes: z.int(),
    sha256: z.string(),
    url: z.url(),
    install: z.string().meta({ description: "The command that installs it" }),
  })
  .meta({ id: "Download" });

const shared = {
  method: "GET",
  tag: "Documentation",
  audience: "packageManagers",
  auth: "none",
  limitClass: "keyless",
  budget: "none",
} as const;

const listDownloads = defineRoute({
  name: "downloads.list",
  scope: "none",
  ...shared,
  path: "/downloads",
  summary: "The packages of the client",
  responses: { 200: listOf(downloadOutput) },
  errors: ["download_not_built"],
}).handle(async (_request, { downloads }: DownloadsDeps) => {
  const found = await downloads.list();
  if (found.length === 0) throw notBuilt();
  const data = found.map(({ content, ...facts }) => ({ ...facts, bytes: content.length }));
  return { status: 200, body: { success: true, data, nextCursor: null } };
});

const readDownload = defineRoute({
  name: "downloads.read",
  scope: "none",
  ...shared,
  path: "/downloads/{file}",
  summary: "A package",
  produces: ["application/gzip"],
  params: z.strictObject({
    file: z
      .string()
      .min(1)
      .max(100)
      .meta({ examples: ["sdk.tgz"] }),
  }),
  responses: { 200: z.string(), 304: z.undefined() },
  errors: ["not_found", "download_not_built"],
}).handle(async ({ params: { file }, headers: requested }, { downloads }: DownloadsDeps) => {
  const download = await downloads.read(file);
  if (download === "unknown") throw new ApiError("not_found", { details: { file } });
  if (download === undefined) throw notBuilt();
  const etag = `"${download.sha256}"`;
  // The address stays the same when the package changes.
  const headers = { ETag: etag, "Cache-Control": "public, no-cache" };
  if (namesEtag(requested["if-none-match"], etag)) return { status: 304, raw: "", headers };
  return { status: 200, raw: download.content, headers: { ...headers, "Content-Type": "application/gzip" } };
});

function notBuilt(): ApiError {
  return new ApiError("download_not_built", { details: { command: BUILD_COMMAND } });
}

export const downloadRoutes = [listDownloads, readDownload];
