import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { StackFacts } from "../../../scripts/local/facts.ts";
import { findFreePorts } from "../../../scripts/local/ports.ts";
import { PORTS_PER_STACK } from "../../../scripts/local/stack-ports.ts";
import { startStack } from "../../../scripts/local/stack.ts";
import type { Stack } from "../../../scripts/local/stack.ts";
import { Marketplace } from "./marketplace.ts";

/** Chains and subgraphs that no other suite uses. They can be read once the suite's tests have begun. */
export interface OwnStack {
  readonly facts: StackFacts;
  /** The testnet's contracts. */
  readonly market: Marketplace;
}

/** Starts chains and graph-node for the suite that calls it, because its tests would disturb others. */
export function ownStack(): OwnStack {
  let dir: string;
  let stack: Stack | undefined;
  let market: Marketplace;
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), "marketplace-subgraph-"));
    const portBase = await findFreePorts(PORTS_PER_STACK);
    stack = await startStack({ dir, portBase, only: ["graph"], disposable: true });
    market = new Marketplace(stack.facts, "base-sepolia");
  });
  after(async () => {
    await stack?.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  return {
    get facts() {
      if (stack === undefined) throw new Error("the stack hasn't started");
      return stack.facts;
    },
    get market() {
      return market;
    },
  };
}
