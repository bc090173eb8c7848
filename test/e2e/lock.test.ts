// The lock that reserves a directory for one stack, and lets one command at a time install or compile.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";

import { giveLockFile, takeLockFile } from "../../scripts/local/lock-file.mjs";
import { ROOT } from "../../scripts/local/paths.ts";

const RIVALS = 6;

describe("a lock file", () => {
  let dir: string;
  let file: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "marketplace-lock-"));
    file = join(dir, "run", "some.lock");
  });
  afterEach(() => {
    rmSync(dir, { recursive: true, force: true });
  });

  const isDead = (content: string) => content.startsWith("dead");
  const kept = () => readdirSync(join(dir, "run"));

  /** Runs code in a process of its own, which may kill itself; returns its stderr. */
  async function inAnotherProcess(code: string): Promise<string> {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", code], {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (text: Buffer) => (said += text.toString()));
    await once(child, "close");
    return said;
  }

  it("can be taken again only after its holder has released it", () => {
    assert.strictEqual(takeLockFile(file, "one", isDead), undefined);
    assert.strictEqual(takeLockFile(file, "two", isDead), "one");
    giveLockFile(file, "two");
    assert.strictEqual(takeLockFile(file, "two", isDead), "one");
    giveLockFile(file, "one");
    assert.strictEqual(takeLockFile(file, "two", isDead), undefined);
    assert.deepEqual(kept(), ["some.lock"]);
  });

  it("goes to one of two processes that find its holder dead", () => {
    takeLockFile(file, "dead", isDead);
    // The first takes the lock after the second has found its holder dead.
    const second = takeLockFile(file, "second", (content) => {
      if (isDead(content)) assert.strictEqual(takeLockFile(file, "first", isDead), undefined);
      return isDead(content);
    });
    assert.strictEqual(second, "first");
    assert.strictEqual(readFileSync(file, "utf8"), "first");
    assert.deepEqual(kept(), ["some.lock"]);
  });

  it("survives the death of a process that is taking it over", async () => {
    takeLockFile(file, "dead", isDead);
    await inAnotherProcess(`
      import fs from "node:fs";
      import { syncBuiltinESMExports } from "node:module";
      fs.renameSync = () => process.kill(process.pid, "SIGKILL");
      syncBuiltinESMExports();
      const { takeLockFile } = await import("./scripts/local/lock-file.mjs");
      takeLockFile(${JSON.stringify(file)}, "dead successor", () => true);
    `);
    assert.strictEqual(readFileSync(file, "utf8"), "dead");
    assert.ok(
      kept().some((name) => name.includes(".after-")),
      "it died in the middle",
    );
    assert.strictEqual(takeLockFile(file, "next", isDead), undefined);
    assert.strictEqual(readFileSync(file, "utf8"), "next");
  });

  it("is held by one process at a time, even if each is killed while holding it", async () => {
    const log = join(dir, "log");
    appendFileSync(log, "");
    const said = await Promise.all(
      Array.from({ length: RIVALS }, () =>
        inAnotherProcess(`
          import { appendFileSync, mkdirSync, rmdirSync } from "node:fs";
          import { takeLock } from "./scripts/local/lock.ts";
          while (takeLock(${JSON.stringify(file)}) !== undefined) await new Promise((resolve) => setTimeout(resolve, 1));
          mkdirSync(${JSON.stringify(join(dir, "inside"))});
          await new Promise((resolve) => setTimeout(resolve, 20));
          rmdirSync(${JSON.stringify(join(dir, "inside"))});
          appendFileSync(${JSON.stringify(log)}, "held\\n");
          process.kill(process.pid, "SIGKILL");
        `),
      ),
    );
    assert.deepEqual(said.join(""), "", "no two were inside at once");
    assert.strictEqual(readFileSync(log, "utf8"), "held\n".repeat(RIVALS));
  });
});
