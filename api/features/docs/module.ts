import { fileURLToPath } from "node:url";

import { defineFeature } from "../feature.ts";
import { prepareText } from "../../http/prepared-text.ts";
import type { PreparedText } from "../../http/prepared-text.ts";
import { guideRoutes } from "./guide-routes.ts";
import type { GuidesDeps } from "./guide-routes.ts";
import { Guides } from "./guides.ts";
import { describeForModels } from "./llms-text.ts";
import { docsRoutes } from "./routes.ts";

export type { DocsDeps } from "./routes.ts";
export { StaticDocument } from "./static-document.ts";

const root = fileURLToPath(new URL("../../../docs/", import.meta.url));

/** The API description, the callers' guides, and their web pages. */
export const docsModule = defineFeature({
  routes: [...docsRoutes, ...guideRoutes],
  create({ publicUrl }: { publicUrl: string }) {
    const guides = new Guides({ root });
    let kept: Promise<PreparedText> | undefined;
    const llmsText = () => (kept ??= prepareText(describeForModels({ publicUrl, guides: guides.list() })));
    const services: Omit<GuidesDeps, "pages"> = { guides, llmsText };
    return { services, guideNames: () => guides.list().map(({ name }) => name) };
  },
});
