import path from "node:path";

import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { print } from "../system/paths.ts";
import { problem } from "../system/problem.ts";
import {
  UPGRADEABLE_CONTRACTS,
  baselineFile,
  implementationReports,
  layoutConflicts,
  readBaseline,
  writeBaselines,
} from "./storage-layout.ts";

/** The action of `hardhat storage-layouts`. */
export default async function recordLayouts(
  { write, force }: { write: boolean; force: boolean },
  hre: HardhatRuntimeEnvironment,
): Promise<void> {
  if (force && !write) throw problem("--force says that --write may replace a baseline: it needs --write");
  await hre.tasks.getTask("build").run({ quiet: true, noTests: true });
  const { root } = hre.config.paths;
  const sources = Object.fromEntries(UPGRADEABLE_CONTRACTS.map((name) => [name, `contracts/${name}.sol`]));
  const layouts = Object.entries(await implementationReports(hre, sources)).map(
    ([name, { layout }]) => [name, layout] as const,
  );
  if (write) {
    await writeBaselines(root, Object.fromEntries(layouts), force);
    for (const [name] of layouts) print(`${name}: recorded in ${path.relative(root, baselineFile(root, name))}`);
    return;
  }
  const conflicts: string[] = [];
  for (const [name, layout] of layouts) {
    const found = layoutConflicts(await readBaseline(root, name), layout);
    print(`${name}: ${found.length === 0 ? "fits its baseline" : found.join(", ")}`);
    conflicts.push(...found);
  }
  if (conflicts.length > 0) throw problem("The storage of a deployed contract would be read as something else");
}
