// The job that copies the standings that have changed on chain since the last copied block.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";

import type { Network } from "../../../api/config/constants.ts";
import { connectDatabase, createIndexes } from "../../../api/db/connection.ts";
import { createAgentModels } from "../../../api/features/agents/model.ts";
import type { AgentModels } from "../../../api/features/agents/model.ts";
import { createStandingsSync, standingCursors } from "../../../api/features/agents/standings-sync.ts";
import type { StandingCursors } from "../../../api/features/agents/standings-sync.ts";
import { createStandings } from "../../../api/features/agents/standings.ts";
import { IndexerUnavailableError } from "../../../api/indexer/errors.ts";
import { systemClock } from "../../../api/lib/clock.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { FakeScores } from "../../fixtures/fake-scores.ts";
import { readStack } from "../../fixtures/api.ts";
import { indexedAgent } from "../../fixtures/indexed-agents.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

const walletOf = (n: number): `0x${string}` => `0x${n.toString(16).padStart(40, "0")}`;

describe("the sync of standings", () => {
  let connection: Connection;
  let models: AgentModels;
  let cursors: StandingCursors;
  let testnet: FakeScores;
  /** What this service's records say of sellers. */
  let declines = new Map<string, { earlyDeclines: number; earlyDeclineShare: number }>();
  let mainnet: FakeScores;

  before(async () => {
    const log = createLogger({ level: "silent", name: "test" });
    const { mongodbUri } = await readStack();
    connection = await connectDatabase(mongodbUri, log, `test_standings_${randomBytes(6).toString("hex")}`);
    models = createAgentModels(connection);
    cursors = standingCursors(connection);
    await createIndexes(connection);
  });
  beforeEach(async () => {
    await Promise.all(Object.values(connection.models).map((model) => model.deleteMany({})));
    declines = new Map();
    testnet = new FakeScores("base-sepolia");
    mainnet = new FakeScores("base");
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  const parts = () => {
    const indexers = { "base-sepolia": testnet, base: mainnet };
    const standings = createStandings({
      models,
      indexers,
      clock: systemClock,
      declinesOf: () => Promise.resolve(declines),
      onScores: () => Promise.resolve(),
    });
    return { standings, sync: createStandingsSync({ models, cursors, copies: standings, indexers, chains: indexers }) };
  };
  /** Runs the job once, like a newly started process. */
  const run = (signal = new AbortController().signal) => parts().sync(signal);
  async function scores(network: Network, ...wallets: number[]): Promise<(number | undefined)[]> {
    const found = await parts().standings.of(network, wallets.map(walletOf));
    return wallets.map((n) => found.get(walletOf(n))?.score);
  }

  it("keeps a copy that was read at a later block, except after a reorganisation", async () => {
    const { standings } = parts();
    const write = (score: number, block: number, options = {}) => {
      const agents = new Map([[walletOf(1), indexedAgent(walletOf(1), { score: BigInt(score) })]]);
      return standings.write("base-sepolia", [walletOf(1)], agents, block, options);
    };
    await write(5, 20);
    await write(4, 10);
    assert.deepEqual(await scores("base-sepolia", 1), [5]);
    await write(4, 10, { overNewer: true });
    assert.deepEqual(await scores("base-sepolia", 1), [4]);
  });

  it("[D6] copies the late and early declines of a seller", async () => {
    const { standings } = parts();
    const wallet = walletOf(1);
    const agents = new Map([[wallet, indexedAgent(wallet, { score: 3n, released: 4, lateDeclines: 2 })]]);
    declines = new Map([[wallet, { earlyDeclines: 1, earlyDeclineShare: 0.25 }]]);
    await standings.write("base", [wallet], agents, 20);
    const found = await standings.of("base", [wallet]);
    assert.deepInclude(found.get(wallet), { score: 3, released: 4, lateDeclines: 2, earlyDeclineShare: 0.25 });
  });

  it("first copies every agent page by page, registered or not", async () => {
    testnet.mine(new Map(Array.from({ length: 2_100 }, (_, n) => [walletOf(n), n])));
    mainnet.mine(new Map([[walletOf(7), -3]]));
    await run();
    assert.deepEqual(testnet.pages, [1_000, 1_000, 100]);
    assert.deepEqual(await scores("base-sepolia", 0, 999, 1_000, 2_099), [0, 999, 1_000, 2_099]);
    assert.deepEqual(await scores("base", 7, 8), [-3, undefined]);
  });

  it("reads only what has changed since the last run", async () => {
    testnet.mine(new Map(Array.from({ length: 1_500 }, (_, n) => [walletOf(n), 1])));
    await run();
    testnet.mine();
    testnet.mine(new Map([[walletOf(3), 2]]));
    testnet.pages = [];
    await run();
    assert.deepEqual([testnet.pages, await scores("base-sepolia", 3)], [[1], [2]]);
    testnet.pages = [];
    await run();
    assert.deepEqual([testnet.pages, testnet.lookups], [[], 0]);
  });

  it("continues where it was interrupted", async () => {
    testnet.mine(new Map(Array.from({ length: 2_500 }, (_, n) => [walletOf(n), 1])));
    testnet.failAfterPages = 1;
    assert.instanceOf(await rejectionOf(run()), AggregateError);
    testnet.failAfterPages = Infinity;
    testnet.pages = [];
    await run();
    assert.deepEqual(testnet.pages, [1_000, 500]);
    assert.strictEqual(await models.standings.countDocuments({ network: "base-sepolia", score: 1 }), 2_500);
  });

  it("ends between two pages when the worker stops, and continues there", async () => {
    testnet.mine(new Map(Array.from({ length: 2_500 }, (_, n) => [walletOf(n), 1])));
    const stopping = new AbortController();
    testnet.afterPage = () => {
      stopping.abort();
    };
    await run(stopping.signal);
    assert.deepEqual(testnet.pages, [1_000]);
    testnet.afterPage = () => undefined;
    await run();
    assert.deepEqual(testnet.pages, [1_000, 1_000, 500]);
  });

  it("copies the last state of an agent that changes between two pages", async () => {
    testnet.mine(new Map(Array.from({ length: 1_500 }, (_, n) => [walletOf(n), 1])));
    testnet.afterPage = () => {
      testnet.afterPage = () => undefined;
      testnet.mine(
        new Map([
          [walletOf(0), 5],
          [walletOf(1_499), 6],
        ]),
      );
    };
    await run();
    assert.deepEqual(await scores("base-sepolia", 0, 1, 1_499), [5, 1, 6]);
  });

  for (const depth of [1, 300, 5_000]) {
    it(`withdraws what a reorganisation of ${depth} blocks has removed, and reads only what it affected`, async () => {
      testnet.mine(new Map(Array.from({ length: 50 }, (_, n) => [walletOf(n), 1])));
      await run();
      const forkAt = testnet.height;
      testnet.mine(new Map([[walletOf(1), 2]]));
      for (let n = 1; n < depth; n += 1) testnet.mine();
      await run();
      assert.deepEqual(await scores("base-sepolia", 1, 2), [2, 1]);
      testnet.rollBackTo(forkAt);
      // The new branch is shorter, and another agent has changed on it.
      testnet.mine(new Map([[walletOf(2), 9]]));
      testnet.pages = [];
      await run();
      assert.deepEqual(await scores("base-sepolia", 1, 2), [1, 9]);
      assert.deepEqual([testnet.pages, testnet.lookups], [[1], 1]);
    });
  }

  it("reads everything again when none of its blocks is on chain any more", async () => {
    testnet.mine(new Map([[walletOf(1), 2]]));
    await run();
    testnet.rollBackTo(0);
    testnet.mine(new Map([[walletOf(2), 3]]));
    testnet.mine();
    await run();
    assert.deepEqual(await scores("base-sepolia", 1, 2), [0, 3]);
  });

  it("syncs the other network while one fails, and then fails with that network's name", async () => {
    testnet.mine(new Map([[walletOf(1), 1]]));
    mainnet.mine(new Map([[walletOf(1), 2]]));
    testnet.failAfterPages = 0;
    const failure = await rejectionOf(run(), AggregateError);
    assert.match(failure.message, / on base-sepolia$/);
    assert.instanceOf(failure.errors[0], IndexerUnavailableError);
    assert.deepEqual([await scores("base-sepolia", 1), await scores("base", 1)], [[undefined], [2]]);
  });

  it("allows only one of two concurrent processes to continue", async () => {
    testnet.mine(new Map(Array.from({ length: 3_500 }, (_, n) => [walletOf(n), 1])));
    await Promise.all([run(), run()]);
    await run();
    assert.strictEqual(await models.standings.countDocuments({ network: "base-sepolia", score: 1 }), 3_500);
    assert.strictEqual((await cursors["base-sepolia"].read()).value?.pass, null);
  });
});
