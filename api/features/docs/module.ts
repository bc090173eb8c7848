import { fileURLToPath } from "node:url";

import { defineFeature } from "../feature.ts";
import { guideRoutes } from "./guide-routes.ts";
import { Guides } from "./guides.ts";
import { docsRoutes } from "./routes.ts";

export type { DocsDeps } from "./routes.ts";
export { StaticDocument } from "./static-document.ts";

const root = fileURLToPath(new URL("../../../docs/", import.meta.url));

/** The API description, the callers' guides, and their web pages. */
export const docsModule = defineFeature({
  routes: [...docsRoutes, ...guideRoutes],
  create: () => ({ services: { guides: new Guides({ root }) } }),
});
