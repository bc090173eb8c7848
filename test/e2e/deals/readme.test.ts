import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";

import { assert } from "chai";

import { type StackFacts, readStackFacts } from "../../../scripts/demo/stack-facts.ts";

const run = promisify(execFile);

function stackFacts(): StackFacts {
  const file = process.env["TEST_STACK"];
  if (file === undefined) throw new Error("TEST_STACK names no running stack: run `npm run test:e2e`");
  return readStackFacts(file);
}

/** The shell lines of the tour in README.md. */
function tourOf(readme: string): string {
  const match = /<!-- tour -->\n```sh\n([\s\S]*?)```/.exec(readme);
  assert.ok(match?.[1], "README.md has a tour");
  return match[1];
}

it("the tour of the README settles a deal line by line [S4.303]", async () => {
  const stack = stackFacts();
  const tour = tourOf(readFileSync("README.md", "utf8"))
    .replace("http://127.0.0.1:3000", stack.api)
    .replace("http://127.0.0.1:8545", stack.networks["base-sepolia"].rpcUrl);
  const { stdout } = await run("bash", ["-e", "-o", "pipefail", "-c", tour], { timeout: 300_000 });
  const lines = stdout.trim().split("\n");
  assert.ok(lines.includes("funded"), stdout);
  assert.ok(lines.includes("released"), stdout);
  const found = lines.find((line) => line.startsWith('[{"serviceId"'));
  assert.match(found ?? "", /Token risk report/, "discover finds the service");
  const score = JSON.parse(lines.at(-1) ?? "") as { onChainScore: number };
  assert.strictEqual(score.onChainScore, 1);
});
