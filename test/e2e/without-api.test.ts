// Deals that are settled while API, worker and MongoDB don't run (docs/api/without-the-api.md).
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { assert } from "chai";
import { createPublicClient, http } from "viem";

import type { StackFacts } from "../../scripts/local/facts.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import { startStack } from "../../scripts/local/stack.ts";
import type { Stack } from "../../scripts/local/stack.ts";
import { ESCROW_STATES, escrowAbi } from "../../sdk/src/index.ts";

const COMMAND_TIMEOUT_MS = 240_000;

interface Settled {
  ending: string;
  escrowId: `0x${string}`;
  state: (typeof ESCROW_STATES)[number];
  buyerAmount: string;
  sellerAmount: string;
  scores: { buyer: number; seller: number };
}

describe("without API, worker and MongoDB", () => {
  let stack: Stack;
  let facts: StackFacts;
  let dir: string;

  before(async () => {
    dir = mkdtempSync(join(".local", "without-api-"));
    stack = await startStack({
      dir,
      portBase: await findFreePorts(PORTS_PER_STACK),
      fresh: true,
      disposable: true,
      only: ["chains", "graph"],
    });
    facts = JSON.parse(readFileSync(stack.factsPath, "utf8")) as StackFacts;
  });
  after(async () => {
    await stack.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const settle = async (...args: string[]): Promise<{ endings: Settled[] }> => {
    const command = ["scripts/without-api.ts", "--stack", stack.factsPath, "--json", ...args];
    const options = { timeout: COMMAND_TIMEOUT_MS, env: { PATH: process.env["PATH"] } };
    const { stdout } = await promisify(execFile)(process.execPath, command, options);
    return JSON.parse(stdout) as { endings: Settled[] };
  };

  it("[S3.2.20] settles deals in every ending, each as the contract says", async () => {
    assert.deepEqual([facts.api, facts.mongodbUri], [undefined, undefined]);
    const { endings } = await settle();
    assert.deepEqual(
      endings.map(({ ending, state, buyerAmount, sellerAmount }) => [ending, state, buyerAmount, sellerAmount]),
      [
        ["accepted", "Released", "0", "980000"],
        ["finalized", "Released", "0", "980000"],
        ["refunded", "Refunded", "980000", "0"],
        ["abandoned", "Abandoned", "980000", "0"],
        ["agreed", "Resolved", "392000", "588000"],
        ["expired", "Resolved", "490000", "490000"],
      ],
    );
    const { rpcUrl, escrow } = facts.networks["base-sepolia"] ?? {};
    const client = createPublicClient({ transport: http(rpcUrl) });
    for (const { escrowId, state } of endings) {
      const stored = await client.readContract({
        address: escrow as `0x${string}`,
        abi: escrowAbi,
        functionName: "getEscrow",
        args: [escrowId],
      });
      assert.strictEqual(ESCROW_STATES[stored.state], state);
    }
  });

  it("settles a deal on the other network as well", async () => {
    const { endings } = await settle("--network", "base", "--ending", "accepted");
    assert.deepEqual(
      endings.map(({ ending, scores }) => [ending, scores]),
      [["accepted", { buyer: 1, seller: 1 }]],
    );
  });
});
