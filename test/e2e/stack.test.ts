import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { MongoClient } from "mongodb";

import type { StackFacts } from "../../scripts/local/facts.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import { Marketplace } from "../subgraph/support/marketplace.ts";
import { readEscrow } from "../subgraph/support/records.ts";
import { StackProcess, processesNaming } from "./support/stack-process.ts";

/** anvil writes its state every second: what is older than this survives a kill. */
const CHAIN_STATE_MS = 1_500;
const END_TIMEOUT_MS = 10_000;

describe("the local stack", () => {
  let dir: string;
  let portBase: number;
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), "marketplace-stack-"));
    portBase = await findFreePorts(PORTS_PER_STACK);
  });
  after(() => {
    rmSync(dir, { recursive: true, force: true });
  });

  const start = (...args: string[]): StackProcess => new StackProcess(dir, ["--port-base", String(portBase), ...args]);

  test("a port that another program holds is named, with the service that needs it and how to change it", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(portBase + 3, "127.0.0.1", resolve));
    const { code, output } = await start().ended;
    server.close();
    assert.equal(code, 1);
    assert.match(output, new RegExp(`Port ${portBase + 3}, which Postgres needs, is taken .*--port-base`));
    assert.deepEqual(processesNaming(dir), [], "nothing was left running");
  });

  test("a service that does not exist is named, with those that do", async () => {
    const { code, output } = await start("--only", "chains,mongodb").ended;
    assert.equal(code, 1);
    assert.match(output, /no service "mongodb"; the services are chains, postgres, graph, mongo, api, worker/);
  });

  test("a second stack on the same data is refused while the first one runs", async () => {
    const first = start("--only", "mongo");
    await first.ready();
    const { code, output } = await start("--only", "mongo").ended;
    assert.equal(code, 1);
    assert.match(output, new RegExp(`already runs on .*process ${first.pid}`));
    first.interrupt();
    assert.equal((await first.ended).code, 0);
  });

  const rounds = [
    { args: ["--only", "graph,mongo"], victims: ["chain-base-sepolia", "postgres", "mongo", "graph-base", "all"] },
    { args: [], victims: ["api", "worker", "the stack itself"] },
  ];
  for (const { args, victims } of rounds) {
    test(`kill -9 of ${victims.join(" or ")} ends the rest, and the next start goes on with the data`, async (t) => {
      let stack = start(...args);
      let facts = await stack.ready();
      const firstBlock = await blockHash(facts, 1);
      await remember(facts, args.join());
      let escrow = await createEscrow(facts);

      for (const victim of victims) {
        await t.test(victim, async () => {
          await new Promise((resolve) => setTimeout(resolve, CHAIN_STATE_MS));
          kill(stack, victim);
          const { code, output } = await stack.ended;
          await allEnded(stack);
          assert.deepEqual(processesNaming(dir), [], "no process is left");
          if (victim !== "the stack itself" && victim !== "all") {
            assert.equal(code, 1);
            assert.match(output, new RegExp(`${victim} ended by itself \\(signal SIGKILL\\)`));
          }

          stack = start(...args);
          facts = await stack.ready();
          assert.equal(await blockHash(facts, 1), firstBlock, "the chain is the same");
          assert.equal((await findEscrowState(facts, escrow)).state, "Funded", "the subgraph knows the escrow");
          assert.equal(await recall(facts, args.join()), 1, "the database holds what was written");
          if (facts.api !== undefined) assert.equal((await fetch(`${facts.api}/ready`)).status, 200);
          escrow = await createEscrow(facts);
        });
      }
      stack.interrupt();
      await stack.ended;
    });
  }

  test("ctrl-C ends everything within ten seconds and leaves no process, while starting too", async () => {
    const running = start();
    await running.ready();
    assert.equal(running.services().size, 9, "two chains, two graph-nodes, Postgres, MongoDB, API, worker, guard");
    const askedAt = performance.now();
    running.interrupt();
    const { code, output } = await running.ended;
    assert.ok(performance.now() - askedAt < END_TIMEOUT_MS);
    assert.equal(code, 0, output);
    assert.deepEqual(processesNaming(dir), []);

    const starting = start("--only", "graph");
    while (starting.services().size === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    starting.interrupt();
    assert.equal((await starting.ended).code, 130);
    assert.deepEqual(processesNaming(dir), []);
  });
});

function kill(stack: StackProcess, victim: string): void {
  if (victim === "the stack itself") process.kill(stack.pid, "SIGKILL");
  else if (victim === "all") {
    for (const { pid } of stack.services().values()) process.kill(pid, "SIGKILL");
    process.kill(stack.pid, "SIGKILL");
  } else {
    const service = stack.services().get(victim);
    assert.ok(service !== undefined, `${victim} runs`);
    process.kill(service.pid, "SIGKILL");
  }
}

/** Waits for the guard, which ends the services of a stack that was killed. */
async function allEnded(stack: StackProcess): Promise<void> {
  const giveUpAt = performance.now() + END_TIMEOUT_MS;
  while (stack.services().size > 0) {
    assert.ok(performance.now() < giveUpAt, `still running: ${[...stack.services().keys()].join(", ")}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function blockHash(facts: StackFacts, number: number): Promise<string | null | undefined> {
  const market = new Marketplace(facts, "base-sepolia");
  const block = await market.provider.getBlock(number);
  market.close();
  return block?.hash;
}

interface KnownEscrow {
  readonly id: string;
  readonly block: number;
}

async function createEscrow(facts: StackFacts): Promise<KnownEscrow> {
  const market = new Marketplace(facts, "base-sepolia");
  const { id, receipt } = await market.createEscrow(await market.newParty(), await market.newParty());
  await readEscrow(market, id, receipt.blockNumber);
  market.close();
  return { id, block: receipt.blockNumber };
}

async function findEscrowState(facts: StackFacts, { id, block }: KnownEscrow): Promise<{ state: string }> {
  const market = new Marketplace(facts, "base-sepolia");
  const escrow = await readEscrow(market, id, block);
  market.close();
  return escrow;
}

async function remember(facts: StackFacts, text: string): Promise<void> {
  const client = new MongoClient(facts.mongodbUri ?? "");
  await client.db("stack-test").collection("notes").insertOne({ text });
  await client.close();
}

async function recall(facts: StackFacts, text: string): Promise<number> {
  const client = new MongoClient(facts.mongodbUri ?? "");
  const count = await client.db("stack-test").collection("notes").countDocuments({ text });
  await client.close();
  return count;
}
