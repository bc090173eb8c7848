import { join } from "node:path";

import { readDeployment } from "../../deploy/system/deployment-file.ts";
import type { Deployment } from "../../deploy/system/deployment-file.ts";
import { refuseArguments } from "../command/arguments.ts";
import { NETWORKS } from "./networks.ts";
import { ROOT } from "./paths.ts";

/** A deployment and the file that it was read from. */
export interface NamedDeployment {
  readonly file: string;
  readonly deployment: Deployment;
}

/**
 * The contracts that a command's `--network` and `--deployment` name. Exits with code 2 when the arguments are wrong, with
 * code 1 when the file is missing or describes another network.
 */
export async function readTarget(network: string | undefined, file: string | undefined): Promise<NamedDeployment> {
  const known = NETWORKS.find((name) => name === network);
  if (known === undefined) return refuseArguments(`--network must be one of ${NETWORKS.join(", ")}.`);
  const path = file ?? join(ROOT, "deploy", "deployments", `${known}.json`);
  const deployment = await readDeployment(path);
  if (deployment === undefined) {
    fail(`${path} does not exist: deploy the contracts first, or name another file with --deployment.`);
  }
  if (deployment.network !== known) fail(`${path} is a deployment on ${deployment.network}, not on ${known}.`);
  return { file: path, deployment };
}

/** Prints what went wrong and exits with code 1. */
export function fail(fault: string): never {
  process.stderr.write(`${fault}\n`);
  process.exit(1);
}
