import { defineFeature } from "../feature.ts";
import { Downloads } from "./downloads.ts";
import { downloadRoutes } from "./routes.ts";

/** Dependencies of the downloads. */
interface DownloadsModuleDeps {
  dir: string;
  publicUrl: string;
}

/** Serves the client packages to anyone. */
export const downloadsModule = defineFeature({
  routes: downloadRoutes,
  create: (deps: DownloadsModuleDeps) => ({ services: { downloads: new Downloads(deps) } }),
});
