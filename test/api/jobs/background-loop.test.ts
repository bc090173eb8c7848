import { assert } from "chai";
import pino from "pino";

import { repeat } from "../../../api/jobs/background-loop.ts";

describe("a loop that repeats a step", () => {
  function loopOf(step: (signal: AbortSignal) => Promise<number>) {
    const lines: { msg: string; failures?: number; pauseMs?: number }[] = [];
    let released = 0;
    const loop = repeat({
      name: "test.repeat",
      step,
      retry: { minMs: 2, maxMs: 8 },
      failed: "couldn't count",
      recovered: "counts again",
      lease: { release: () => Promise.resolve(void (released += 1)) },
      log: pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) }),
    });
    return { loop, lines, released: () => released };
  }

  it("goes on after failures, with pauses within their bounds, and releases its lease after each and at the end", async () => {
    const ending = new AbortController();
    let steps = 0;
    const { loop, lines, released } = loopOf(() => {
      steps += 1;
      if (steps === 8) ending.abort();
      return steps <= 5 ? Promise.reject(new Error(`step ${steps}`)) : Promise.resolve(0);
    });
    await loop.run(ending.signal);
    assert.strictEqual(steps, 8);
    const failures = lines.filter(({ msg }) => msg === "couldn't count; trying again");
    assert.deepEqual(
      failures.map((line) => line.failures),
      [1, 2, 3, 4, 5],
    );
    const bounds = [2, 4, 8, 8, 8];
    for (const [failed, bound] of bounds.entries()) {
      const pauseMs = failures[failed]?.pauseMs ?? 0;
      assert.ok(pauseMs >= bound / 2 && pauseMs <= bound, `${pauseMs} ms after ${failed + 1} failures`);
    }
    assert.strictEqual(lines.filter(({ msg }) => msg === "counts again").length, 1);
    assert.strictEqual(released(), 6);
  });

  it("ends a pause when it is told to stop", async () => {
    const ending = new AbortController();
    const { loop, released } = loopOf(() => {
      setImmediate(() => {
        ending.abort();
      });
      return Promise.resolve(2 ** 31 - 1);
    });
    await loop.run(ending.signal);
    assert.strictEqual(released(), 1);
  });

  it("ends a pause when it is woken, also when that happens during the step before the pause", async () => {
    const ending = new AbortController();
    let steps = 0;
    const { loop } = loopOf(() => {
      steps += 1;
      if (steps === 1) loop.wake();
      if (steps === 2)
        setImmediate(() => {
          loop.wake();
        });
      if (steps === 3) ending.abort();
      return Promise.resolve(2 ** 31 - 1);
    });
    await loop.run(ending.signal);
    assert.strictEqual(steps, 3);
  });

  it("waits its whole pause again after a wake has ended one", async () => {
    const ending = new AbortController();
    const times: number[] = [];
    const { loop } = loopOf(() => {
      times.push(performance.now());
      if (times.length === 1) {
        loop.wake();
        loop.wake();
      }
      if (times.length === 3) ending.abort();
      return Promise.resolve(50);
    });
    await loop.run(ending.signal);
    // A timer may fire a millisecond early.
    assert.isAtLeast((times[2] ?? 0) - (times[1] ?? 0), 49);
  });

  it("doesn't count a step that its stop ended as a failure", async () => {
    const ending = new AbortController();
    const { loop, lines, released } = loopOf(async (signal) => {
      ending.abort();
      await Promise.resolve();
      signal.throwIfAborted();
      return 0;
    });
    await loop.run(ending.signal);
    assert.deepEqual(lines, []);
    assert.strictEqual(released(), 1);
  });
});
