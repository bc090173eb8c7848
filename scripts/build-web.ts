// `npm run build:web`: builds the web pages that the API serves.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { promisify } from "node:util";

import { readArguments } from "./command/arguments.ts";
import { CACHE_DIR } from "./local/paths.ts";
import { buildWebBundle } from "./local/web-bundle.ts";

const HELP = `usage: npm run build:web -- [--out-dir DIR] [--help]

Builds the web pages for the API, which serves them from / on.
  --out-dir DIR   where the bundle goes: the WEB_DIR of the API (default web/dist)
  --help          this text`;

const { values } = readArguments(HELP, {
  "out-dir": { type: "string", default: join("web", "dist") },
});
const outDir = resolve(values["out-dir"]);

const built = await buildWebBundle(CACHE_DIR, async ({ command, args, cwd }) => {
  const { stdout } = await promisify(execFile)(command, args, { cwd });
  return stdout;
}).catch((error: unknown) => {
  const { stdout = "", message } = error as Error & { stdout?: string };
  process.stderr.write(`${message}\n${stdout}`);
  process.exit(1);
});
const manifest = "manifest.json";
// An API that runs takes a bundle once its manifest is there, so that goes first and comes last.
rmSync(join(outDir, manifest), { force: true });
mkdirSync(outDir, { recursive: true });
for (const part of ["client", "server"]) {
  rmSync(join(outDir, part), { recursive: true, force: true });
  cpSync(join(built, part), join(outDir, part), { recursive: true });
}
cpSync(join(built, manifest), join(outDir, manifest));
process.stdout.write(`Built ${relative(process.cwd(), outDir)}.\n`);
