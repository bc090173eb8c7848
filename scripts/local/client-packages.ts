import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { hashFiles } from "./file-hash.ts";
import { ROOT, SCRIPTS } from "./paths.ts";
import type { RunJob } from "./supervisor.ts";
import { packTarball } from "./tarball.ts";

const SDK = join(ROOT, "sdk");
/** What npm puts into every package beside its `files`. The manifest is first, where readers find it without unpacking all. */
const ALWAYS_PACKED = ["package.json", "LICENSE", "README.md"] as const;
/** The folder that npm expects in a package. */
const TOP = "package";
/** Everything that decides about the bytes of the packages. */
const SOURCES = [
  ...["src", "tsconfig.json", ...ALWAYS_PACKED].map((name) => join(SDK, name)),
  ...["client-packages.ts", "tarball.ts"].map((name) => join(import.meta.dirname, name)),
  join(ROOT, "package-lock.json"),
];

/**
 * Compiles the client and packs it as `sdk.tgz`, or takes the result for the same sources from the cache.
 * @param cacheDir keeps one folder for each state of the sources
 * @returns the folder with the packages, for `DOWNLOADS_DIR`
 */
export async function buildClientPackages(cacheDir: string, run: RunJob): Promise<string> {
  const built = join(cacheDir, "downloads", hashFiles(SOURCES).slice(0, 16));
  if (existsSync(built)) return built;
  const work = `${built}.${randomUUID()}`;
  mkdirSync(work, { recursive: true });
  try {
    const dist = join(work, "dist");
    await run({
      name: "sdk-build",
      command: process.execPath,
      args: [SCRIPTS.tsc, "--project", join(SDK, "tsconfig.json"), "--outDir", dist],
      cwd: SDK,
    });
    writeFileSync(join(work, "sdk.tgz"), packTarball(packedFiles(dist)));
    rmSync(dist, { recursive: true });
    renameSync(work, built);
  } catch (error) {
    // Another stack has built the same sources meanwhile; use its result.
    if (!existsSync(built)) throw error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return built;
}

function packedFiles(dist: string): Map<string, Buffer> {
  const compiled = readdirSync(dist, { recursive: true, encoding: "utf8", withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  return new Map([
    ...ALWAYS_PACKED.map((name) => [`${TOP}/${name}`, readFileSync(join(SDK, name))] as const),
    ...compiled.map((path) => [`${TOP}/dist${path.slice(dist.length)}`, readFileSync(path)] as const),
  ]);
}
