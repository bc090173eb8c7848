// Run by web-bundle.ts as a process of its own: builds web/ into a folder, for `WEB_DIR`.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import { build } from "vite";

import { ROOT } from "./paths.ts";

const CONFIG = join(ROOT, "web", "vite.config.ts");

/** What Vite says about the files of an entry. */
type ViteManifest = Record<string, { file: string; css?: string[]; isEntry?: boolean }>;

const outDir = process.argv[2];
if (outDir === undefined) throw new Error("The folder of the bundle is missing");
const client = join(outDir, "client");
const described = join(client, ".vite");

/** Builds an entry beside what is in the folder. Returns the addresses of its files. */
async function buildEntry(mode: "client" | "owner" | "operator"): Promise<{ script: string; styles: string[] }> {
  await build({ configFile: CONFIG, mode, build: { outDir: client } });
  const manifest = JSON.parse(readFileSync(join(described, "manifest.json"), "utf8")) as ViteManifest;
  const entry = Object.values(manifest).find(({ isEntry }) => isEntry === true);
  if (entry === undefined) throw new Error(`Vite built no entry ${mode}`);
  rmSync(described, { recursive: true });
  return { script: `/${entry.file}`, styles: (entry.css ?? []).map((file) => `/${file}`) };
}

// The first build empties the folder.
const facts = {
  ...(await buildEntry("client")),
  owner: await buildEntry("owner"),
  operator: await buildEntry("operator"),
};
await build({ configFile: CONFIG, build: { outDir: join(outDir, "server"), ssr: true } });

for (const name of readdirSync(join(client, "assets"))) {
  // A picture is compressed already.
  if (name.endsWith(".png")) continue;
  const file = join(client, "assets", name);
  const content = readFileSync(file);
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params: quality }));
  writeFileSync(`${file}.gz`, gzipSync(content, { level: constants.Z_BEST_COMPRESSION }));
}
// The last file: a folder that has it is complete.
writeFileSync(join(outDir, "manifest.json"), `${JSON.stringify(facts)}\n`);
