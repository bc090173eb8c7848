import { readFile } from "node:fs/promises";

import { assert } from "chai";

import { runCli } from "../fixtures/cli.ts";

describe("the command line", () => {
  it("shows its help and its version", async () => {
    const { version } = JSON.parse(await readFile("cli/package.json", "utf8")) as { version: string };
    const help = await runCli(["--help"]);
    assert.strictEqual(help.code, 0);
    assert.match(help.stdout, /^Usage: agent-marketplace /);
    assert.include(help.stdout, "5 outcome unknown");
    assert.deepEqual(await runCli(["--version"]), { code: 0, stdout: `${version}\n`, stderr: "" });
  });

  it("ends with 2 where the command line is wrong, and writes nothing to its output", async () => {
    const { code, stdout, stderr } = await runCli(["--colour"]);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.include(stderr, "unknown option '--colour'");
  });
});
