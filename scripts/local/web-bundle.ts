import { randomUUID } from "node:crypto";
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

import { hashFiles } from "./file-hash.ts";
import { ROOT, SCRIPTS } from "./paths.ts";
import type { RunJob } from "./supervisor.ts";

const WEB = join(ROOT, "web");
/** Everything that decides about the bytes of the bundle. */
const SOURCES = [
  ...["src", "tsconfig.json", "vite.config.ts"].map((name) => join(WEB, name)),
  ...["web-bundle.ts", "web-build.ts"].map((name) => join(import.meta.dirname, name)),
  // The owner's pages encode their calls with the client.
  join(ROOT, "sdk", "src"),
  join(ROOT, "package-lock.json"),
];

/**
 * Builds the web pages, or takes the result for the same sources from the cache.
 * @param cacheDir keeps one folder for each state of the sources
 * @returns the folder with the bundle, for `WEB_DIR`
 */
export async function buildWebBundle(cacheDir: string, run: RunJob): Promise<string> {
  const built = join(cacheDir, "web", hashFiles(SOURCES).slice(0, 16));
  if (existsSync(built)) return built;
  const work = `${built}.${randomUUID()}`;
  try {
    await run({ name: "web-build", command: process.execPath, args: [SCRIPTS.webBuild, work], cwd: ROOT });
    renameSync(work, built);
  } catch (error) {
    // Another stack has built the same sources meanwhile; use its result.
    if (!existsSync(built)) throw error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return built;
}
