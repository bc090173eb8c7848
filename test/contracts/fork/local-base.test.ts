import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

import { expect } from "chai";

import type { SettlementNetwork } from "../../../deploy/networks.ts";
import { writeDeployment } from "../../../deploy/system/deployment-file.ts";
import { itSettlesDeals } from "./deals-on-fork.ts";
import { forkOf } from "./fork.ts";
import { liveSource } from "./live-source.ts";
import { type LocalBase, startLocalBase } from "./local-base.ts";

for (const settlement of ["base-sepolia", "base"] as const satisfies SettlementNetwork[]) {
  describe(`fork of a local chain that simulates ${settlement}`, function () {
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

    itSettlesDeals(settlement, () => Promise.resolve(source()));

    it("deploys on the fork of a chain that has the tokens alone, and settles a deal there", async () => {
      const { settlement: network, url, blockNumber, hardfork } = source();
      const fork = await forkOf({ settlement: network, url, blockNumber, hardfork });
      expect(await fork.escrow.getAddress()).not.to.equal(chain.deployment.contracts.escrow.proxy);
      const deal = await fork.terms(5_000_000n);
      await fork.create(deal);
      await fork.escrow.connect(fork.wallets.seller).submitDelivery(deal.escrowId, deal.criteriaHash);
      await fork.escrow.connect(fork.wallets.buyer).accept(deal.escrowId);
      expect(await fork.balanceOf(fork.wallets.seller.address)).to.equal(4_900_000n);
      await fork.connection.close();
    });

    it("would act on the deployed contracts of a live network, from the block in which they stand", async () => {
      const dir = await mkdtemp(path.join(os.tmpdir(), "live-source-"));
      try {
        const { deployment, url, blockNumber } = chain;
        const { startBlock, contracts } = deployment;
        const escrowAt = async (block?: number): Promise<string | undefined> =>
          (await liveSource(settlement, url, block?.toString(), dir)).escrow;
        expect(await escrowAt(blockNumber)).to.equal(undefined);
        await writeDeployment(path.join(dir, `${settlement}.json`), deployment);
        expect(await escrowAt(blockNumber)).to.equal(contracts.escrow.proxy);
        expect(await escrowAt(startBlock)).to.equal(contracts.escrow.proxy);
        expect(await escrowAt(startBlock - 1)).to.equal(undefined);
      } finally {
        await rm(dir, { recursive: true });
      }
    });

    it("does not see what the chain did after the pinned block", async () => {
      const { treasury } = chain.deployment.roles;
      await chain.moveOn();
      const fork = await forkOf(source());
      expect(await fork.escrow.treasury()).to.equal(treasury);
      await fork.connection.close();
    });
  });
}
