import { assert } from "chai";

import { Kept, KeptByKey } from "../../../api/lib/kept.ts";

const AWAY = () => Promise.reject(new Error("away"));
const messageOf = (reading: Promise<unknown>) => reading.catch((error: unknown) => (error as Error).message);

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
    const kept = new Kept(() => ((reads += 1) === 1 ? AWAY() : Promise.resolve(reads)), 60_000);
    assert.strictEqual(await messageOf(kept.get()), "away");
    assert.strictEqual(await kept.get(), 2);
  });
});

describe("documents kept by key", () => {
  it("have an age of their own, which begins when they are there", async () => {
    let now = 0;
    const kept = new KeptByKey<string>({ maxAgeMs: 10, maxEntries: 2, now: () => now });
    const slow = Promise.withResolvers<string>();
    const reading = kept.read("a", () => slow.promise);
    now = 50;
    const shared = kept.read("a", AWAY);
    slow.resolve("first");
    assert.deepEqual(await Promise.all([reading, shared]), ["first", "first"]);
    now = 59;
    assert.strictEqual(await kept.read("a", AWAY), "first");
    assert.strictEqual(await kept.read("b", () => Promise.resolve("other")), "other");
    now = 60;
    assert.strictEqual(await kept.read("a", () => Promise.resolve("second")), "second");
    assert.strictEqual(await kept.read("b", AWAY), "other");
  });

  it("make room for the latest", async () => {
    const kept = new KeptByKey<number>({ maxAgeMs: 60_000, maxEntries: 2 });
    for (const [index, key] of ["a", "b", "a", "c"].entries()) await kept.read(key, () => Promise.resolve(index));
    assert.strictEqual(await kept.read("a", AWAY), 0);
    assert.strictEqual(await kept.read("b", () => Promise.resolve(9)), 9);
  });

  it("give nobody another's failure where it depends on who asks", async () => {
    const kept = new KeptByKey<number>({ maxAgeMs: 60_000, maxEntries: 2, isKept: (status) => status < 500 });
    const limited = kept.readAs("a", AWAY);
    const other = kept.readAs("a", () => Promise.resolve(200));
    assert.strictEqual(await messageOf(limited), "away");
    assert.strictEqual(await other, 200);
    const down = kept.readAs("b", () => Promise.resolve(503));
    assert.deepEqual(await Promise.all([down, kept.readAs("b", () => Promise.resolve(200))]), [503, 200]);
    assert.strictEqual(await kept.readAs("b", AWAY), 200);
  });
});
