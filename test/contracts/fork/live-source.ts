import path from "node:path";

import { JsonRpcProvider } from "ethers";

import type { SettlementNetwork } from "../../../deploy/networks.ts";
import { readDeployment } from "../../../deploy/system/deployment-file.ts";
import type { ForkSource } from "./fork.ts";

/** Blocks behind the head at which a live chain is pinned when no block is given: far enough never to be reorganised. */
const BLOCKS_BEHIND = 64;
const DEPLOYMENTS = path.join(import.meta.dirname, "..", "..", "..", "deploy", "deployments");

/**
 * A live network at its block, with the contracts of its deployment file, if there is one. They
 * are deployed on the fork when there is no file, or the block is an earlier one than theirs.
 */
export async function liveSource(
  settlement: SettlementNetwork,
  url: string,
  block: string | undefined,
  deploymentsDir = DEPLOYMENTS,
): Promise<ForkSource> {
  const blockNumber = block === undefined ? (await headOf(url)) - BLOCKS_BEHIND : Number(block);
  const deployment = await readDeployment(path.join(deploymentsDir, `${settlement}.json`));
  const source: ForkSource = { settlement, url, blockNumber, hardfork: "isthmus" };
  if (!deployment || deployment.startBlock > blockNumber) return source;
  return { ...source, escrow: deployment.contracts.escrow.proxy };
}

async function headOf(url: string): Promise<number> {
  const provider = new JsonRpcProvider(url);
  try {
    return await provider.getBlockNumber();
  } finally {
    provider.destroy();
  }
}
