import { assert } from "chai";

import { createFairQueue } from "../../../api/features/criteria/fair-queue.ts";

describe("the fair queue", () => {
  it("runs one piece of work at a time, and the lanes in turn", async () => {
    const queue = createFairQueue();
    const order: string[] = [];
    let running = 0;
    const work = (name: string) => async () => {
      running += 1;
      assert.strictEqual(running, 1);
      await Promise.resolve();
      order.push(name);
      running -= 1;
    };
    await Promise.all([
      ...["a1", "a2", "a3"].map((name) => queue.run("a", work(name))),
      ...["b1", "b2"].map((name) => queue.run("b", work(name))),
    ]);
    assert.deepEqual(order, ["a1", "b1", "a2", "b2", "a3"]);
  });

  it("goes on after work that fails", async () => {
    const queue = createFairQueue();
    const failed = queue.run("a", () => Promise.reject(new RangeError("no")));
    const next = queue.run("a", () => Promise.resolve("next"));
    await assert.isRejected(failed, RangeError);
    assert.strictEqual(await next, "next");
  });
});
