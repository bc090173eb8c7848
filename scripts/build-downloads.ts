// `npm run build:downloads`: packs what the API hands out at /downloads.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { promisify } from "node:util";

import { readArguments } from "./command/arguments.ts";
import { buildClientPackages } from "./local/client-packages.ts";
import { CACHE_DIR } from "./local/paths.ts";

const HELP = `usage: npm run build:downloads -- [--out-dir DIR] [--help]

Compiles and packs the clients for the API, which hands them out as /downloads/sdk.tgz and /downloads/cli.tgz.
  --out-dir DIR   where the packages go: the DOWNLOADS_DIR of the API (default .local/downloads)
  --help          this text`;

const { values } = readArguments(HELP, {
  "out-dir": { type: "string", default: join(".local", "downloads") },
});
const outDir = resolve(values["out-dir"]);

const built = await buildClientPackages(CACHE_DIR, async ({ command, args, cwd }) => {
  const { stdout } = await promisify(execFile)(command, args, { cwd });
  return stdout;
}).catch((error: unknown) => {
  const { stdout = "", message } = error as Error & { stdout?: string };
  process.stderr.write(`${message}\n${stdout}`);
  process.exit(1);
});
mkdirSync(outDir, { recursive: true });
for (const file of readdirSync(built)) {
  // An API that runs must never read a part of a package.
  cpSync(join(built, file), join(outDir, `${file}.new`));
  renameSync(join(outDir, `${file}.new`), join(outDir, file));
  process.stdout.write(`Packed ${relative(process.cwd(), join(outDir, file))}.\n`);
}
