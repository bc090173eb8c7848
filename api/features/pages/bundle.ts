import type { Stats } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { z } from "zod";

import type { PreparedText } from "../../http/prepared-text.ts";
import { sha256Hex } from "../../lib/ids.ts";
import { Kept } from "../../lib/kept.ts";

/** Builds the bundle. */
export const BUILD_COMMAND = "npm run build:web";

/** The bundle's files, by their place in its folder. */
const SERVER = path.join("server", "server.js");
const ASSETS = path.join("client", "assets");
/** Written last, so that a folder without it is not complete. */
const MANIFEST = "manifest.json";

const filesSchema = z.object({ script: z.string(), styles: z.array(z.string()) });
const manifestSchema = filesSchema.extend({
  /** What the pages of an agent's owner load beside the styles of every page. */
  owner: filesSchema,
  /** The same for the operator's page. */
  operator: filesSchema,
});

/** The files that pages load, by their address. */
export type PageAssets = z.output<typeof manifestSchema>;

/** A request of the API's own routes: path and query, or also a body that is posted. */
export type ApiRequest = string | { path: string; body: unknown };

/** An answer of the API's own routes. */
export interface Answer {
  status: number;
  /** Parsed JSON. */
  body: unknown;
  retryAfterSeconds?: number;
}

/** What a page needs before it can be rendered. */
export interface PagePlan {
  /** The canonical path and search: two requests with the same one get the same page. */
  address: string;
  /** Requests of the API whose answers it needs, by name. */
  requests: Readonly<Record<string, ApiRequest>>;
  /** Whether its address has words of a client's own: endlessly many pages have such addresses. */
  hasFreeText?: boolean;
}

/** Facts of the service that every page has. */
export interface Site {
  publicUrl: string;
  version: string;
  /** Whether this is the local stack. */
  isLocalStack: boolean;
  assets: PageAssets;
}

/** A rendered page. */
export interface RenderedPage {
  status: number;
  html: string;
}

/** What the bundle's server part exports. */
export interface PageRenderer {
  /** Undefined if no page has this address. */
  plan: (pathname: string, search: string) => PagePlan | undefined;
  render: (options: { address: string; answers: Readonly<Record<string, Answer>>; site: Site }) => RenderedPage;
  /** The page of an error, without any facts of the market. */
  renderProblem: (options: { status: number; retryAfterSeconds?: number | undefined; site: Site }) => RenderedPage;
}

const rendererSchema = z.object({ plan: z.function(), render: z.function(), renderProblem: z.function() });

/** A file that pages load. Its name changes with its content. */
export interface PageAsset {
  type: string;
  /** Compressed when the bundle was built. */
  prepared: PreparedText;
}

/** A bundle that is there. */
export interface WebBundle {
  renderer: PageRenderer;
  assets: ReadonlyMap<string, PageAsset>;
  facts: PageAssets;
}

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
};

/** How soon another bundle is noticed. To look at every request would be a third of a kept page's cost. */
const LOOK_AGAIN_MS = 1_000;

/** The bundle in a folder. It is loaded when it is first asked for, and again when another one has taken its place. */
export class BundleFolder {
  readonly #dir: string;
  readonly #manifest: Kept<Stats | undefined>;
  #kept: { mark: string; bundle: Promise<WebBundle> } | undefined;

  constructor(dir: string) {
    this.#dir = path.resolve(dir);
    this.#manifest = new Kept(() => stat(path.join(this.#dir, MANIFEST)).catch(ignoreMissing), LOOK_AGAIN_MS);
  }

  /** Undefined until it is built. @throws Error if the folder has another bundle than this one expects */
  async read(): Promise<WebBundle | undefined> {
    const found = await this.#manifest.get();
    if (found === undefined) return undefined;
    const mark = [found.ino, found.size, found.mtimeMs].join("-");
    if (this.#kept?.mark === mark) return this.#kept.bundle;
    const bundle = this.#load(mark);
    this.#kept = { mark, bundle };
    // The next one to ask tries again.
    bundle.catch(() => {
      this.#kept = undefined;
    });
    return bundle;
  }

  async #load(mark: string): Promise<WebBundle> {
    const facts = manifestSchema.parse(JSON.parse(await readFile(path.join(this.#dir, MANIFEST), "utf8")));
    // Node keeps a module for as long as the process lives, so another one needs another address.
    const address = `${pathToFileURL(path.join(this.#dir, SERVER)).href}?${mark}`;
    const renderer = rendererSchema.parse(await import(address)) as unknown as PageRenderer;
    return { renderer, facts, assets: await readAssets(path.join(this.#dir, ASSETS)) };
  }
}

async function readAssets(dir: string): Promise<Map<string, PageAsset>> {
  const names = await readdir(dir);
  const assets = names.flatMap((name) => {
    const type = TYPES[path.extname(name)];
    return type === undefined ? [] : [[name, type] as const];
  });
  const read = async ([name, type]: (typeof assets)[number]): Promise<[string, PageAsset]> => {
    const variants = [
      ["br", `${name}.br`],
      ["gzip", `${name}.gz`],
    ] as const;
    const compressed = variants
      .filter(([, file]) => names.includes(file))
      .map(async ([encoding, file]) => [encoding, await readFile(path.join(dir, file))] as const);
    const text = await readFile(path.join(dir, name));
    const etag = `W/"${sha256Hex(name).slice(0, 32)}"`;
    return [name, { type, prepared: { etag, text, compressed: await Promise.all(compressed) } }];
  };
  return new Map(await Promise.all(assets.map(read)));
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
}
