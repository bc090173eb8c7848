// The job that copies every registered wallet's score from both subgraphs, page by page.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";

import { NETWORKS } from "../../../api/config/constants.ts";
import type { Network } from "../../../api/config/constants.ts";
import { connectDatabase, createIndexes } from "../../../api/db/connection.ts";
import { createAgentModels } from "../../../api/features/agents/model.ts";
import type { AgentModels } from "../../../api/features/agents/model.ts";
import { createStandings, syncEveryStanding } from "../../../api/features/agents/standings.ts";
import type { Indexer } from "../../../api/indexer/indexer-client.ts";
import { IndexerUnavailableError } from "../../../api/indexer/errors.ts";
import { systemClock } from "../../../api/lib/clock.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";
import { indexersWith } from "../../fixtures/indexed-agents.ts";

/** Three pages. */
const AGENTS = 2_100;

describe("syncing every standing", () => {
  let connection: Connection;
  let models: AgentModels;
  const away = new Set<Network>();
  const calls: Network[] = [];

  before(async () => {
    const log = createLogger({ level: "silent", name: "test" });
    const { mongodbUri } = await readStack();
    connection = await connectDatabase(mongodbUri, log, `test_standings_${randomBytes(6).toString("hex")}`);
    models = createAgentModels(connection);
    await createIndexes(connection);
    const records = Array.from({ length: AGENTS }, (_, n) => ({
      _id: `agt_${n}`,
      walletKey: `0x${String(n).padStart(40, "0")}`,
    }));
    await models.agents.collection.insertMany(records as never[]);
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  /** Runs the job with these subgraphs away; gives how many wallets each network has copies of then. */
  async function sync(...missing: Network[]) {
    away.clear();
    for (const network of missing) away.add(network);
    calls.length = 0;
    await models.standings.deleteMany({});
    const known = indexersWith({ "base-sepolia": new Map(), base: new Map() });
    const of = (network: Network): Pick<Indexer, "agents"> => ({
      agents: (wallets) => {
        calls.push(network);
        if (away.has(network)) return Promise.reject(new IndexerUnavailableError(network, "it is away"));
        return known[network].agents(wallets);
      },
    });
    const indexers = { "base-sepolia": of("base-sepolia"), base: of("base") };
    const standings = createStandings({ models, indexers, clock: systemClock });
    const failure: unknown = await syncEveryStanding(models, standings, new AbortController().signal).catch(
      (error: unknown) => error,
    );
    const counts = NETWORKS.map((network) => models.standings.countDocuments({ network }));
    const [testnet, mainnet] = await Promise.all(counts);
    return { failure, testnet, mainnet };
  }

  it("reaches every wallet on both networks", async () => {
    assert.deepEqual(await sync(), { failure: undefined, testnet: AGENTS, mainnet: AGENTS });
  });

  for (const [missing, expected] of [
    ["base", { testnet: AGENTS, mainnet: 0 }],
    ["base-sepolia", { testnet: 0, mainnet: AGENTS }],
  ] as const) {
    it(`goes on to the last page on the other network while the subgraph of ${missing} is away, and fails at the end`, async () => {
      const { failure, ...counts } = await sync(missing);
      assert.deepEqual(counts, expected);
      assert.ok(failure instanceof AggregateError && failure.errors[0] instanceof IndexerUnavailableError);
      assert.match(failure.message, new RegExp(` on ${missing}$`));
      // It is not waited for again on every page.
      assert.strictEqual(calls.filter((network) => network === missing).length, 1);
    });
  }

  it("ends after the first page when both are away", async () => {
    const { failure, ...counts } = await sync("base", "base-sepolia");
    assert.deepEqual(counts, { testnet: 0, mainnet: 0 });
    assert.ok(failure instanceof AggregateError && failure.errors.length === 2);
    assert.strictEqual(calls.length, 2);
  });
});
