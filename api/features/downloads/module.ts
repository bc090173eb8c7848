import { defineFeature } from "../feature.ts";
import { Downloads } from "./downloads.ts";
import { downloadRoutes } from "./routes.ts";

/** Dependencies of the downloads. */
interface DownloadsModuleDeps {
  dir: string;
  publicUrl: string;
}

/** The packages of the client, for whoever reaches the service. */
export const downloadsModule = defineFeature({
  routes: downloadRoutes,
  create: (deps: DownloadsModuleDeps) => ({ services: { downloads: new Downloads(deps) } }),
});
