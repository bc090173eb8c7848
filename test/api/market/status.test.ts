// What anyone sees of the state of the service: a word for each part.
import { assert } from "chai";

import { readPublicStatus } from "../../../api/features/market/public-status.ts";
import type { NetworkState, Readiness } from "../../../api/features/health/readiness.ts";
import { startTestApi } from "../../fixtures/api.ts";
import { limitsWith, movedClock } from "../../fixtures/limits.ts";

const NOW = 1_800_000_000;
const works = { ok: true, latencyMs: 1 };
const fails = { ok: false, latencyMs: 1, error: "InternalHostError" };

function networkWith(changed: Partial<NetworkState> = {}): NetworkState {
  return {
    ok: true,
    rpc: { ...works, facts: { headBlock: 100, headTimestamp: NOW - 2 } },
    subgraph: { ...works, facts: { indexedBlock: 99, blocksBehind: 1 } },
    follower: { block: 97, lagBlocks: 3, lagSeconds: 6, quarantined: 0 },
    disputes: { overdue: 0, oldestSeconds: null, held: {} },
    keeper: keeperWith(),
    ...changed,
  };
}

function keeperWith(changed: Partial<NonNullable<NetworkState["keeper"]>> = {}) {
  const spending = { spentTodayWei: "123456789", dailyCapWei: "987654321" };
  return { enabled: true, waiting: 0, oldestSeconds: null, held: {}, ...spending, ...changed };
}

async function read(changed: Partial<Readiness> = {}, network: Partial<NetworkState> = {}) {
  return readPublicStatus({
    readiness: () =>
      Promise.resolve({
        database: works,
        search: { ...works, facts: { listings: 7 } },
        encoder: null,
        networks: { "base-sepolia": networkWith(network), base: networkWith() },
        outbox: { waiting: 0, oldestSeconds: null },
        ...changed,
      }),
    confirmations: { "base-sepolia": 2, base: 2 },
    now: () => new Date(NOW * 1_000),
  });
}

describe("GET /api/v1/market/status", () => {
  it("is ok while every part is, and has no amount, count of work or name of a failure", async () => {
    const status = await read({}, { keeper: keeperWith({ waiting: 3, oldestSeconds: 600 }) });
    assert.strictEqual(status.state, "ok");
    const text = JSON.stringify([status, await read({ database: fails, search: fails, outbox: null })]);
    for (const hidden of ["123456789", "987654321", "waiting", "held", "Error", "latency"])
      assert.notInclude(text, hidden);
  });

  const ofNetwork: [part: string, state: "ok" | "late" | "down", changed: Partial<NetworkState>][] = [
    ["chain", "down", { rpc: fails }],
    ["chain", "late", { rpc: { ...works, facts: { headBlock: 100, headTimestamp: NOW - 61 } } }],
    ["subgraph", "down", { subgraph: fails }],
    ["subgraph", "late", { subgraph: { ...works, facts: { indexedBlock: 69, blocksBehind: 31 } } }],
    ["follower", "down", { follower: { block: null, lagBlocks: null, lagSeconds: null, quarantined: null } }],
    ["follower", "ok", { follower: { block: 68, lagBlocks: 32, lagSeconds: 64, quarantined: 0 } }],
    ["follower", "late", { follower: { block: 67, lagBlocks: 33, lagSeconds: 66, quarantined: 0 } }],
    ["follower", "late", { follower: { block: 97, lagBlocks: 3, lagSeconds: 6, quarantined: 1 } }],
    ["keeper", "down", { keeper: null }],
    ["keeper", "late", { keeper: keeperWith({ waiting: 1, oldestSeconds: 601 }) }],
    ["keeper", "late", { keeper: keeperWith({ held: { no_funds: 1 } }) }],
    ["rulings", "down", { disputes: null }],
    ["rulings", "late", { disputes: { overdue: 1, oldestSeconds: 700, held: {} } }],
    ["rulings", "late", { disputes: { overdue: 0, oldestSeconds: null, held: { no_funds: 2 } } }],
  ];
  for (const [part, state, changed] of ofNetwork) {
    it(`says that ${part} is ${state}, for ${JSON.stringify(changed).slice(0, 80)}`, async () => {
      const { state: whole, networks } = await read({}, changed);
      const [testnet, mainnet] = networks;
      const shown = Object.entries(testnet ?? {}).filter(([name]) => name === part || name === "state");
      assert.deepEqual(Object.fromEntries(shown), { [part]: state, state });
      assert.strictEqual(mainnet?.state, "ok");
      assert.strictEqual(whole, state);
    });
  }

  it("says null of a keeper that this service doesn't run", async () => {
    const { state, networks } = await read({}, { keeper: keeperWith({ enabled: false }) });
    assert.deepEqual([state, networks[0]?.keeper], ["ok", null]);
  });

  it("says how database, search and queues are", async () => {
    const stateOf = async (changed: Partial<Readiness>) => {
      const { state, database, search, queues } = await read(changed);
      return [state, database, search, queues];
    };
    assert.deepEqual(await stateOf({ outbox: { waiting: 9, oldestSeconds: 60 } }), ["ok", "ok", "ok", "ok"]);
    assert.deepEqual(await stateOf({ outbox: { waiting: 9, oldestSeconds: 61 } }), ["late", "ok", "ok", "late"]);
    assert.deepEqual(await stateOf({ search: fails }), ["late", "ok", "late", "ok"]);
    assert.deepEqual(await stateOf({ database: fails, search: fails, outbox: null }), ["down", "down", "down", "down"]);
  });

  it("notes each minute once, even if several processes look, and answers the last 48 hours", async () => {
    const clock = movedClock();
    const api = await startTestApi({
      clock,
      timings: { publicBlockMs: 0, publicHistoryMs: 0 },
      oneProcess: "the clock of one process is moved",
    });
    try {
      const { statusRecorder, models } = api.container.features.market;
      const history = async () => (await api.request("GET", "/api/v1/market/status")).body.data.history;
      const sum = (hours: { all: Record<string, number> }[]) =>
        hours.reduce((total, { all }) => total + Object.values(all).reduce((one, other) => one + other, 0), 0);
      await Promise.all([statusRecorder.step(), statusRecorder.step(), statusRecorder.step()]);
      assert.strictEqual(await models.minutes.countDocuments(), 1);
      clock.pass(60_000);
      await statusRecorder.step();
      const first = await history();
      assert.lengthOf(first, 48);
      assert.strictEqual(sum(first), 2);
      const { state, networks, at } = await models.minutes.findOne().sort({ _id: -1 }).orFail().lean();
      const last = first.at(-1);
      assert.isAtLeast(last.all[state], 1);
      assert.isAtLeast(last.base[networks.base], 1);
      assert.strictEqual(Date.parse(last.start), at.getTime() - (at.getTime() % 3_600_000));
      clock.pass(46 * 3_600_000);
      assert.strictEqual(sum(await history()), 2);
      clock.pass(3 * 3_600_000);
      assert.strictEqual(sum(await history()), 0);
    } finally {
      await api.close();
    }
  });

  it("answers from the running service, with both networks, however often it is asked", async () => {
    const api = await startTestApi({
      timings: { publicBlockMs: 60_000 },
      env: { limits: limitsWith({ keyless: 1 }) },
      oneProcess: "each process has its own answer",
    });
    try {
      const { body, headers } = await api.request("GET", "/api/v1/market/status");
      const { networks, version, database } = body.data;
      assert.deepEqual([networks.length, database], [2, "ok"]);
      assert.match(version, /^\d+\.\d+\.\d+/);
      assert.isAbove(networks[0].headBlock, 0);
      const known = { "if-none-match": headers.get("etag") ?? "" };
      assert.strictEqual((await api.request("GET", "/api/v1/market/status", { headers: known })).status, 304);
      assert.strictEqual(headers.get("cache-control"), "public, max-age=60");
    } finally {
      await api.close();
    }
  });
});
