// What makes a dependency count as unavailable although it answers.
import { assert } from "chai";

import { NETWORKS } from "../../../api/config/constants.ts";
import { createReadiness } from "../../../api/features/health/readiness.ts";
import type { ReadinessSources } from "../../../api/features/health/readiness.ts";
import { createLogger } from "../../../api/lib/logger.ts";

const MINUTE_MS = 60_000;
const head = { number: 100, hash: "0x1", parentHash: "0x0", timestamp: 5_200 } as const;

function read(changed: { hasIndexingErrors?: boolean; lagMs?: number; indexed?: number }) {
  const { hasIndexingErrors = false, lagMs = 0, indexed = head.number } = changed;
  const chain = {
    head: () => Promise.resolve(head),
    block: (number: number) => Promise.resolve({ ...head, number, timestamp: 5_000 + 2 * number }),
  };
  const indexer = (hasErrors: boolean) => ({
    head: () => Promise.resolve({ ...head, number: indexed, hasIndexingErrors: hasErrors }),
  });
  const sources = {
    connection: { getClient: () => ({ db: () => ({ command: () => Promise.resolve({ ok: 1 }) }) }) },
    chains: { "base-sepolia": chain, base: chain },
    indexers: { "base-sepolia": indexer(hasIndexingErrors), base: indexer(false) },
    search: { listings: () => Promise.resolve(7), lagMs: () => Promise.resolve(lagMs) },
    encoders: { state: () => Promise.resolve({ model: "test", server: null }) },
    reached: () => Promise.resolve(new Map(NETWORKS.map((network) => [network, 90]))),
    quarantined: () => Promise.resolve(0),
    disputeDelays: () => Promise.resolve({ overdue: 0, oldestSeconds: null, held: {} }),
    keeper: () => Promise.reject(new Error("no keeper")),
    outbox: () => Promise.resolve({ waiting: 0, oldestDueAt: null }),
    now: () => new Date(),
    log: createLogger({ level: "silent", name: "test" }),
  };
  return createReadiness(sources as unknown as ReadinessSources)();
}

describe("readiness", () => {
  it("has a network whose subgraph has stopped with an indexing error as not working, and the other as working", async () => {
    const { networks } = await read({ hasIndexingErrors: true });
    const { "base-sepolia": stopped, base } = networks;
    assert.deepEqual([stopped.ok, stopped.subgraph.ok, stopped.rpc.ok], [false, false, true]);
    assert.deepEqual([base.ok, base.subgraph.facts], [true, { indexedBlock: 100, blocksBehind: 0 }]);
  });

  it("has a search index that is more than a minute behind as not working", async () => {
    const states = await Promise.all([0, MINUTE_MS, MINUTE_MS + 1].map((lagMs) => read({ lagMs })));
    assert.deepEqual(
      states.map(({ search }) => [search.ok, search.facts?.listings]),
      [
        [true, 7],
        [true, 7],
        [false, undefined],
      ],
    );
  });

  it("measures how far subgraph and follower are behind the chain", async () => {
    const { networks } = await read({ indexed: 97 });
    assert.strictEqual(networks.base.subgraph.facts?.blocksBehind, 3);
    const { block, lagBlocks, lagSeconds } = networks.base.follower;
    assert.deepEqual([block, lagBlocks, lagSeconds], [90, 10, 20]);
    assert.strictEqual((await read({ indexed: 101 })).networks.base.subgraph.facts?.blocksBehind, 0);
  });
});
