// How the daily comparison goes through many copies, on several processes and over kills.
import { assert } from "chai";

import { createAgentModels } from "../../../api/features/agents/model.ts";
import type { AgentModels } from "../../../api/features/agents/model.ts";
import { rereadsOf } from "../../../api/features/chain-follower/module.ts";
import { reconciliationModels } from "../../../api/features/reconciliation/model.ts";
import { reconciliationModule } from "../../../api/features/reconciliation/module.ts";
import type { ReconciliationModuleDeps } from "../../../api/features/reconciliation/module.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { createIndexes } from "../../../api/db/connection.ts";
import { bytes32, followerBench } from "../../fixtures/follower.ts";

const NETWORK = "base-sepolia";
const DAY_MS = 86_400_000;
const HEAD = 500;
const log = createLogger({ level: "silent", name: "test" });

type Chain = ReconciliationModuleDeps["chains"][typeof NETWORK];

describe("the daily comparison of many copies", () => {
  const bench = followerBench();
  /** Ids of the escrows that were asked for, in order. */
  let asked: string[];
  let headNumber: number;
  let standings: AgentModels["standings"];
  before(async () => {
    standings = createAgentModels(bench.connection).standings;
    reconciliationModels(bench.connection);
    await createIndexes(bench.connection);
  });
  beforeEach(() => {
    asked = [];
    headNumber = HEAD;
  });

  const models = () => reconciliationModels(bench.connection);
  const pass = () => models().passes.findById(NETWORK).lean();

  /** A chain without escrows, on which every wallet has the score 0. */
  const emptyChain: Chain = {
    head: () => Promise.resolve({ number: headNumber, hash: bytes32(), timestamp: 0 }),
    scoreAt: () => Promise.resolve(0n),
    escrowAt: (escrowId) => {
      asked.push(escrowId);
      return Promise.resolve(null);
    },
  };

  function processOn(chain: Chain = emptyChain) {
    const { connection, transactions, indexer, now } = bench;
    const unused = () => Promise.reject(new Error("not used"));
    const indexers = { escrows: indexer.escrows.bind(indexer), agents: unused };
    const parts = reconciliationModule.create({
      ...{ connection, transactions, standings, now, rereads: rereadsOf(connection) },
      chains: { [NETWORK]: chain, base: chain },
      indexers: { [NETWORK]: indexers, base: indexers },
      progress: { reached: () => Promise.resolve(new Map([[NETWORK, HEAD]])) },
      syncScores: unused,
      metrics: { addGauge: () => undefined },
      timings: { reconcileEveryMs: DAY_MS, recheckAfterMs: 60_000 },
    });
    return parts.networks[NETWORK];
  }

  it("[D15] looks at every open one once a day, however many pages they take", async () => {
    const records = await bench.checkouts(120);
    const one = processOn();
    await one.run(log);
    assert.sameMembers(
      asked,
      records.map(({ escrowId }) => escrowId),
    );
    await one.run(log);
    assert.strictEqual((await pass())?.finished?.escrows, 120);
    assert.lengthOf(asked, 120);
    bench.clock = new Date(bench.clock.getTime() + DAY_MS - 1);
    await one.run(log);
    assert.lengthOf(asked, 120);
    bench.clock = new Date(bench.clock.getTime() + 1);
    await one.run(log);
    assert.lengthOf(asked, 240);
  });

  it("[D15] goes on where a killed process was", async () => {
    await bench.checkouts(120);
    let calls = 0;
    const dying = processOn({
      ...emptyChain,
      escrowAt: (escrowId, block) => {
        calls += 1;
        return calls > 60 ? Promise.reject(new Error("killed")) : emptyChain.escrowAt(escrowId, block);
      },
    });
    const error = await dying.run(log).catch((reason: unknown) => reason);
    assert.instanceOf(error, Error);
    assert.deepInclude((await pass())?.running, { stage: "open", escrows: 50 });
    asked = [];
    await processOn().run(log);
    assert.lengthOf(asked, 70);
    assert.strictEqual((await pass())?.finished?.escrows, 120);
  });

  it("[D15] counts every copy once, though two processes compare at the same time", async () => {
    await bench.checkouts(220);
    const [one, other] = [processOn(), processOn()];
    await Promise.all([one.run(log), other.run(log)]);
    for (let run = 0; run < 3 && (await pass())?.running !== null; run += 1) await one.run(log);
    assert.strictEqual((await pass())?.finished?.escrows, 220);
  });

  it("[D15] looks at a sample of the closed ones: stretches of 50 from random places on, 1,000 at most", async () => {
    await bench.checkouts(60, { status: "expired", expiredBy: "quote" });
    await processOn().run(log);
    assert.lengthOf(asked, 1_000);
    const times = [...Map.groupBy(asked, (escrowId) => escrowId).values()].map(({ length }) => length);
    assert.lengthOf(times, 60);
    assert.isAbove(Math.max(...times), Math.min(...times), "every stretch began at the same place");
  });

  it("[D15] looks at fewer closed ones than a stretch once", async () => {
    await bench.checkouts(30, { status: "expired", expiredBy: "quote" });
    await processOn().run(log);
    assert.lengthOf(asked, 30);
  });

  it("leaves alone what waits to be read again, and compares nothing while the follower is 101 blocks behind", async () => {
    const [held] = await bench.checkouts(3);
    assert.ok(held !== undefined);
    const one = processOn();
    headNumber = HEAD + 101;
    await one.run(log);
    assert.deepEqual([asked, await pass()], [[], null]);
    headNumber = HEAD + 100;
    await rereadsOf(bench.connection).request(NETWORK, held.escrowId, new Error("held"), bench.now());
    await bench.transactions.updateOne({ _id: held._id }, { status: "funded" });
    await one.run(log);
    assert.deepInclude((await pass())?.finished, { escrows: 2, skipped: 1 });
    assert.strictEqual(await models().differences.countDocuments(), 0);
  });
});
