// A follower whose process is killed at each of its writes.
import { assert } from "chai";

import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import { readStack } from "../../fixtures/api.ts";
import { killAtEachWrite } from "../../fixtures/failpoints.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { CALLBACK, created, ENDPOINT, FollowerBench, moved } from "../../fixtures/follower.ts";

describe("a follower that is killed at a write", () => {
  let route: FaultyRoute;
  let bench: FollowerBench;
  before(async () => {
    route = await faultyDatabase((await readStack()).mongodbUri);
    bench = await FollowerBench.open(route.url);
  });
  after(async () => {
    await bench.close();
    await route.close();
  });

  /** Reads everything new, as a process that has just started. */
  const follow = () => bench.follower().step();

  /** Types of a deal's events in recording order, each with its recipients. */
  async function announced({ _id }: TransactionRecord): Promise<string[]> {
    const log = (await bench.eventLog()).filter(({ transactionId }) => transactionId === _id);
    return log.map(({ type, recipients }) => `${type} to ${recipients.join(", ")}`);
  }

  async function assertLogsWithoutGaps(what: string): Promise<void> {
    const entries = await bench.models.events.find().sort({ seq: 1 }).lean();
    for (const [agentId, log] of Map.groupBy(entries, (entry) => entry.agentId)) {
      const positions = log.map(({ seq }) => seq);
      assert.deepEqual(
        positions,
        positions.map((_, index) => index + 1),
        `${what}: ${agentId}`,
      );
    }
  }

  it("loses no event and announces none twice", async () => {
    let deals: TransactionRecord[] = [];
    await killAtEachWrite({
      route,
      async prepare() {
        await bench.reset();
        deals = await bench.checkouts(2);
        bench.indexer.mine(deals.map((deal) => created(deal)));
        await follow();
        bench.indexer.mine(
          deals.map((deal) => moved(deal, "DeliverySubmitted", { proofHash: `0x${"11".repeat(32)}` })),
        );
        bench.indexer.mine(deals.map((deal) => moved(deal, "EscrowReleased")));
      },
      work: follow,
      async finish(what) {
        await follow();
        for (const deal of deals) {
          const expected = [
            "escrow.funded to agt_seller",
            "delivery.submitted to agt_buyer",
            "escrow.released to agt_seller",
          ];
          assert.deepEqual(await announced(deal), expected, what);
          assert.strictEqual((await bench.read(deal)).status, "released", what);
        }
        await assertLogsWithoutGaps(what);
        assert.deepEqual(
          await bench.sentTo(ENDPOINT),
          deals.flatMap(() => ["escrow.funded", "escrow.released"]).sort(),
          what,
        );
        assert.deepEqual(
          await bench.sentTo(CALLBACK),
          deals.map(() => "delivery.submitted"),
          what,
        );
      },
    });
  });

  it("withdraws what a reorganisation removed, once", async () => {
    let deal: TransactionRecord;
    await killAtEachWrite({
      route,
      async prepare() {
        await bench.reset();
        deal = await bench.checkout();
        bench.indexer.mine();
        bench.indexer.mine([created(deal)]);
        await follow();
        bench.indexer.rollBackTo(1);
        bench.indexer.mine();
        bench.indexer.mine();
      },
      work: follow,
      async finish(what) {
        await follow();
        assert.deepEqual(await bench.eventTypes(), ["escrow.funded", "escrow.reorged"], what);
        assert.strictEqual((await bench.read(deal)).status, "pending_funding", what);
        await assertLogsWithoutGaps(what);
      },
    });
  });
});
