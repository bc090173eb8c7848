// What a ruling waits for, and what can't happen to it any more, once a transaction of it is signed.
import { assert } from "chai";

import { withTransaction } from "../../../../api/db/connection.ts";
import { CONFIRMATIONS, NETWORK, RulingBench } from "../../../fixtures/rulings.ts";

const ADMINS_HASH = `0x${"77".repeat(32)}` as const;

describe("a ruling with a signed transaction", () => {
  let bench: RulingBench;
  before(async () => {
    bench = await RulingBench.open();
  });
  after(() => bench.close());

  it("is final once enough blocks follow its own, and not a block earlier [D8]", async () => {
    const sender = bench.sender();
    const ruling = await bench.ruled();
    const state = async () => {
      await sender.step(NETWORK);
      return (await bench.record(ruling)).state;
    };
    // Only the blocks that the test mines, so that each look has the depth that it names.
    await bench.chain.client.setAutomine(false);
    await state();
    await bench.chain.mine();
    const { hash = ADMINS_HASH } = (await bench.record(ruling)).attempts[0] ?? {};
    const { blockNumber } = await bench.chain.client.getTransactionReceipt({ hash });
    for (let following = 0; following < CONFIRMATIONS; following += 1) {
      assert.strictEqual(await bench.chain.client.getBlockNumber(), blockNumber + BigInt(following));
      assert.strictEqual(await state(), "mined", `${following} blocks`);
      await bench.chain.mine();
    }
    assert.strictEqual(await state(), "final");
    await bench.chain.client.setAutomine(true);
  });

  it("isn't replaced by an admin's while that transaction may be mined, although it is held [D8]", async () => {
    const sender = bench.sender();
    const ruling = await bench.ruled();
    await bench.chain.client.setAutomine(false);
    await sender.step(NETWORK);
    await bench.chain.queueAs("pauser", "pauseRulings");
    await bench.chain.client.mine({ blocks: 1 });
    await sender.step(NETWORK);
    const { state, inFlight } = await bench.record(ruling);
    assert.deepEqual([state, inFlight], ["held", true]);
    const admins = {
      ...ruling,
      role: "admin",
      outcome: "Split",
      buyerPercent: 70,
      rationaleHash: ADMINS_HASH,
    } as const;
    assert.isFalse(await withTransaction(bench.connection, (session) => sender.replace(admins, session)));
    assert.strictEqual((await bench.record(ruling)).rationaleHash, ruling.rationaleHash);
  });
});
