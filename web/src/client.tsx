import { hydrate } from "preact";

import type { PageState } from "./data/site.ts";
import { LivePage } from "./live-page.tsx";
// The server alone names it, but only this bundle has files.
import "./share.png";
import "./style/style.css";

const root = document.querySelector("#page");
const state = document.querySelector("#state")?.textContent;
if (root !== null && typeof state === "string") hydrate(<LivePage state={JSON.parse(state) as PageState} />, root);
