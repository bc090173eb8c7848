// A sender of rulings that is killed at each write from the queue to the final state.
import { assert } from "chai";

import type { Ruling } from "../../../../api/features/disputes/sending/model.ts";
import { leaseModel } from "../../../../api/jobs/lease.ts";
import { readStack } from "../../../fixtures/api.ts";
import { killAtEachWrite } from "../../../fixtures/failpoints.ts";
import { faultyDatabase } from "../../../fixtures/faults.ts";
import type { FaultyRoute } from "../../../fixtures/faults.ts";
import { RulingBench } from "../../../fixtures/rulings.ts";

describe("a sender of rulings that is killed at a write", () => {
  let route: FaultyRoute;
  let bench: RulingBench;
  before(async () => {
    route = await faultyDatabase((await readStack()).mongodbUri);
    bench = await RulingBench.open(route.url);
  });
  after(async () => {
    await bench.close();
    await route.close();
  });

  it("leaves exactly one ruling on chain, by one transaction [D8]", async () => {
    let ruling: Ruling;
    let usedBefore = 0;
    await killAtEachWrite({
      route,
      async prepare() {
        const from = (
          await bench
            .sender()
            .model.findOne({ "attempts.0": { $exists: true } })
            .lean()
        )?.from;
        if (from !== undefined) usedBefore = await bench.chain.client.getTransactionCount({ address: from });
        ruling = await bench.ruled();
      },
      work: () => bench.finish(ruling, bench.sender({ processId: "victim" })),
      async finish(what) {
        await leaseModel(bench.connection).deleteMany({});
        const final = await bench.finish(ruling, bench.sender({ processId: "survivor" }));
        const resolutions = await bench.chain.resolutionsOf(ruling.escrowId);
        assert.deepEqual(
          resolutions.map(({ txHash, rationaleHash }) => [txHash, rationaleHash]),
          [[final.txHash, ruling.rationaleHash]],
          what,
        );
        // What was signed before the kill was sent as it is, and nothing else was.
        assert.lengthOf(final.attempts, 1, what);
        const [{ from } = { from: undefined }] = final.attempts;
        assert.ok(from !== undefined);
        const used = await bench.chain.client.getTransactionCount({ address: from });
        if (usedBefore > 0) assert.strictEqual(used - usedBefore, 1, what);
      },
    });
  });
});
