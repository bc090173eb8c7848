import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { hashFiles } from "./file-hash.ts";
import { ROOT, SCRIPTS } from "./paths.ts";
import type { RunJob } from "./supervisor.ts";
import { packTarball } from "./tarball.ts";

const [SDK, TOOLS, CLI] = ["sdk", "tools", "cli"].map((name) => join(ROOT, name)) as [string, string, string];
const LICENSE = join(SDK, "LICENSE");
/** The folder that npm expects in a package. */
const TOP = "package";
/** Everything that decides about the bytes of the packages. */
const SOURCES = [
  ...[SDK, TOOLS, CLI].flatMap((dir) =>
    ["src", "tsconfig.json", "package.json", "README.md"].map((name) => join(dir, name)),
  ),
  LICENSE,
  ...["client-packages.ts", "tarball.ts"].map((name) => join(import.meta.dirname, name)),
  join(ROOT, "package-lock.json"),
];

/** The parts of a manifest that a package needs. */
interface Manifest extends Record<string, unknown> {
  bin?: Record<string, string>;
  dependencies: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, unknown>;
}

/** A package that the service hands out. */
interface ClientPackage {
  file: string;
  /** The folder of its sources. */
  dir: string;
  /** Options of the compiler beside those of its project. */
  options: readonly string[];
  manifest: () => Manifest;
  /** Other files, by their path in the package. */
  others: (manifest: Buffer) => readonly (readonly [string, Buffer])[];
}

const PACKAGES: readonly ClientPackage[] = [
  { file: "sdk.tgz", dir: SDK, options: [], manifest: () => readManifest(SDK), others: () => [] },
  {
    file: "cli.tgz",
    dir: CLI,
    // It runs from its sources in the repository, where nothing is compiled.
    options: ["--noEmit", "false"],
    manifest: cliManifest,
    // Where the compiled program looks for its version.
    others: (manifest) => [["dist/cli/package.json", manifest]],
  },
];

/**
 * Compiles the clients and packs them as `sdk.tgz` and `cli.tgz`, or takes the result for the same sources from the cache.
 * @param cacheDir keeps one folder for each state of the sources
 * @returns the folder with the packages, for `DOWNLOADS_DIR`
 */
export async function buildClientPackages(cacheDir: string, run: RunJob): Promise<string> {
  const built = join(cacheDir, "downloads", hashFiles(SOURCES).slice(0, 16));
  if (existsSync(built)) return built;
  const work = `${built}.${randomUUID()}`;
  mkdirSync(work, { recursive: true });
  try {
    for (const one of PACKAGES) {
      const dist = join(work, "dist");
      await run({
        name: `${one.file}-build`,
        command: process.execPath,
        args: [SCRIPTS.tsc, "--project", join(one.dir, "tsconfig.json"), "--outDir", dist, ...one.options],
        cwd: one.dir,
      });
      writeFileSync(join(work, one.file), packTarball(packedFiles(one, dist)));
      rmSync(dist, { recursive: true });
    }
    renameSync(work, built);
  } catch (error) {
    // Another stack has built the same sources meanwhile; use its result.
    if (!existsSync(built)) throw error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return built;
}

/** The manifest is first, where readers find it without unpacking all. */
function packedFiles({ dir, manifest: describe, others }: ClientPackage, dist: string): Map<string, Buffer> {
  const compiled = readdirSync(dist, { recursive: true, encoding: "utf8", withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const manifest = Buffer.from(`${JSON.stringify(describe(), undefined, 2)}\n`);
  const files: (readonly [string, Buffer])[] = [
    ["package.json", manifest],
    ["LICENSE", readFileSync(LICENSE)],
    ["README.md", readFileSync(join(dir, "README.md"))],
    ...compiled.map((path) => [`dist${path.slice(dist.length)}`, readFileSync(path)] as const),
    ...others(manifest),
  ];
  return new Map(files.map(([path, content]) => [`${TOP}/${path}`, content]));
}

function readManifest(dir: string): Manifest {
  return JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) as Manifest;
}

/** The command line carries the client and the tools inside, because no registry has them. */
function cliManifest(): Manifest {
  const [sdk, tools, cli] = [SDK, TOOLS, CLI].map(readManifest) as [Manifest, Manifest, Manifest];
  const all = { ...sdk.dependencies, ...tools.dependencies, ...cli.dependencies };
  const published = Object.entries(all).filter(([name]) => !name.startsWith("@agent-marketplace/"));
  return {
    ...cli,
    bin: { "agent-marketplace": "dist/cli/src/main.js" },
    files: ["dist"],
    dependencies: Object.fromEntries(published.sort(([one], [other]) => (one < other ? -1 : 1))),
    peerDependencies: sdk.peerDependencies ?? {},
    peerDependenciesMeta: sdk.peerDependenciesMeta ?? {},
  };
}
