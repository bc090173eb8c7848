import { existsSync } from "node:fs";
import { relative } from "node:path";

import { PROGRAMS, ROOT } from "./paths.ts";

/** Thrown when a part of the local stack isn't available for this machine. */
export class UnsupportedPlatformError extends Error {
  constructor(parts: readonly string[], platform: string) {
    super(
      `These parts of the local stack aren't available for ${platform}: ${parts.join(", ")} (x64 Linux has them all). Start ` +
        "them with `docker compose up -d` and follow the first lines of compose.yaml.",
    );
    this.name = "UnsupportedPlatformError";
  }
}

/** The properties of the machine that matter. */
type Machine = Pick<typeof process, "platform" | "arch" | "env">;

/** Names of the embedded programs by service. */
const PARTS = {
  chains: { name: "anvil (chains)", program: PROGRAMS.anvil },
  postgres: { name: "Postgres", program: PROGRAMS.postgres },
  graph: { name: "graph-node (subgraph)", program: PROGRAMS.gnd },
} as const;

/**
 * Checks that the embedded program of each service exists for this machine.
 * @throws UnsupportedPlatformError naming those that don't; Error when an installation is incomplete
 */
export function assertPlatform(services: ReadonlySet<string>, machine: Machine = process): void {
  const missing = Object.entries(PARTS).filter(
    ([service, { program }]) => services.has(service) && !existsSync(program),
  );
  if (machine.platform === "linux" && machine.arch === "x64") {
    const [first] = missing;
    if (first === undefined) return;
    throw new Error(
      `${relative(ROOT, first[1].program)} is missing: the installation is incomplete. Run npm ci again.`,
    );
  }
  // The supervisor reads /proc, so elsewhere even a part with a build for the machine has to run from compose.yaml.
  const wanted = Object.entries(PARTS).filter(([service]) => services.has(service));
  const parts: string[] = wanted.map(([, { name }]) => name);
  if (services.has("mongo") && (machine.env["MONGODB_URI"] ?? "") === "") parts.push("MongoDB");
  if (parts.length === 0) parts.push("the watch over its processes");
  throw new UnsupportedPlatformError(parts, `${machine.platform}-${machine.arch}`);
}
