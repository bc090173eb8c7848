import { readFileSync } from "node:fs";
import { join } from "node:path";

import { ROOT, SCRIPTS } from "./paths.ts";
import type { ServiceDefinition } from "./supervisor.ts";

/**
 * The scripted buyers and sellers. Ready once all are registered and listed.
 * @param factsPath facts of the running stack
 * @param dir the stack's directory, which keeps the keys of their wallets
 */
export function townService(factsPath: string, dir: string): ServiceDefinition {
  return {
    name: "town",
    command: process.execPath,
    args: [SCRIPTS.town, "--stack", factsPath, "--dir", dir],
    cwd: ROOT,
    stage: 3,
    stop: { signal: "SIGTERM", timeoutMs: 3_000 },
    isReady: () => Promise.resolve(readFileSync(join(dir, "logs", "town.log"), "utf8").includes("the town is open")),
  };
}
