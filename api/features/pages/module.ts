import { VERSION } from "../../config/version.ts";
import { defineFeature } from "../feature.ts";
import { Pages } from "./pages.ts";
import type { PagesOptions } from "./pages.ts";
import { pageRoutes } from "./routes.ts";

export { htmlErrors } from "./html-errors.ts";
export type { PagesDeps } from "./routes.ts";

/** Serves the web pages to people. */
export const pagesModule = defineFeature({
  routes: pageRoutes,
  create: (deps: Omit<PagesOptions, "version">) => ({ services: { pages: new Pages({ ...deps, version: VERSION }) } }),
});
