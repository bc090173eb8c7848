import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { ServerResponse } from "node:http";

import { assert } from "chai";

import { OUTBOX_DEFAULTS } from "../../../api/features/outbox/outbox.ts";
import { readStack } from "../../fixtures/api.ts";
import { TestOutbox } from "../../fixtures/outbox.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { routeTo } from "../../fixtures/stall.ts";
import type { StallingRoute } from "../../fixtures/stall.ts";
import { until } from "../../fixtures/until.ts";
import { startWorker } from "../../fixtures/processes.ts";

const AGENTS = 300;
/** Requests that are open when the worker is stopped; fewer if the first times out earlier on a busy machine. */
const HANGING = 200;
/** A process starts slowly on a busy machine. */
const PATIENCE_MS = 200_000;

describe("a worker that is stopped while hundreds of receivers hang", () => {
  let outbox: TestOutbox;
  let receiver: TestReceiver;
  let worker: ChildProcess | undefined;
  let route: StallingRoute | undefined;
  let isHanging: boolean;
  let hasTimedOut: boolean;
  const open = new Set<ServerResponse>();

  beforeEach(async () => {
    isHanging = true;
    hasTimedOut = false;
    open.clear();
    outbox = await TestOutbox.open();
    receiver = await startReceiver((_, response) => {
      if (!isHanging) return 200;
      open.add(response);
      response.on("close", () => {
        hasTimedOut = true;
        open.delete(response);
      });
      return undefined;
    });
    await Promise.all(
      Array.from({ length: AGENTS }, (_, n) => outbox.put("escrow.released", `agt_${n}`, `evt_${n}`, receiver.url)),
    );
  });
  afterEach(async () => {
    worker?.kill("SIGKILL");
    await receiver.close();
    await outbox.close();
    await route?.close();
  });

  /** Starts a worker and waits until enough of its requests hang. */
  async function startAndHang(port?: number): Promise<ChildProcess> {
    const started = await start(port);
    await until("they hang", () => Promise.resolve(open.size >= HANGING || hasTimedOut), PATIENCE_MS);
    return started;
  }

  async function start(port?: number): Promise<ChildProcess> {
    const uri = new URL((await readStack()).mongodbUri);
    uri.pathname = outbox.connection.name;
    if (port !== undefined) {
      uri.host = `127.0.0.1:${port}`;
      uri.search = "?directConnection=true";
    }
    worker = await startWorker(uri.href);
    return worker;
  }

  /** Waits until a new worker has sent everything, except for what had already had its one retry. */
  async function finishWithNextWorker(): Promise<void> {
    isHanging = false;
    await start();
    const { dispatches } = outbox.models;
    await until(
      "nothing waits",
      async () => (await dispatches.countDocuments({ status: "pending" })) === 0,
      PATIENCE_MS,
    );
    const rest = await dispatches.find({ status: { $ne: "acknowledged" } }).lean();
    for (const { status, attempts } of rest) {
      assert.strictEqual(status, "failed");
      assert.strictEqual(attempts.filter(({ outcome }) => outcome === "unreachable").length, 2);
    }
  }

  it("stops cleanly and returns everything, so that the next worker sends it at once", async () => {
    const stopped = await startAndHang();
    const exit = once(stopped, "exit");
    stopped.kill("SIGTERM");
    assert.deepEqual(await exit, [0, null], "nothing had to force it");

    const { dispatches, lanes } = outbox.models;
    assert.isAtLeast(await dispatches.countDocuments({ "attempts.outcome": "interrupted" }), 1);
    assert.strictEqual(await dispatches.countDocuments({ "attempts.outcome": "running" }), 0);
    const soon = new Date(Date.now() + OUTBOX_DEFAULTS.retryDelayMs);
    assert.strictEqual(await dispatches.countDocuments({ status: "pending", dueAt: { $gt: soon } }), 0);
    assert.strictEqual(
      await lanes.countDocuments({ $or: [{ holder: { $ne: null } }, { nextDueAt: { $gt: soon } }] }),
      0,
    );
    await finishWithNextWorker();
  }).timeout(2 * PATIENCE_MS + 60_000);

  it("stops cleanly even if the database has stopped answering, and the next worker sends everything", async () => {
    route = await routeTo(Number(new URL((await readStack()).mongodbUri).port));
    const stopped = await startAndHang(route.port);
    const exit = once(stopped, "exit");
    route.stall();
    stopped.kill("SIGTERM");
    assert.deepEqual(await exit, [0, null], "nothing had to force it");

    await outbox.age(OUTBOX_DEFAULTS.leaseMs);
    await finishWithNextWorker();
  }).timeout(2 * PATIENCE_MS + 60_000);
});
