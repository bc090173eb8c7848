import { assert } from "chai";

import { createLease, leaseModel } from "../../../api/jobs/lease.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { until } from "../../fixtures/until.ts";

const TTL_MS = 100;

describe("a lease", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());

  it("ends for a process that was paused for too long, however sure it was to hold it", async () => {
    const leases = leaseModel(api.container.connection);
    const leaseOf = (owner: string, ttlMs: number) => createLease(leases, "tests.lease", owner, ttlMs);
    const paused = leaseOf("paused", TTL_MS);
    assert.isTrue(await paused.acquire());
    await until("another process has taken it", () => leaseOf("next", 60_000).acquire());
    assert.isFalse(await paused.acquire());
    assert.strictEqual((await leases.findById("tests.lease").lean())?.owner, "next");
  });
});
