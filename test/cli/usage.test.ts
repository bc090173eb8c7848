import { readFile } from "node:fs/promises";

import { assert } from "chai";

import { startCli } from "../fixtures/cli.ts";

describe("the command line", () => {
  it("shows its help and its version", async () => {
    const { version } = JSON.parse(await readFile("cli/package.json", "utf8")) as { version: string };
    const help = await startCli(["--help"]).ended;
    assert.strictEqual(help.code, 0);
    assert.match(help.stdout, /^Usage: agent-marketplace /);
    assert.include(help.stdout, "5 outcome unknown");
    assert.deepEqual(await startCli(["--version"]).ended, { code: 0, stdout: `${version}\n`, stderr: "" });
  });

  it("ends with 2 where the command line is wrong, and writes nothing to its output", async () => {
    const { code, stdout, stderr } = await startCli(["--colour"]).ended;
    assert.deepEqual([code, stdout], [2, ""]);
    assert.include(stderr, "unknown option '--colour'");
  });
});
