import { assert } from "chai";

import { Kept } from "../../../api/lib/kept.ts";

describe("a kept document", () => {
  it("is read once for all who ask at the same time, and again when it is too old", async () => {
    let reads = 0;
    const count = () => Promise.resolve((reads += 1));
    const young = new Kept(count, 60_000);
    assert.deepEqual(await Promise.all([young.get(), young.get()]), [1, 1]);
    assert.strictEqual(await young.get(), 1);
    const old = new Kept(count, 0);
    assert.deepEqual([await old.get(), await old.get()], [2, 3]);
  });

  it("keeps no failure", async () => {
    let reads = 0;
    const kept = new Kept(
      () => ((reads += 1) === 1 ? Promise.reject(new Error("away")) : Promise.resolve(reads)),
      60_000,
    );
    assert.strictEqual(await kept.get().catch((error: unknown) => (error as Error).message), "away");
    assert.strictEqual(await kept.get(), 2);
  });
});
