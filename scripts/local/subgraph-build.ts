import { createHash, randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Deployment } from "../../deploy/system/deployment-file.ts";
import type { NetworkName } from "./networks.ts";
import { SCRIPTS, SUBGRAPH_SOURCES } from "./paths.ts";
import type { RunJob } from "./supervisor.ts";

/** The three contracts' addresses on a network, and the tokens listed at deployment. */
export type SubgraphTarget = Pick<Deployment, "network" | "startBlock" | "contracts" | "tokens">;

// Placeholders in the compiled manifest, until it is rendered for a network: values that graph-cli accepts.
const PLACEHOLDERS = {
  network: "{{network}}",
  startBlock: "987654321",
  escrow: "0x00000000000000000000000000000000000000e1",
  score: "0x00000000000000000000000000000000000000e2",
  resolver: "0x00000000000000000000000000000000000000e3",
  tokenSymbols: "{{tokenSymbols}}",
} as const;

type ManifestValues = Readonly<Record<keyof typeof PLACEHOLDERS, string>>;

/**
 * Compiles the mappings once for all networks, or takes the result for the same sources from the cache.
 * @param cacheDir keeps one folder for each state of the sources; must be inside the checkout, where the compiler finds its
 * library
 * @returns the folder with the compiled subgraph, whose manifest still has placeholders
 */
export async function compileSubgraph(cacheDir: string, run: RunJob): Promise<string> {
  const files = subgraphFiles(PLACEHOLDERS);
  const compiled = join(cacheDir, "subgraph", hashFiles(files));
  if (existsSync(compiled)) return compiled;
  const work = `${compiled}.${randomUUID()}`;
  for (const [path, text] of files) writeText(join(work, path), text);
  await runGraphCli(work, run);
  try {
    renameSync(join(work, "build"), compiled);
  } catch (error) {
    // Another stack has compiled the same sources meanwhile; use its result.
    if (!existsSync(compiled)) throw error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return compiled;
}

/**
 * Writes the sources of the subgraph for one network into a folder of the checkout and compiles them there; graph-cli's
 * own commands (`graph deploy`) work in it.
 */
export async function buildSubgraphProject(target: SubgraphTarget, dir: string, run: RunJob): Promise<void> {
  rmSync(dir, { recursive: true, force: true });
  for (const [path, text] of subgraphFiles(toValues(target))) writeText(join(dir, path), text);
  await runGraphCli(dir, run);
}

/**
 * Renders the compiled subgraph for one network.
 * @param outDir receives a folder `<network>-<hash of its content>`, because graph-node identifies a subgraph by its path
 * @returns the absolute path of the manifest
 */
export function renderSubgraph(compiled: string, target: SubgraphTarget, outDir: string): string {
  const values = toValues(target);
  let manifest = readFileSync(join(compiled, "subgraph.yaml"), "utf8");
  for (const [name, placeholder] of Object.entries(PLACEHOLDERS)) {
    if (!manifest.includes(placeholder)) throw new Error(`The compiled manifest has no place for ${name}.`);
    manifest = manifest.replaceAll(placeholder, values[name as keyof ManifestValues]);
  }
  const hash = createHash("sha256")
    .update(compiled.split("/").at(-1) ?? "")
    .update(manifest)
    .digest("hex")
    .slice(0, 16);
  const folder = join(outDir, `${target.network}-${hash}`);
  if (!existsSync(join(folder, "subgraph.yaml"))) {
    cpSync(compiled, folder, { recursive: true });
    writeFileSync(join(folder, "subgraph.yaml"), manifest);
  }
  return join(folder, "subgraph.yaml");
}

/**
 * A subgraph that indexes nothing, because `gnd` drops and reindexes what is in its `--manifests`.
 * @returns the absolute path of its manifest
 */
export function renderDummySubgraph(compiled: string, network: NetworkName, outDir: string): string {
  const created = { implementation: "", initData: "" };
  const nowhere = { proxy: "0x000000000000000000000000000000000000dEaD", implementation: "", txHash: "", created };
  const contracts = { escrow: nowhere, score: nowhere, resolver: nowhere };
  const target: SubgraphTarget = { network, startBlock: 0, contracts, tokens: [] };
  const path = renderSubgraph(compiled, target, join(outDir, "dummy"));
  const manifest = readFileSync(path, "utf8");
  if (!manifest.includes("endBlock")) {
    writeFileSync(path, manifest.replaceAll(/^( *)startBlock: 0$/gm, "$1startBlock: 0\n$1endBlock: 0"));
  }
  return path;
}

function toValues(target: SubgraphTarget): ManifestValues {
  return {
    network: target.network,
    startBlock: String(target.startBlock),
    escrow: target.contracts.escrow.proxy.toLowerCase(),
    score: target.contracts.score.proxy.toLowerCase(),
    resolver: target.contracts.resolver.proxy.toLowerCase(),
    tokenSymbols: target.tokens.map(({ address, symbol }) => `${address.toLowerCase()}=${symbol}`).join(","),
  };
}

async function runGraphCli(dir: string, run: RunJob): Promise<void> {
  for (const step of ["codegen", "build"]) {
    await run({
      name: `subgraph-${step}`,
      command: process.execPath,
      args: [SCRIPTS.graph, step],
      cwd: dir,
      // Otherwise it asks a registry whether it is up to date.
      env: { GRAPH_SKIP_NEW_VERSION_CHECK: "true" },
    });
  }
}

/** Every file that the compiler needs, by path. */
function subgraphFiles(values: ManifestValues): Map<string, string> {
  const files = new Map<string, string>();
  for (const path of readdirSync(join(SUBGRAPH_SOURCES, "src"), { recursive: true, encoding: "utf8" }).sort()) {
    if (path.endsWith(".ts")) files.set(join("src", path), readFileSync(join(SUBGRAPH_SOURCES, "src", path), "utf8"));
  }
  files.set("schema.graphql", readSchema());
  for (const name of readdirSync(join(SUBGRAPH_SOURCES, "abis")).sort()) {
    files.set(`abis/${name}`, readFileSync(join(SUBGRAPH_SOURCES, "abis", name), "utf8"));
  }
  let manifest = readFileSync(join(SUBGRAPH_SOURCES, "subgraph.template.yaml"), "utf8");
  manifest = manifest.replaceAll('"{{startBlock}}"', values.startBlock);
  for (const [name, value] of Object.entries(values)) manifest = manifest.replaceAll(`{{${name}}}`, value);
  files.set("subgraph.yaml", manifest);
  return files;
}

/** The schema in one piece, as graph-node takes it. */
export function readSchema(): string {
  const dir = join(SUBGRAPH_SOURCES, "schema");
  return readdirSync(dir)
    .sort()
    .map((name) => readFileSync(join(dir, name), "utf8"))
    .join("\n");
}

function hashFiles(files: ReadonlyMap<string, string>): string {
  const hash = createHash("sha256");
  for (const [path, text] of files) hash.update(path).update("\0").update(text).update("\0");
  return hash.digest("hex").slice(0, 16);
}

function writeText(path: string, text: string): void {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
}
