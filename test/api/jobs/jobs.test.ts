import { assert } from "chai";
import type { Connection } from "mongoose";

import type { IndexedAgent } from "../../../api/indexer/schemas.ts";
import type { JobDefinition } from "../../../api/jobs/define-job.ts";
import { JobSystem } from "../../../api/jobs/job-system.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { indexedAgent, indexersWith } from "../../fixtures/indexed-agents.ts";
import { until } from "../../fixtures/until.ts";

/**
 * Longer than a run takes on any machine: one that outlives its lock is run again. The job system watches over a run
 * for half of this, also after it has ended; a test file ends no earlier.
 */
const LOCK_LIFETIME_MS = 10_000;

/** A worker looks for due jobs this often here. */
const LOOK_EVERY_MS = 50;
const AN_HOUR_MS = 3_600_000;

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

  const workerOn = (connection: Connection): JobSystem =>
    new JobSystem({ connection, log: api.container.log, lookEveryMs: LOOK_EVERY_MS });

  it("a job runs in one worker at a time, also when another worker starts during a run", async () => {
    const { connection } = api.container;
    let running = 0;
    let mostAtOnce = 0;
    let runs = 0;
    let looks = 0;
    const job: JobDefinition = {
      name: "tests.count",
      everyMs: 50,
      lockLifetimeMs: LOCK_LIFETIME_MS,
      run: async () => {
        running += 1;
        mostAtOnce = Math.max(mostAtOnce, running);
        const before = looks;
        await until("the second worker has looked for jobs", () => Promise.resolve(looks >= before + 3));
        running -= 1;
        runs += 1;
      },
    };
    const look: JobDefinition = {
      name: "tests.look",
      everyMs: 50,
      lockLifetimeMs: LOCK_LIFETIME_MS,
      run: () => Promise.resolve(void (looks += 1)),
    };
    const stopping = new AbortController();
    const workers = [workerOn(connection), workerOn(connection)] as const;
    await workers[0].start([job], stopping.signal);
    await until("the job runs", () => Promise.resolve(running === 1));
    await workers[1].start([job, look], stopping.signal);
    await until("four runs", () => Promise.resolve(runs >= 4));
    stopping.abort();
    for (const worker of workers) await worker.stop();
    assert.strictEqual(mostAtOnce, 1);
  });

  it("a repeated job keeps running, even after a failed run, until its worker stops", async () => {
    const { connection } = api.container;
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
    const worker = workerOn(connection);
    await worker.start([job], new AbortController().signal);
    await until("three runs", () => Promise.resolve(runs >= 3));
    await worker.stop();
    const whenStopped = runs;
    let runsOfNext = 0;
    const countForNext = () => {
      runsOfNext += 1;
      return Promise.resolve();
    };
    const next = workerOn(connection);
    await next.start([{ ...job, run: countForNext }], new AbortController().signal);
    // A worker that went on would take some of these runs.
    await until("the next worker ran the job ten times", () => Promise.resolve(runsOfNext >= 10));
    await next.stop();
    assert.strictEqual(runs, whenStopped);
  });

  it("a job that hadn't started when its worker was told to stop is left to the next worker", async () => {
    const { connection } = api.container;
    const ranBy: string[] = [];
    const jobOf = (worker: string): JobDefinition => ({
      name: "tests.hand-over",
      everyMs: AN_HOUR_MS,
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
    const first = workerOn(slow);
    await first.start([jobOf("first")], new AbortController().signal);
    await taken.promise;
    const stopped = first.stop();
    written.resolve(undefined);
    await stopped;
    await until("the job is due at once, not in an hour", async () => {
      const stored = await connection.collection("jobs").findOne({ name: "tests.hand-over" });
      return stored?.["lockedAt"] === null && stored["nextRunAt"] <= new Date();
    });

    const next = workerOn(connection);
    await next.start([jobOf("next")], new AbortController().signal);
    await until("the job ran", () => Promise.resolve(ranBy.length > 0));
    await next.stop();
    assert.notInclude(ranBy, "first");
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
