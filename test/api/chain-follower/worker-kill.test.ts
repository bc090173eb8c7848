import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "chai";

import { readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { act, deliverDeal, fundedDeal, openMarket } from "../../fixtures/deals.ts";
import { seededRandom } from "../../fixtures/random.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";
import { startWorker, untilRuns } from "../../fixtures/processes.ts";

const DEALS = 6;
/** How many of the workers are killed while they start. */
const KILLED_AT_START = 0.2;
/** Life of the others once they run, or of these while they start. */
const LIFE_MS = { min: 20, max: 1_000 };
/** A dispatch whose worker died is sent again after its lease of 30 s, and once more if that is lost too. */
const ARRIVAL_MS = 120_000;

describe("a worker that is killed repeatedly", () => {
  let api: TestApi;
  let hook: TestReceiver;
  let worker: ChildProcess | undefined;
  const databaseName = `test_kill_${process.pid}`;

  before(async () => {
    api = await startTestApi({ databaseName });
    hook = await startReceiver();
  });
  after(async () => {
    worker?.kill("SIGKILL");
    await api.close();
    await hook.close();
  });

  async function start(): Promise<ChildProcess> {
    const mongo = new URL((await readStack()).mongodbUri);
    mongo.pathname = databaseName;
    return startWorker(mongo.href);
  }

  it("loses no event and announces none twice", async () => {
    const chain = await openChain("base-sepolia");
    const market = await openMarket(api, chain, { endpointUrl: hook.url, callbackRequired: true });
    const settling = new AbortController();
    const random = seededRandom();
    let kills = 0;
    const killing = (async () => {
      while (!settling.signal.aborted) {
        worker = await start();
        if (random() >= KILLED_AT_START) await untilRuns(worker);
        const lifeMs = LIFE_MS.min + random() * (LIFE_MS.max - LIFE_MS.min);
        await sleep(lifeMs, undefined, { signal: settling.signal }).catch(() => undefined);
        worker.kill("SIGKILL");
        await once(worker, "exit");
        kills += 1;
      }
    })();
    const transactionIds: string[] = [];
    for (let deal = 0; deal < DEALS; deal += 1) {
      const killsBefore = kills;
      const { transactionId } = await fundedDeal(market, { callbackUrl: hook.url });
      await deliverDeal(market, transactionId);
      await act(api, chain, market.buyer, transactionId, "accept");
      transactionIds.push(transactionId);
      await until("the worker is killed once more", () => Promise.resolve(kills > killsBefore));
    }
    settling.abort();
    await killing;

    worker = await start();
    const { events } = api.container.features.events.models;
    const { transactions } = api.container.features.transactions.models;
    const expected = ["escrow.funded", "service.delivered", "escrow.released"];
    await until(
      "everything is announced",
      async () => (await events.countDocuments()) >= DEALS * expected.length,
      ARRIVAL_MS,
    );
    for (const transactionId of transactionIds) {
      const log = await events.find({ transactionId }).sort({ $natural: 1 }).lean();
      assert.deepEqual(
        log.map(({ type }) => type),
        expected,
      );
      assert.strictEqual((await transactions.findById(transactionId).lean())?.status, "released");
    }
    // The buyer gets each delivery, the seller everything else, and both logs have no gap.
    for (const [agent, perDeal] of [
      [market.buyer, 1],
      [market.seller, 2],
    ] as const) {
      const log = await events.find({ agentId: agent.agentId }).sort({ seq: 1 }).lean();
      assert.deepEqual(
        log.map(({ seq }) => seq),
        Array.from({ length: DEALS * perDeal }, (_, n) => n + 1),
      );
    }
    // A dispatch whose worker died is sent again after its lease, so every event arrives.
    const ids = (await events.find().lean()).map(({ eventId }) => eventId);
    await until(
      "every webhook has arrived",
      () => {
        const arrived = new Set(hook.received.map(({ headers }) => String(headers["x-service-event-id"])));
        return Promise.resolve(ids.every((id) => arrived.has(id)));
      },
      ARRIVAL_MS,
    );
  }).timeout(300_000);
});
