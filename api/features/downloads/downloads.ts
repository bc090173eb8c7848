import { readFile, stat } from "node:fs/promises";
import path from "node:path";

import { sha256Hex } from "../../lib/ids.ts";
import { readManifest } from "./package-file.ts";
import type { Manifest } from "./package-file.ts";

/** The packages that the service hands out, and what installs each: with its peers, which a registry has. */
const PACKAGES = [
  { file: "cli.tgz", install: (url: string) => `npm install --global ${url}` },
  { file: "sdk.tgz", install: (url: string) => `npm install ${url} viem` },
] as const;

/** Builds the files of all packages. */
export const BUILD_COMMAND = "npm run build:downloads";

/** A package that is there. */
export interface Download extends Manifest {
  file: string;
  content: Buffer;
  /** Hexadecimal. */
  sha256: string;
  /** Where it is served. */
  url: string;
  /** Installs it. */
  install: string;
}

/** A read file, until another one is in its place. */
interface Kept {
  /** Changes with the file. */
  mark: string;
  download: Promise<Download | undefined>;
}

/** The packages in a folder. Each is read when it is first asked for, and again when its file was replaced. */
export class Downloads {
  readonly #dir: string;
  readonly #publicUrl: string;
  readonly #kept = new Map<string, Kept>();

  /**
   * @param dir the folder with the files
   * @param publicUrl the service's address, without a trailing slash
   */
  constructor({ dir, publicUrl }: { dir: string; publicUrl: string }) {
    this.#dir = dir;
    this.#publicUrl = publicUrl;
  }

  /** The packages that have been built. */
  async list(): Promise<Download[]> {
    const found = await Promise.all(PACKAGES.map(({ file }) => this.read(file)));
    return found.filter((download) => download !== undefined && download !== "unknown");
  }

  /** Finds a package by file name: `unknown` for any other name, undefined until the package is built. */
  async read(file: string): Promise<Download | "unknown" | undefined> {
    const known = PACKAGES.find((one) => one.file === file);
    if (known === undefined) return "unknown";
    const location = path.join(this.#dir, known.file);
    const found = await stat(location).catch(ignoreMissing);
    if (found === undefined) return undefined;
    const mark = [found.ino, found.size, found.mtimeMs].join();
    const kept = this.#kept.get(file);
    if (kept?.mark === mark) return kept.download;
    const download = this.#load(location, known);
    this.#kept.set(file, { mark, download });
    return download;
  }

  async #load(location: string, { file, install }: (typeof PACKAGES)[number]): Promise<Download | undefined> {
    const content = await readFile(location).catch(ignoreMissing);
    if (content === undefined) return undefined;
    const url = `${this.#publicUrl}/downloads/${file}`;
    return {
      ...(await readManifest(content)),
      file,
      content,
      sha256: sha256Hex(content),
      url,
      install: install(url),
    };
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
}
