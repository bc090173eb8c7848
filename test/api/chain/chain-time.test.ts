// The chain's time for deadlines: shared by all reads, and never going back.
import { assert } from "chai";

import { byChainClock, createChainTime, leadOf } from "../../../api/chain/chain-time.ts";

const MAX_AGE_MS = 500;

/** A chain and a clock that the test moves. */
function bench() {
  const state = { calls: 0, timestamp: 1_000, isDown: false, now: 0, hold: Promise.resolve<unknown>(undefined) };
  const time = createChainTime({
    chain: {
      async head() {
        state.calls += 1;
        await state.hold;
        if (state.isDown) throw new Error("no answer");
        return { number: 1, hash: "0x", timestamp: state.timestamp };
      },
    },
    maxAgeMs: MAX_AGE_MS,
    monotonicNow: () => state.now,
  });
  return { state, time };
}

describe("the time of a chain", () => {
  it("is read once for any number of concurrent callers", async () => {
    const { state, time } = bench();
    const times = await Promise.all(Array.from({ length: 200 }, () => time.latest()));
    assert.deepEqual([...new Set(times), state.calls], [1_000, 1]);
  });

  it("is read again when the answer is too old, counted from the request", async () => {
    const { state, time } = bench();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    state.hold = promise;
    const first = time.latest();
    state.now = 100;
    resolve(undefined);
    await first;
    state.timestamp = 1_002;
    state.now = MAX_AGE_MS - 1;
    assert.deepEqual([await time.latest(), state.calls], [1_000, 1]);
    state.now = MAX_AGE_MS;
    assert.deepEqual([await time.latest(), state.calls], [1_002, 2]);
  });

  it("never goes back behind a block that was seen anywhere", async () => {
    const { state, time } = bench();
    await time.latest();
    time.saw(1_010);
    assert.strictEqual(await time.latest(), 1_010);
    state.now = MAX_AGE_MS;
    state.timestamp = 1_005;
    assert.strictEqual(await time.latest(), 1_010);
    time.saw(1_001);
    assert.strictEqual(await time.latest(), 1_010);
  });

  it("is that of the last block seen while the RPC server fails, without calling the server each time", async () => {
    const { state, time } = bench();
    state.isDown = true;
    time.saw(900);
    for (let n = 0; n < 100; n += 1) assert.strictEqual(await time.latest(), 900);
    assert.strictEqual(state.calls, 1);
    state.isDown = false;
    state.now = 1_000;
    assert.deepEqual([await time.latest(), state.calls], [1_000, 2]);
  });
});

describe("a moment by a chain's clock", () => {
  const WALL_TIME = 1_800_000_000;
  const moment = new Date(WALL_TIME * 1_000 + 789);

  it("is the same where the chain is behind or isn't known", () => {
    for (const chainTime of [0, WALL_TIME - 3_600, WALL_TIME])
      assert.deepEqual(byChainClock(moment, chainTime), moment);
  });

  it("is the second of the latest block where the chain is ahead", () => {
    for (const lead of [1, 60, 61, 3_600]) {
      assert.deepEqual(byChainClock(moment, WALL_TIME + lead), new Date((WALL_TIME + lead) * 1_000));
    }
  });

  it("never goes back while our clock steps on, whether blocks come or not", () => {
    const steps = Array.from({ length: 400 }, (_, index) => new Date(moment.getTime() + index * 350));
    const blocks = [() => 65, (seconds: number) => (seconds < 40 ? 70 : 75), (seconds: number) => seconds + 7_200];
    for (const latest of blocks) {
      const times = steps.map((at) => {
        const seconds = Math.floor(at.getTime() / 1_000) - WALL_TIME;
        return byChainClock(at, WALL_TIME + latest(seconds)).getTime();
      });
      assert.deepEqual(
        times,
        times.toSorted((one, other) => one - other),
      );
    }
  });
});

describe("the lead of a chain's clock", () => {
  it("is 0 up to a minute, and the whole difference beyond", () => {
    const wallTime = 1_800_000_000;
    const leads = [-wallTime, -3_600, 0, 60, 61, 3_600].map((ahead) =>
      leadOf({ chainTime: wallTime + ahead, wallTime }),
    );
    assert.deepEqual(leads, [0, 0, 0, 0, 61, 3_600]);
  });
});
