import { defineFeature } from "../feature.ts";
import { categoryRoutes } from "./routes.ts";

/** The taxonomy of services. */
export const categoriesModule = defineFeature({ routes: categoryRoutes, create: () => ({ services: {} }) });
