import { hydrate } from "preact";

import type { PageState } from "../data/site.ts";
import { OperatorPage } from "./operator-page.tsx";
import "../style/owner.css";
import "../style/operator.css";

const root = document.querySelector("#page");
const state = document.querySelector("#state")?.textContent;
if (root !== null && typeof state === "string") {
  hydrate(<OperatorPage site={(JSON.parse(state) as PageState).site} />, root);
}
