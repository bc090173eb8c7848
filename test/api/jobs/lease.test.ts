import { assert } from "chai";

import { repeat } from "../../../api/jobs/background-loop.ts";
import { Lease, leaseModel } from "../../../api/jobs/lease.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { until } from "../../fixtures/until.ts";

const TTL_MS = 100;
const AN_HOUR_MS = 3_600_000;
const log = createLogger({ level: "silent", name: "test" });

describe("a lease", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());

  it("ends for a process that was paused for too long, however sure it was to hold it", async () => {
    const leases = leaseModel(api.container.connection);
    const leaseOf = (owner: string, ttlMs: number) => new Lease({ leases, name: "tests.lease", owner, ttlMs });
    const paused = leaseOf("paused", TTL_MS);
    assert.isTrue(await paused.acquire());
    await until("another process has taken it", () => leaseOf("next", 60_000).acquire());
    assert.isFalse(await paused.acquire());
    assert.strictEqual((await leases.findById("tests.lease").lean())?.owner, "next");
  });

  it("goes to another process when the work of the one that holds it fails, long before it ends", async () => {
    const leases = leaseModel(api.container.connection);
    const ending = new AbortController();
    const worked: string[] = [];
    const loopOf = (owner: string, work: () => void) => {
      const lease = new Lease({ leases, name: "tests.failing", owner, ttlMs: AN_HOUR_MS });
      return repeat({
        name: `tests.${owner}`,
        retry: { minMs: AN_HOUR_MS, maxMs: AN_HOUR_MS },
        failed: "couldn't work",
        lease,
        log,
        async step() {
          if (!(await lease.acquire())) return 5;
          worked.push(owner);
          work();
          return AN_HOUR_MS;
        },
      }).run(ending.signal);
    };
    const failing = loopOf("failing", () => {
      throw new Error("no route to the node");
    });
    await until("the first has failed", () => Promise.resolve(worked.length > 0));
    const able = loopOf("able", () => undefined);
    await until("the second works", () => Promise.resolve(worked.includes("able")));
    ending.abort();
    await Promise.all([failing, able]);
    assert.deepEqual(worked, ["failing", "able"]);
  });
});
