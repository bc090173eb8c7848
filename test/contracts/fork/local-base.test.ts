import { expect } from "chai";

import type { SettlementNetwork } from "../../../deploy/networks.ts";
import { itSettlesDeals } from "./deals-on-fork.ts";
import { forkOf } from "./fork.ts";
import { type LocalBase, startLocalBase } from "./local-base.ts";

for (const settlement of ["base-sepolia", "base"] as const satisfies SettlementNetwork[]) {
  describe(`fork of a local chain that stands for ${settlement}`, function () {
    this.timeout(120_000);
    let chain: LocalBase;

    before("start the chain and deploy", async () => {
      chain = await startLocalBase(settlement);
    });
    after(() => chain.stop());

    const source = () => ({
      settlement,
      url: chain.url,
      blockNumber: chain.blockNumber,
      // Later rules read base fee parameters from the parent block, which anvil does not write. The opcodes are the same.
      hardfork: "granite" as const,
      escrow: chain.deployment.contracts.escrow.proxy,
    });

    itSettlesDeals(() => Promise.resolve(source()));

    it("does not see what the chain did after the pinned block", async () => {
      const { treasury } = chain.deployment.roles;
      await chain.moveOn();
      const fork = await forkOf(source());
      expect(await fork.escrow.treasury()).to.equal(treasury);
      await fork.connection.close();
    });
  });
}
