import { assert } from "chai";
import type { Connection } from "mongoose";

import type { IndexedAgent } from "../../../api/indexer/schemas.ts";
import { createJobSystem } from "../../../api/jobs/agenda.ts";
import type { JobDefinition } from "../../../api/jobs/define-job.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { indexedAgent, indexersWith } from "../../fixtures/indexed-agents.ts";
import { until } from "../../fixtures/until.ts";

/**
 * Longer than a run takes on any machine: one that outlives its lock is run again. The job system watches over a run
 * for half of this, also after it has ended; a test file ends no earlier.
 */
const LOCK_LIFETIME_MS = 10_000;

/**
 * The connection as the job system sees it, with every update waiting for `hold`: it writes that a job begins by one.
 */
function withUpdatesHeldBack(connection: Connection, hold: () => Promise<unknown>): Connection {
  const db = connection.getClient().db(connection.name);
  const collection = db.collection.bind(db);
  db.collection = ((name: string) => {
    const found = collection(name);
    const updateOne = found.updateOne.bind(found);
    found.updateOne = async (...args) => {
      await hold();
      return updateOne(...args);
    };
    return found;
  }) as typeof db.collection;
  return { name: connection.name, getClient: () => ({ db: () => db }) } as unknown as Connection;
}

describe("jobs", () => {
  let api: TestApi;
  const known = { "base-sepolia": new Map<string, IndexedAgent>(), base: new Map<string, IndexedAgent>() };
  const indexers = indexersWith(known);
  before(async () => {
    api = await startTestApi({ indexers });
  });
  after(() => api.close());

  it("a scheduled job runs once, even with two workers", async () => {
    const { connection, log } = api.container;
    const ran: unknown[] = [];
    const job: JobDefinition<{ n: number }> = {
      name: "tests.count",
      concurrency: 5,
      lockLifetimeMs: LOCK_LIFETIME_MS,
      run: ({ data }) => {
        ran.push(data.n);
        return Promise.resolve();
      },
    };
    const stopping = new AbortController();
    const workers = [createJobSystem(connection, log), createJobSystem(connection, log)];
    for (const worker of workers) await worker.start([job], stopping.signal);
    for (let n = 0; n < 20; n += 1) await api.container.jobs.schedule("tests.count", { n });
    await until("all jobs ran", () => Promise.resolve(ran.length >= 20));
    stopping.abort();
    for (const worker of workers) await worker.stop();
    assert.deepEqual(
      ran.sort((left, right) => Number(left) - Number(right)),
      Array.from({ length: 20 }, (_, n) => n),
    );
  });

  it("a repeated job keeps running, even after a failed run, until its worker stops", async () => {
    const { connection, log } = api.container;
    let runs = 0;
    const job: JobDefinition = {
      name: "tests.repeat",
      everyMs: 200,
      lockLifetimeMs: LOCK_LIFETIME_MS,
      run: () => {
        runs += 1;
        return runs === 1 ? Promise.reject(new Error("the first run fails")) : Promise.resolve();
      },
    };
    const worker = createJobSystem(connection, log);
    await worker.start([job], new AbortController().signal);
    await until("three runs", () => Promise.resolve(runs >= 3));
    await worker.stop();
    const whenStopped = runs;
    let runsOfNext = 0;
    const countForNext = () => {
      runsOfNext += 1;
      return Promise.resolve();
    };
    const next = createJobSystem(connection, log);
    await next.start([{ ...job, run: countForNext }], new AbortController().signal);
    // A worker that went on would take some of these runs.
    await until("the next worker ran the job ten times", () => Promise.resolve(runsOfNext >= 10));
    await next.stop();
    assert.strictEqual(runs, whenStopped);
  });

  it("a job that hadn't started when its worker was told to stop is left to the next worker", async () => {
    const { connection, log, jobs } = api.container;
    const ranBy: string[] = [];
    const jobOf = (worker: string): JobDefinition => ({
      name: "tests.hand-over",
      lockLifetimeMs: LOCK_LIFETIME_MS,
      run: () => {
        ranBy.push(worker);
        return Promise.resolve();
      },
    });
    const taken = Promise.withResolvers<unknown>();
    const written = Promise.withResolvers<unknown>();
    const slow = withUpdatesHeldBack(connection, () => {
      taken.resolve(undefined);
      return written.promise;
    });
    const first = createJobSystem(slow, log);
    await first.start([jobOf("first")], new AbortController().signal);
    await jobs.schedule("tests.hand-over", undefined);
    await taken.promise;
    const stopped = first.stop();
    written.resolve(undefined);
    await stopped;

    const next = createJobSystem(connection, log);
    await next.start([jobOf("next")], new AbortController().signal);
    await until("the job ran", () => Promise.resolve(ranBy.length > 0));
    await next.stop();
    assert.deepEqual(ranBy, ["next"]);
  });

  it("every job's name consists of feature and verb", () => {
    for (const { name } of api.container.jobDefinitions) assert.match(name, /^[a-z]+\.[a-z-]+$/);
  });

  it("a copy is never replaced with one from an earlier block", async () => {
    const { walletAddress } = await api.registerAgent();
    const { standings } = api.container.services;
    const read = async () => (await standings.of("base-sepolia", [walletAddress])).get(walletAddress.toLowerCase());
    known["base-sepolia"].set(walletAddress.toLowerCase(), indexedAgent(walletAddress, { score: 5n }));
    await standings.sync("base-sepolia", [walletAddress]);
    const { connection } = api.container;
    const farAhead = { $set: { indexedBlock: 1_000_000_000 } };
    const id = `base-sepolia:${walletAddress.toLowerCase()}`;
    await connection.collection("standings").updateOne({ _id: id as never }, farAhead);
    known["base-sepolia"].set(walletAddress.toLowerCase(), indexedAgent(walletAddress, { score: 6n }));
    await standings.sync("base-sepolia", [walletAddress]);
    assert.strictEqual((await read())?.score, 5);
    await connection.collection("standings").updateOne({ _id: id as never }, { $set: { indexedBlock: 0 } });
    await standings.sync("base-sepolia", [walletAddress]);
    assert.strictEqual((await read())?.score, 6);
  });
});
