import { spawnSync } from "node:child_process";

import { assert } from "chai";

import { runCli } from "../fixtures/cli.ts";

/** What bash offers after some words, of which the last one is being typed. */
function offered(script: string, words: string[]): string[] {
  const quoted = words.map((word) => `'${word}'`).join(" ");
  const program = `${script}
COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}
_agent_marketplace
printf '%s\\n' "\${COMPREPLY[@]}"
complete -p agent-marketplace >&2`;
  const { status, stdout, stderr } = spawnSync("bash", ["--norc", "-eu", "-c", program], { encoding: "utf8" });
  assert.strictEqual(status, 0, stderr);
  assert.include(stderr, "-F _agent_marketplace agent-marketplace");
  return stdout.trim().split("\n");
}

describe("completions of the command line", () => {
  it("are loaded by bash, which offers commands, their commands and their options", async () => {
    const { code, stdout } = await runCli(["completion", "bash"]);
    assert.strictEqual(code, 0);
    assert.includeMembers(offered(stdout, ["agent-marketplace", ""]), ["search", "deals", "doctor", "--help"]);
    assert.deepEqual(offered(stdout, ["agent-marketplace", "sea"]), ["search"]);
    assert.includeMembers(offered(stdout, ["agent-marketplace", "messages", ""]), ["list", "send", "read"]);
    const options = offered(stdout, ["agent-marketplace", "messages", "send", "agt_1", "--"]);
    assert.includeMembers(options, ["--text", "--json", "--intent"]);
    assert.notInclude(options, "--max-price");
  });

  it("exist for zsh and fish, with every command and its description", async () => {
    const [zsh, fish] = await Promise.all(["zsh", "fish"].map((shell) => runCli(["completion", shell])));
    assert.match(zsh?.stdout ?? "", /^#compdef agent-marketplace\n/);
    assert.include(zsh?.stdout, "'deals:list your deals, newest first'");
    assert.include(fish?.stdout, "-a deals -d 'list your deals, newest first'");
    assert.include(
      fish?.stdout,
      "-n '__fish_seen_subcommand_from messages; and __fish_seen_subcommand_from send' -l text",
    );
    for (const [shell, script] of [
      ["zsh", zsh?.stdout],
      ["fish", fish?.stdout],
    ] as const) {
      const { error, status, stderr } = spawnSync(shell, ["-n", "/dev/stdin"], { input: script, encoding: "utf8" });
      // Neither is on every machine.
      if (error === undefined) assert.strictEqual(status, 0, stderr);
    }
  });

  it("refuses other shells", async () => {
    const { code, stderr } = await runCli(["completion", "tcsh"]);
    assert.strictEqual(code, 2);
    assert.include(stderr, "Allowed choices are bash, zsh, fish");
  });
});
