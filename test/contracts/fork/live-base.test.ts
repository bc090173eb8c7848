import { env } from "node:process";

import type { SettlementNetwork } from "../../../deploy/networks.ts";
import { itSettlesDeals } from "./deals-on-fork.ts";
import { liveSource } from "./live-source.ts";

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
    itSettlesDeals(settlement, () => liveSource(settlement, url, env[block]));
  });
}
