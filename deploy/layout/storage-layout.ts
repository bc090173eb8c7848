import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

import type { SolcInput, SolcOutput, StorageLayout, ValidationRunData } from "@openzeppelin/upgrades-core";
import {
  assertUpgradeSafe,
  getContractVersion,
  getStorageLayout,
  getStorageUpgradeErrors,
  makeNamespacedInput,
  solcInputOutputDecoder,
  validate,
} from "@openzeppelin/upgrades-core";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { problem } from "../system/problem.ts";

const require = createRequire(import.meta.url);
// The compiler's package ships no types.
const solc = require("solc") as { compile: (input: string) => string };

/** The implementations with a baseline. */
export const UPGRADEABLE_CONTRACTS = ["EscrowV2", "ScoreV2", "ResolverV2"] as const;

/** The compiler's report about an implementation. */
export interface ImplementationReport {
  layout: StorageLayout;
  /** Why the implementation is unsafe behind a proxy (constructor, delegatecall, immutables …), or null. */
  unsafe: string | null;
}

/** The file with the layout of a deployed implementation. */
export function baselineFile(root: string, contract: string): string {
  return path.join(root, "deploy", "storage-layouts", `${contract}.json`);
}

/** The layout that later implementations are checked against. */
export async function readBaseline(root: string, contract: string): Promise<StorageLayout> {
  const file = baselineFile(root, contract);
  try {
    return JSON.parse(await readFile(file, "utf8")) as StorageLayout;
  } catch (error) {
    throw problem(`${file} cannot be read; hardhat storage-layouts --write records it`, error as Error);
  }
}

/**
 * Records layouts as the baselines. When one conflicts with the baseline that it would replace, none is written, unless
 * `force` says that no contract with the old layout remains to be upgraded.
 */
export async function writeBaselines(
  root: string,
  layouts: Record<string, StorageLayout>,
  force: boolean,
): Promise<void> {
  const conflicts: string[] = [];
  for (const [name, layout] of Object.entries(layouts)) {
    if (force || !existsSync(baselineFile(root, name))) continue;
    const found = layoutConflicts(await readBaseline(root, name), layout);
    conflicts.push(...found.map((conflict) => `  ${name}: ${conflict}`));
  }
  if (conflicts.length > 0) {
    throw problem(
      `The baselines stay as they are: the storage of a deployed contract would be read as something else.\n` +
        `${conflicts.join("\n")}\n--force records the layouts anyway, for contracts that are deployed from scratch`,
    );
  }
  for (const [name, layout] of Object.entries(layouts)) {
    const file = baselineFile(root, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, `${JSON.stringify(layout, null, 2)}\n`);
  }
}

/**
 * Where `updated` would read or write a different value than `original` stored: moved, removed, retyped or renamed
 * fields, including in namespaces. Appended fields don't conflict.
 */
export function layoutConflicts(original: StorageLayout, updated: StorageLayout): string[] {
  return getStorageUpgradeErrors(original, updated).map((operation) => {
    if (operation.kind === "delete-namespace") return `deletion of ${operation.namespace}`;
    const field = "original" in operation ? operation.original : operation.updated;
    return `${operation.kind} of ${field.label}`;
  });
}

/** A layout without what every compilation changes: syntax node ids and source positions. */
export function comparable(layout: StorageLayout): unknown {
  const text = JSON.stringify(
    { storage: layout.storage, types: layout.types, namespaces: layout.namespaces },
    (key, value: unknown) => (key === "src" || key === "astId" ? undefined : value),
  );
  return JSON.parse(text.replaceAll(/\)\d+(?=_storage|"|,|\))/g, ")"));
}

/** Layout and upgrade safety of the implementations of the current build, by contract name. */
export async function implementationReports(
  hre: HardhatRuntimeEnvironment,
  contracts: Record<string, string>,
): Promise<Record<string, ImplementationReport>> {
  const reports: Record<string, ImplementationReport> = {};
  for (const [name, source] of Object.entries(contracts)) {
    const { input, output, solcVersion } = await readCompilation(hre, `${source}:${name}`);
    // Namespaced structs have no slots of their own. A copy of the sources that declares them as variables gives them
    // slots.
    const namespaced = JSON.parse(
      solc.compile(JSON.stringify(makeNamespacedInput(input, output, solcVersion))),
    ) as SolcOutput;
    const decode = solcInputOutputDecoder(input, output);
    const data: ValidationRunData = validate(output, decode, solcVersion, input, namespaced);
    const full = Object.keys(data).find((candidate) => candidate.endsWith(`${source}:${name}`));
    if (full === undefined) throw problem(`The compilation has no contract ${source}:${name}`);
    const version = getContractVersion(data, full);
    const validation = { version: "3.4", log: [data] } as unknown as Parameters<typeof getStorageLayout>[0];
    reports[name] = { layout: getStorageLayout(validation, version), unsafe: unsafeReason(validation, version) };
  }
  return reports;
}

function unsafeReason(
  ...[data, version]: [Parameters<typeof assertUpgradeSafe>[0], Parameters<typeof assertUpgradeSafe>[1]]
) {
  try {
    assertUpgradeSafe(data, version, { kind: "uups" });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The compiler's input and output for one contract and its imports. */
async function readCompilation(
  hre: HardhatRuntimeEnvironment,
  name: string,
): Promise<{ input: SolcInput; output: SolcOutput; solcVersion: string }> {
  const id = await hre.artifacts.getBuildInfoId(name);
  const infoPath = id && (await hre.artifacts.getBuildInfoPath(id));
  const outputPath = id && (await hre.artifacts.getBuildInfoOutputPath(id));
  if (!infoPath || !outputPath) throw problem(`${name} is not compiled: run hardhat build`);
  const info = JSON.parse(await readFile(infoPath, "utf8")) as { input: SolcInput; solcVersion: string };
  const { output } = JSON.parse(await readFile(outputPath, "utf8")) as { output: SolcOutput };

  const sourceName = Object.keys(output.sources).find((source) => source.endsWith(name.split(":")[0] ?? name));
  const needed = collectImports(output, sourceName ?? name);
  const only = <T>(all: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(all).filter(([source]) => needed.has(source)));
  return {
    input: { ...info.input, sources: only(info.input.sources) },
    output: { ...output, sources: only(output.sources), contracts: only(output.contracts) },
    solcVersion: info.solcVersion,
  };
}

/** A source and everything that it imports. */
function collectImports(output: SolcOutput, sourceName: string): Set<string> {
  const found = new Set<string>();
  const queue = [sourceName];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    for (const node of output.sources[next]?.ast.nodes ?? []) {
      if (node.nodeType === "ImportDirective") queue.push(node.absolutePath);
    }
  }
  return found;
}
