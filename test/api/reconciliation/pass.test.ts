// How the daily comparison goes through many copies, on several processes and over kills.
import { assert } from "chai";

import { recheckQueueOf } from "../../../api/features/chain-follower/module.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import {
  comparisonBench,
  COMPARED_HEAD as HEAD,
  COMPARED_NETWORK as NETWORK,
  DAY_MS,
} from "../../fixtures/reconciliation.ts";

const log = createLogger({ level: "silent", name: "test" });

describe("the daily comparison of many copies", () => {
  const bench = comparisonBench();

  it("[D15] looks at every open one once a day, however many pages they take", async () => {
    const records = await bench.checkouts(120);
    const one = bench.process();
    await one.run(log);
    assert.sameMembers(
      bench.askedEscrows,
      records.map(({ escrowId }) => escrowId),
    );
    await one.run(log);
    assert.strictEqual((await bench.pass())?.finished?.escrows, 120);
    assert.lengthOf(bench.askedEscrows, 120);
    bench.after(DAY_MS - 1);
    await one.run(log);
    assert.lengthOf(bench.askedEscrows, 120);
    bench.after(1);
    await one.run(log);
    assert.lengthOf(bench.askedEscrows, 240);
  });

  it("[D15] goes on where a killed process was", async () => {
    await bench.checkouts(120);
    let calls = 0;
    const dying = bench.process({
      ...bench.chain,
      escrowAt: (escrowId, block) => {
        calls += 1;
        return calls > 60 ? Promise.reject(new Error("killed")) : bench.chain.escrowAt(escrowId, block);
      },
    });
    const error = await dying.run(log).catch((reason: unknown) => reason);
    assert.instanceOf(error, Error);
    assert.deepInclude((await bench.pass())?.running, { stage: "open", escrows: 50 });
    bench.askedEscrows = [];
    await bench.process().run(log);
    assert.lengthOf(bench.askedEscrows, 70);
    assert.strictEqual((await bench.pass())?.finished?.escrows, 120);
  });

  it("[D15] counts every copy once, though two processes compare at the same time", async () => {
    await bench.checkouts(220);
    const [one, other] = [bench.process(), bench.process()];
    await Promise.all([one.run(log), other.run(log)]);
    // The process that comes second to a page stops there.
    assert.isAtMost(bench.askedEscrows.length, 220 + 50);
    for (let run = 0; run < 3 && (await bench.pass())?.running !== null; run += 1) await one.run(log);
    assert.strictEqual((await bench.pass())?.finished?.escrows, 220);
  });

  it("[D15] looks at a sample of the closed ones: stretches of 50 from random places on, 1,000 at most", async () => {
    await bench.checkouts(60, { status: "expired", expiredBy: "quote" });
    await bench.process().run(log);
    assert.lengthOf(bench.askedEscrows, 1_000);
    const times = [...Map.groupBy(bench.askedEscrows, (escrowId) => escrowId).values()].map(({ length }) => length);
    assert.lengthOf(times, 60);
    assert.isAbove(Math.max(...times), Math.min(...times), "every stretch began at the same place");
  });

  it("[D15] looks at fewer closed ones than a stretch once", async () => {
    await bench.checkouts(30, { status: "expired", expiredBy: "quote" });
    await bench.process().run(log);
    assert.lengthOf(bench.askedEscrows, 30);
  });

  it("leaves alone what waits to be read again, and compares nothing while the follower is 101 blocks behind", async () => {
    const [held] = await bench.checkouts(3);
    assert.ok(held !== undefined);
    const one = bench.process();
    bench.head = HEAD + 101;
    await one.run(log);
    assert.deepEqual([bench.askedEscrows, await bench.pass()], [[], null]);
    bench.head = HEAD + 100;
    await recheckQueueOf(bench.connection).request(NETWORK, held.escrowId, new Error("held"), bench.now());
    await bench.transactions.updateOne({ _id: held._id }, { status: "funded" });
    await one.run(log);
    assert.deepInclude((await bench.pass())?.finished, { escrows: 2, skipped: 1 });
    assert.isEmpty(await bench.differences());
  });
});
