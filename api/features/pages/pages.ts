import { prepareText } from "../../http/prepared-text.ts";
import type { PreparedText } from "../../http/prepared-text.ts";
import type { Clock } from "../../lib/clock.ts";
import { KeptByKey } from "../../lib/kept.ts";
import { BundleFolder } from "./bundle.ts";
import type { Answer, ApiRequest, PageAsset, PagePlan, RenderedPage, Site, WebBundle } from "./bundle.ts";

/** How long a page is shown again as it is (issue: ten seconds). */
const KEPT_MS = 10_000;
/** Pages that are kept, so that strangers who ask for many don't fill the memory. */
const KEPT_PAGES = 300;
/** The same for pages whose addresses have words of the client's own. They must not push out the others. */
const KEPT_FREE_PAGES = 50;
const OK = 200;
const NOT_FOUND = 404;

/** A page as it is sent. */
export interface Page {
  status: number;
  html: PreparedText;
}

/** Asks the API itself, on behalf of a client by its address. Together, the requests count as one call of the class. */
export type AskApi = (
  requests: Readonly<Record<string, ApiRequest>>,
  ip: string,
  limitClass?: "keyless" | "discover",
) => Promise<Record<string, Answer>>;

/** Dependencies of the pages. */
export interface PagesOptions {
  dir: string;
  publicUrl: string;
  version: string;
  isLocalStack: boolean;
  clock: Clock;
}

/** The web pages, rendered by the bundle from the API's own answers. It knows nothing about what is on them. */
export class Pages {
  readonly #folder: BundleFolder;
  readonly #options: PagesOptions;
  /** By address. */
  readonly #kept: KeptByKey<Page>;
  readonly #keptFree: KeptByKey<Page>;

  constructor(options: PagesOptions) {
    this.#folder = new BundleFolder(options.dir);
    this.#options = options;
    const shared = { maxAgeMs: KEPT_MS, isKept, now: () => options.clock.now().getTime() };
    this.#kept = new KeptByKey({ ...shared, maxEntries: KEPT_PAGES });
    this.#keptFree = new KeptByKey({ ...shared, maxEntries: KEPT_FREE_PAGES });
  }

  /** The page at an address: 404 for one that isn't a page's. Undefined until the bundle is built. */
  async read(pathname: string, search: string, ip: string, ask: AskApi): Promise<Page | undefined> {
    const bundle = await this.#folder.read();
    if (bundle === undefined) return undefined;
    const plan = bundle.renderer.plan(pathname, search);
    if (plan === undefined) return this.problem(NOT_FOUND);
    const pages = plan.hasFreeText === true ? this.#keptFree : this.#kept;
    // A page that failed, by another client's limit or in an outage, isn't given to this client.
    return pages.readAs(plan.address, () => this.#render(bundle, plan, ip, ask));
  }

  /** The page of an error. Undefined until the bundle is built. */
  async problem(status: number, retryAfterSeconds?: number): Promise<Page | undefined> {
    const bundle = await this.#folder.read();
    return bundle && prepare(bundle.renderer.renderProblem({ status, retryAfterSeconds, site: this.#siteOf(bundle) }));
  }

  /** A file that pages load: undefined for an unknown name, and until the bundle is built. */
  async asset(file: string): Promise<PageAsset | undefined> {
    return (await this.#folder.read())?.assets.get(file);
  }

  async #render(bundle: WebBundle, { address, requests }: PagePlan, ip: string, ask: AskApi): Promise<Page> {
    const answers = await ask(requests, ip);
    return prepare(bundle.renderer.render({ address, answers, site: this.#siteOf(bundle) }));
  }

  #siteOf({ facts: assets }: WebBundle): Site {
    const { publicUrl, version, isLocalStack } = this.#options;
    return { publicUrl, version, isLocalStack, assets };
  }
}

function isKept({ status }: Page): boolean {
  return status === OK || status === NOT_FOUND;
}

async function prepare({ status, html }: RenderedPage): Promise<Page> {
  return { status, html: await prepareText(html, { isQuick: true }) };
}
