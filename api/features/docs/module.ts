import { defineFeature } from "../feature.ts";
import { docsRoutes } from "./routes.ts";

export type { DocsDeps } from "./routes.ts";

/** The API description and its web pages. */
export const docsModule = defineFeature({ routes: docsRoutes, create: () => ({ services: {} }) });
