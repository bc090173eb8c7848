import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";

import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { print } from "./paths.ts";
import { problem } from "./problem.ts";
import {
  UPGRADEABLE_CONTRACTS,
  baselineFile,
  implementationReports,
  layoutConflicts,
  readBaseline,
} from "./storage-layout.ts";

/** The action of `hardhat storage-layouts`. */
export default async function recordLayouts(
  { write }: { write: boolean },
  hre: HardhatRuntimeEnvironment,
): Promise<void> {
  await hre.tasks.getTask("build").run({ quiet: true, noTests: true });
  const { root } = hre.config.paths;
  const sources = Object.fromEntries(UPGRADEABLE_CONTRACTS.map((name) => [name, `contracts/${name}.sol`]));
  const conflicts: string[] = [];
  for (const [name, { layout }] of Object.entries(await implementationReports(hre, sources))) {
    if (write) {
      const file = baselineFile(root, name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, `${JSON.stringify(layout, null, 2)}\n`);
      print(`${name}: recorded in ${path.relative(root, file)}`);
      continue;
    }
    const found = layoutConflicts(await readBaseline(root, name), layout);
    print(`${name}: ${found.length === 0 ? "fits its baseline" : found.join(", ")}`);
    conflicts.push(...found);
  }
  if (conflicts.length > 0) throw problem("The storage of a deployed contract would be read as something else");
}
