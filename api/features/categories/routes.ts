import { z } from "zod";

import { defineRoute } from "../../http/define-route.ts";
import { TAXONOMY } from "./taxonomy.ts";

const category = z.object({
  slug: z.string().meta({ description: "Identifier that a service gives as its `category`" }),
  label: z.string().meta({ description: "Display name" }),
});

const listCategories = defineRoute({
  name: "categories.list",
  scope: "none",
  method: "GET",
  path: "/api/v1/categories",
  tag: "Categories",
  summary: "The taxonomy of services",
  description: "A service must use the slug of a child.",
  auth: "none",
  limitClass: "keyless",
  budget: "none",
  query: z.strictObject({}),
  responses: {
    200: z
      .object({ categories: z.array(category.extend({ children: z.array(category).readonly() })).readonly() })
      .meta({ id: "Taxonomy" }),
  },
}).handle(() => ({ status: 200, body: { categories: TAXONOMY } }));

export const categoryRoutes = [listCategories];
