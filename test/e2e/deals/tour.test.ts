import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";

import { assert } from "chai";

import { outputOf } from "../../fixtures/output-of.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { type StackFacts, readStackFacts } from "../../../scripts/demo/stack-facts.ts";

const run = promisify(execFile);

function stackFacts(): StackFacts {
  const file = process.env["TEST_STACK"];
  if (file === undefined) throw new Error("TEST_STACK names no running stack: run `npm run test:e2e`");
  return readStackFacts(file);
}

/** The shell lines of the tour in docs/tour.md. */
function tourOf(page: string): string {
  const match = /<!-- tour -->\n```sh\n([\s\S]*?)```/.exec(page);
  assert.ok(match?.[1], "docs/tour.md has a tour");
  return match[1];
}

/** The tour against a stack. */
function tourAt(api: string, rpcUrl: string): string {
  return tourOf(readFileSync("docs/tour.md", "utf8"))
    .replace("http://127.0.0.1:3000", api)
    .replace("http://127.0.0.1:8545", rpcUrl);
}

describe("the tour with curl", () => {
  for (const time of ["line by line [S4.303]", "when it is pasted again: registered wallets get new keys"]) {
    it(`settles a deal ${time}`, async () => {
      const stack = stackFacts();
      const tour = tourAt(stack.api, stack.networks["base-sepolia"].rpcUrl);
      const { stdout } = await run("bash", ["-e", "-o", "pipefail", "-c", tour], { timeout: 300_000 });
      const lines = stdout.trim().split("\n");
      assert.ok(lines.includes("funded"), stdout);
      assert.ok(lines.includes("released"), stdout);
      const found = lines.find((line) => line.startsWith('[{"id"'));
      assert.match(found ?? "", /Token risk report/, "discover finds the service");
      assert.include(lines, "Token risk report", "discover finds it first in German, too");
      const score = JSON.parse(lines.at(-1) ?? "") as { onChainScore: number };
      assert.isAtLeast(score.onChainScore, 1);
    });
  }

  it("is played by the demo, too, which finds its listing first with a query in German", async () => {
    const args = ["scripts/demo.ts", "--stack", process.env["TEST_STACK"] ?? ""];
    const { stdout } = await run(process.execPath, args, { timeout: 300_000 });
    assert.match(stdout, /"Ich suche eine Risikoanalyse für einen Token" → "Token risk report", first of \d+/);
    assert.match(stdout, /Settled \(accepted\)/);
  });

  it("ends when the wallets get no keys, and says so", async () => {
    const stack = stackFacts();
    // A node that signs for other wallets refuses these, so that registration fails.
    const tour = tourAt(stack.api, stack.networks["base-sepolia"].rpcUrl).replace(/^SELLER=.*$/m, "SELLER=0x12");
    const error = await rejectionOf(run("bash", ["-c", tour], { timeout: 300_000 }), Error);
    const { code, stderr } = error as unknown as { code: number; stderr: string };
    assert.strictEqual(code, 127);
    assert.match(stderr, /The seller has no key/);
    assert.isBelow(stderr.split("\n").length, 20, stderr);
  });

  it("ends in a terminal, too, where a failed line doesn't end the shell", async () => {
    const tour = tourAt("http://127.0.0.1:9", "http://127.0.0.1:9");
    const pasted = outputOf("bash", ["--norc", "--noprofile", "--noediting", "-i"], tour, { timeoutMs: 200_000 });
    const { message, cause } = await rejectionOf(pasted, Error);
    // The last line's, which curl could not send.
    assert.strictEqual((cause as { code: number }).code, 7);
    assert.match(message, /The seller has no key/);
    assert.match(message, /There is no deal/);
    assert.isBelow(message.split("\n").length, 80, message);
  });
});
