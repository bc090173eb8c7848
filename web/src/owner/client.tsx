import { hydrate } from "preact";

import type { PageState } from "../data/site.ts";
import { OwnerPage } from "./owner-page.tsx";
import "../style/owner.css";

const root = document.querySelector("#page");
const state = document.querySelector("#state")?.textContent;
if (root !== null && typeof state === "string") {
  hydrate(<OwnerPage site={(JSON.parse(state) as PageState).site} />, root);
}
