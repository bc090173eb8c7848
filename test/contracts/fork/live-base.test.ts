import { env } from "node:process";

import { JsonRpcProvider } from "ethers";

import type { SettlementNetwork } from "../../../deploy/networks.ts";
import { itSettlesDeals } from "./deals-on-fork.ts";
import type { ForkSource } from "./fork.ts";

/** Blocks behind the head at which a live chain is pinned when no block is given: far enough never to be reorganised. */
const BLOCKS_BEHIND = 64;

const LIVE: { settlement: SettlementNetwork; url: string; block: string }[] = [
  { settlement: "base-sepolia", url: "BASE_SEPOLIA_RPC_URL", block: "BASE_SEPOLIA_FORK_BLOCK" },
  { settlement: "base", url: "BASE_RPC_URL", block: "BASE_FORK_BLOCK" },
];

for (const { settlement, url: variable, block } of LIVE) {
  const url = env[variable];
  describe(`fork of the live ${settlement} with its real USDC`, () => {
    if (url === undefined) {
      it.skip(`needs ${variable}, and ${block} for a block of its own`);
      return;
    }
    itSettlesDeals(() => source(settlement, url, env[block]));
  });
}

async function source(settlement: SettlementNetwork, url: string, block: string | undefined): Promise<ForkSource> {
  const hardfork = "isthmus";
  if (block !== undefined) return { settlement, url, hardfork, blockNumber: Number(block) };
  const provider = new JsonRpcProvider(url);
  const blockNumber = (await provider.getBlockNumber()) - BLOCKS_BEHIND;
  provider.destroy();
  return { settlement, url, hardfork, blockNumber };
}
