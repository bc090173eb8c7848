import type { VNode } from "preact";
import { renderToString } from "preact-render-to-string";

import { App } from "./app.tsx";
import { loaded } from "./data/answers.ts";
import type { Answers, ApiRequest } from "./data/answers.ts";
import { guideRouteOf } from "./data/guides.ts";
import type { GuideList, GuideRoute, GuideText } from "./data/guides.ts";
import { routeOf } from "./data/route.ts";
import type { Site } from "./data/site.ts";
import { htmlDocument } from "./document.ts";
import type { Assets, Files } from "./document.ts";
import { guidesHead, headOf, titled } from "./head.ts";
import { factsOf } from "./facts.ts";
import icon from "./icon.svg";
import { OperatorShell } from "./operator/shell.tsx";
import { OwnerShell } from "./owner/shell.tsx";
import { GuidePage, GuidesPage } from "./pages/guides.tsx";
import { problemWords, ProblemPage } from "./pages/problem.tsx";
import { Frame } from "./parts/frame.tsx";
import sharePicture from "./share.png";

type ServedSite = Site & { assets: Assets };

/** A page with its status. */
export interface Rendered {
  status: number;
  html: string;
}

const PICTURES = { icon, sharePicture };
const OK = 200;
/** A search that can't be asked for: the page says why. */
const BAD_REQUEST = 400;
const UNAVAILABLE = 503;
/** Statuses of answers, the first of which decides about the page: nothing is there, asked too often. */
const DECISIVE = [404, 429];

/** A page that is served to everyone as a frame, and asks for everything in the browser. */
interface OwnPage {
  Shell: (props: { site: Site }) => VNode;
  files: (assets: Assets) => Files;
}

/** Such pages by their names; undefined for every other page. */
const OWN_PAGES: Readonly<Record<string, OwnPage | undefined>> = {
  home: { Shell: OwnerShell, files: ({ owner }) => owner },
  operator: { Shell: OperatorShell, files: ({ operator }) => operator },
};

/** What an address needs before it can be rendered. @returns undefined if no page has this address */
export function plan(
  pathname: string,
  search: string,
): { address: string; requests: Readonly<Record<string, ApiRequest>>; hasFreeText: boolean } | undefined {
  const guides = guideRouteOf(pathname, search);
  if (guides !== undefined) {
    const { address, requests, question } = guides;
    return { address, requests, hasFreeText: question !== "" };
  }
  const route = routeOf(pathname, search);
  return route && { address: route.address, requests: route.requests, hasFreeText: route.page === "search" };
}

/** Renders the page at an address from the API's answers. @throws Error if no page has this address */
export function render({ address, answers, site }: { address: string; answers: Answers; site: ServedSite }): Rendered {
  const [pathname = "", search = ""] = address.split("?");
  const guides = guideRouteOf(pathname, search);
  if (guides !== undefined) return renderGuides(guides, answers, site);
  const route = routeOf(pathname, search);
  if (route === undefined) throw new Error(`${address} is no page`);
  const statuses = Object.values(answers).map(({ status }) => status);
  const isSearch = route.page === "search";
  const status = statuses.find((one) => DECISIVE.includes(one));
  // A search goes on by itself.
  if (status !== undefined && !isSearch) return renderProblem({ status, site });
  const { publicUrl, version, isLocalStack } = site;
  const shown = { publicUrl, version, isLocalStack };
  const own = OWN_PAGES[route.page];
  const html = htmlDocument({
    head: headOf(route, answers),
    // Nobody should find a search: its listings are found themselves. Nor is anything of an owner or operator to be found.
    address: isSearch || own !== undefined ? undefined : route.address,
    body: renderToString(
      own === undefined ? <App route={route} answers={answers} site={shown} /> : <own.Shell site={shown} />,
    ),
    facts: factsOf(route, answers, site),
    state: { address: route.address, answers, site: shown },
    site: own === undefined ? site : { ...shown, assets: filesOf(own.files(site.assets), site.assets) },
    ...PICTURES,
  });
  // What is unavailable is said on the page, and nobody keeps it.
  return { status: statuses.every((one) => one === OK || one === BAD_REQUEST) ? OK : (status ?? UNAVAILABLE), html };
}

/** What a page with a script of its own loads: that script, and its styles after those of every page. */
function filesOf(own: Files, { styles }: Assets): Files {
  return { script: own.script, styles: [...styles, ...own.styles] };
}

/** Renders a page of guides, which no browser changes. */
function renderGuides({ address, question }: GuideRoute, answers: Answers, site: ServedSite): Rendered {
  const guide = loaded<GuideText>(answers["guide"]);
  const list = loaded<GuideList>(answers["guides"]);
  const body = renderToString(
    <Frame site={site} current="/guides">
      {guide.kind === "there" && <GuidePage guide={guide.data} />}
      {list.kind === "there" && <GuidesPage list={list.data} question={question} />}
    </Frame>,
  );
  const head = guidesHead(guide.kind === "there" ? guide.data : undefined, question);
  const found = question === "" ? address : undefined;
  return { status: OK, html: htmlDocument({ head, address: found, body, state: undefined, site, ...PICTURES }) };
}

/** Renders the page of an error. */
export function renderProblem({
  status,
  retryAfterSeconds,
  site,
}: {
  status: number;
  retryAfterSeconds?: number | undefined;
  site: ServedSite;
}): Rendered {
  const { title, text } = problemWords(status, retryAfterSeconds);
  const body = renderToString(
    <Frame site={site} current="">
      <ProblemPage status={status} retryAfterSeconds={retryAfterSeconds} />
    </Frame>,
  );
  const head = { title: titled(title), description: text };
  return { status, html: htmlDocument({ head, address: undefined, body, state: undefined, site, ...PICTURES }) };
}
