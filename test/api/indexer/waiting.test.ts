// How reads wait for a block of the subgraph, counted on a subgraph that the test moves and holds back.
import { assert } from "chai";

import { IndexerBehindError, IndexerUnavailableError } from "../../../api/indexer/errors.ts";
import { createHeadWatcher } from "../../../api/indexer/head-watcher.ts";
import { createIndexer } from "../../../api/indexer/indexer-client.ts";
import type { Indexer } from "../../../api/indexer/indexer-client.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { startSubgraphServer } from "../../fixtures/subgraph-server.ts";
import type { SubgraphServer } from "../../fixtures/subgraph-server.ts";
import { until } from "../../fixtures/until.ts";

/** Longer than a test may take. */
const LONG_MS = 60_000;
const BURST = 200;

const idOf = (n: number) => `0x${String(n).padStart(64, "0")}`;

describe("reads that wait for a block", () => {
  let subgraph: SubgraphServer;
  let indexer: Indexer;

  beforeEach(async () => {
    subgraph = await startSubgraphServer(10);
    indexer = createIndexer({ network: "base-sepolia", url: subgraph.url, timeoutMs: LONG_MS, attempts: 1 });
  });
  afterEach(async () => {
    subgraph.release();
    await indexer.close();
    await subgraph.close();
  });

  const count = (operation: string) => subgraph.requests.filter((request) => request.operation === operation).length;
  const burst = (minBlock: number) =>
    Array.from({ length: BURST }, (_, n) =>
      indexer.escrows([idOf(n)], { minBlock, waitMs: LONG_MS, lane: "moves" as const }),
    );

  it("share one head query at a time for any number of waiters", async () => {
    subgraph.holds = () => true;
    const readings = burst(11);
    await until("the head is asked for", () => Promise.resolve(subgraph.requests.length > 0));
    // A second query would have been sent by now: each read was started before the first query arrived.
    assert.deepEqual(subgraph.requests, [{ operation: "Meta", ids: [], minBlock: 0 }]);
    subgraph.release();
    await until("the head is asked for again", () => Promise.resolve(count("Meta") >= 4));
    assert.strictEqual(count("Escrows"), 0);
    subgraph.height = 11;
    const blocks = (await Promise.all(readings)).map(({ block }) => block.number);
    assert.deepEqual([...new Set(blocks)], [11]);
  });

  it("share a few queries when their block is reached, and each gets its own escrow", async () => {
    const readings = burst(11);
    await until("the head is asked for", () => Promise.resolve(count("Meta") > 0));
    subgraph.holds = ({ operation }) => operation === "Escrows";
    subgraph.height = 11;
    await until("they read", () => Promise.resolve(subgraph.unanswered > 0));
    subgraph.release();
    await Promise.all(readings);
    // The share of the connections that a burst may use.
    assert.ok(subgraph.mostUnanswered <= 4, `${subgraph.mostUnanswered} queries at the same time`);
    const asked = subgraph.requests.flatMap(({ ids }) => ids).sort();
    assert.deepEqual(asked, Array.from({ length: BURST }, (_, n) => idOf(n)).sort());
    assert.ok(count("Escrows") <= 8, `${count("Escrows")} queries`);
  });

  it("don't hold up other reads while none of them is answered", async () => {
    const readings = burst(11);
    await until("the head is asked for", () => Promise.resolve(count("Meta") > 0));
    subgraph.holds = ({ operation, ids }) => operation === "Escrows" && !ids.includes(idOf(BURST));
    subgraph.height = 11;
    await until("they read", () => Promise.resolve(subgraph.unanswered > 0));
    const { block } = await indexer.escrows([idOf(BURST)], { minBlock: 11, waitMs: LONG_MS });
    assert.strictEqual(block.number, 11);
    assert.ok(subgraph.unanswered > 0);
    subgraph.release();
    await Promise.all(readings);
  });

  it("each end at their own timeout", async () => {
    const patient = indexer.escrows([idOf(1)], { minBlock: 11, waitMs: LONG_MS });
    await assert.isRejected(indexer.escrows([idOf(2)], { minBlock: 11, waitMs: 1 }), IndexerBehindError);
    subgraph.height = 11;
    assert.strictEqual((await patient).block.number, 11);
  });

  it("end with their signal's reason, and the others continue", async () => {
    const ending = new AbortController();
    const patient = indexer.escrows([idOf(1)], { minBlock: 11, waitMs: LONG_MS });
    const aborted = indexer.escrows([idOf(2)], { minBlock: 11, waitMs: LONG_MS, signal: ending.signal });
    const reason = new Error("the caller has left");
    ending.abort(reason);
    assert.strictEqual(await rejectionOf(aborted), reason);
    subgraph.height = 11;
    assert.strictEqual((await patient).block.number, 11);
  });

  it("end with their signal's reason while their query has no answer", async () => {
    subgraph.holds = () => true;
    const ending = new AbortController();
    const reading = indexer.escrows([idOf(1)], { minBlock: 0, waitMs: LONG_MS, signal: ending.signal });
    await until("it reads", () => Promise.resolve(subgraph.unanswered === 1));
    const reason = new Error("the caller has left");
    ending.abort(reason);
    assert.strictEqual(await rejectionOf(reading), reason);
  });

  it("survive an outage that ends within their timeout", async () => {
    subgraph.isDown = true;
    const reading = indexer.escrows([idOf(1)], { minBlock: 11, waitMs: LONG_MS });
    await until("it has failed twice", () => Promise.resolve(count("Meta") >= 2));
    subgraph.height = 11;
    subgraph.isDown = false;
    assert.strictEqual((await reading).block.number, 11);
  });

  it("wait again when the blocks that were seen are withdrawn", async () => {
    subgraph.height = 100;
    await indexer.head();
    subgraph.height = 90;
    const reading = indexer.escrows([idOf(1)], { minBlock: 95, waitMs: LONG_MS });
    await until("the head is asked for again", () => Promise.resolve(count("Meta") >= 3));
    subgraph.height = 96;
    assert.strictEqual((await reading).block.number, 96);
  });

  it("need no head query if an answer has already included their block", async () => {
    await indexer.escrows([idOf(1)]);
    await indexer.escrows([idOf(1)], { minBlock: 10, waitMs: LONG_MS });
    assert.deepEqual([count("Meta"), count("Escrows")], [0, 2]);
  });
});

describe("the watcher of a subgraph's head", () => {
  /** A watcher whose pauses the test ends. */
  function steppedWatcher(readHead: () => Promise<number>) {
    const pauses: (() => void)[] = [];
    const watcher = createHeadWatcher({
      network: "base",
      readHead,
      pause: () => new Promise<void>((resolve) => pauses.push(resolve)),
    });
    return { watcher, pauses };
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it("queries once per pause, and stops when nobody waits", async () => {
    let queries = 0;
    const { watcher, pauses } = steppedWatcher(() => Promise.resolve((queries += 1)));
    const first = watcher.reached(1, { waitMs: LONG_MS });
    await first;
    // The next one starts within the pause and doesn't shorten it.
    const second = watcher.reached(2, { waitMs: LONG_MS });
    await turn();
    assert.strictEqual(queries, 1);
    pauses.shift()?.();
    await second;
    assert.strictEqual(queries, 2);
    pauses.shift()?.();
    await turn();
    assert.deepEqual([queries, pauses.length], [2, 0]);
  });

  it("reports the subgraph's error only if it still fails at the end of the wait", async () => {
    const { watcher, pauses } = steppedWatcher(() => Promise.reject(new IndexerUnavailableError("base", "refused")));
    const wait = watcher.reached(1, { waitMs: 1 });
    await assert.isRejected(wait, IndexerUnavailableError);
    pauses.shift()?.();
  });
});
