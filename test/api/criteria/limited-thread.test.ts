import { assert } from "chai";

import { createLimitedThread, ThreadUnavailableError } from "../../../api/features/criteria/limited-thread.ts";

const SCRIPT = new URL("../../../api/features/criteria/check-thread.ts", import.meta.url);
const LIMITS = { cpuMs: 60_000, wallMs: 60_000, heapMb: 64 };
const TASK = { kind: "expression-fault", expression: "size(" };

describe("a limited thread", () => {
  it("that can't be created is unavailable, and each task tries again", async () => {
    const thread = createLimitedThread(new URL("https://host.test/thread.js"), LIMITS);
    for (let n = 0; n < 2; n += 1) await assert.isRejected(thread.run(TASK), ThreadUnavailableError);
    await thread.close();
  });

  it("that ends before it has started is unavailable, for which no task is to blame", async () => {
    // Too little to start, so the thread runs out of memory before it is online.
    const thread = createLimitedThread(SCRIPT, { ...LIMITS, heapMb: 5 });
    for (let n = 0; n < 2; n += 1) await assert.isRejected(thread.run(TASK), ThreadUnavailableError);
    await thread.close();
  });

  it("that is closed while it starts is unavailable", async () => {
    const thread = createLimitedThread(SCRIPT, LIMITS);
    const refused = assert.isRejected(thread.run(TASK), ThreadUnavailableError);
    await thread.close();
    await refused;
  });
});
