// Postgres after a kill that leaves one of its helper processes behind.
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";

import { findFreePorts } from "../../scripts/local/ports.ts";
import { LocalPostgres } from "../../scripts/local/postgres.ts";
import { isPidRunning } from "../../scripts/local/process-identity.ts";
import { Supervisor } from "../../scripts/local/supervisor.ts";
import { until } from "../fixtures/until.ts";

const LIMIT_MS = 120_000;

describe("Postgres of the local stack", () => {
  const dir = mkdtempSync(join(tmpdir(), "marketplace-postgres-"));
  const data = join(dir, "postgres", "data");
  const supervisors: Supervisor[] = [];

  after(async () => {
    for (const supervisor of supervisors) await supervisor.stop();
    for (const pid of processesIn(data)) process.kill(pid, "SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  });

  async function start(port: number): Promise<LocalPostgres> {
    // One each, because a supervisor ends with a service that ends by itself.
    const supervisor = await Supervisor.open(join(dir, `supervisor-${supervisors.length}`), () => undefined);
    supervisors.push(supervisor);
    const postgres = new LocalPostgres(dir, port);
    await postgres.initialise(supervisor.run.bind(supervisor));
    await postgres.removeStaleLock();
    await supervisor.start(postgres.service);
    return postgres;
  }

  const processesIn = (folder: string): number[] =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => {
        try {
          return readlinkSync(`/proc/${pid}/cwd`) === folder;
        } catch {
          return false;
        }
      })
      .map(Number);

  it("starts again although a helper of the killed server never ends", async function () {
    this.timeout(LIMIT_MS);
    const port = await findFreePorts(1);
    const first = await start(port);
    await first.query("CREATE TABLE kept (n int)");
    await first.query("INSERT INTO kept VALUES (7)");
    const server = Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]);
    const helper = processesIn(data).find((pid) => pid !== server);
    assert.ok(helper !== undefined, "the server has helpers");
    // As one that waits for the lock of another that has exited.
    process.kill(helper, "SIGSTOP");
    process.kill(server, "SIGKILL");
    await until("the server has ended", () => Promise.resolve(!isPidRunning(server)));
    assert.isTrue(isPidRunning(helper));
    const second = await start(port);
    assert.isFalse(isPidRunning(helper));
    assert.deepEqual((await second.query("SELECT n FROM kept")).rows, [{ n: 7 }]);
  });
});
