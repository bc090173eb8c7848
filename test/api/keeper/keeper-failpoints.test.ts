// A keeper that is killed at each write, from the search for what is due to the final state.
import { assert } from "chai";
import type { Hex } from "viem";

import { leaseModel } from "../../../api/jobs/lease.ts";
import { readStack } from "../../fixtures/api.ts";
import { killAtEachWrite } from "../../fixtures/failpoints.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { KeeperBench } from "../../fixtures/keeper.ts";
import { NETWORK } from "../../fixtures/rulings.ts";

const WINDOW_SECONDS = 3_600;

describe("a keeper that is killed at a write", () => {
  let route: FaultyRoute;
  let bench: KeeperBench;
  before(async () => {
    route = await faultyDatabase((await readStack()).mongodbUri);
    bench = await KeeperBench.open(route.url);
  });
  after(async () => {
    await bench.close();
    await route.close();
  });

  it("finalizes each escrow by exactly one transaction, and sends no other", async () => {
    const escrowIds: Hex[] = [];
    const last = (): Hex => escrowIds.at(-1) ?? "0x";
    /** Searches and sends until the last move is final, as a process that has just started. */
    async function keep(processId: string) {
      const keeper = bench.keeper({ processId });
      await bench.step(keeper);
      return bench.finish(last(), "finalize", keeper);
    }
    await killAtEachWrite({
      route,
      async prepare() {
        escrowIds.push((await bench.delivered()).escrowId);
        await bench.pass(WINDOW_SECONDS + 1);
      },
      work: () => keep("victim"),
      async finish(what) {
        await leaseModel(bench.records.connection).deleteMany({});
        const { txHash, attempts } = await keep("survivor");
        assert.lengthOf(attempts, 1, what);
        const releases = await bench.releasesOf(last());
        assert.deepEqual(releases, [{ txHash: txHash ?? "0x", automatic: true, from: bench.wallet }], what);
      },
    });
    const sent = await bench.chain.client.getTransactionCount({ address: bench.wallet });
    assert.strictEqual(sent, escrowIds.length);
    const { waiting } = await bench.keeper().state(NETWORK);
    assert.strictEqual(waiting, 0);
  });
});
