// Senders that are killed between two steps from the queue to the final state.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "chai";

import { readStack } from "../../../fixtures/api.ts";
import { RulingBench } from "../../../fixtures/rulings.ts";
import type { SenderOptions } from "../../../fixtures/ruling-sender.ts";
import { routeTo } from "../../../fixtures/stall.ts";

/** A moment at which the process is killed: a message to the database that doesn't arrive, or a call of the node. */
type Moment = { name: string; message: string } | { name: string; call: string; isAnswered: boolean };

/** How a write sets a state, as BSON has it. Queries for states differ. */
const setsState = (state: string): string =>
  `state\u0000${String.fromCharCode(state.length + 1)}\u0000\u0000\u0000${state}\u0000`;
/** How a write sets a date. One that removes it has a number there. */
const setsDate = (field: string): string => `\u0009${field}\u0000`;

const MOMENTS: readonly Moment[] = [
  { name: "before it has the lease", message: "disputes.send-rulings:base-sepolia" },
  { name: "before it reads what is due", message: "dueAt" },
  { name: "before the simulation", call: "eth_call", isAnswered: false },
  { name: "before the nonce is known", call: "eth_getTransactionCount", isAnswered: false },
  { name: "before the signed transaction is stored", message: "maxFeePerGas" },
  { name: "after it is stored, before it is sent", call: "eth_sendRawTransaction", isAnswered: false },
  { name: "after it is sent, before the node answers", call: "eth_sendRawTransaction", isAnswered: true },
  { name: "before it is noted as sent", message: setsDate("sentAt") },
  { name: "before the receipt is known", call: "eth_getTransactionReceipt", isAnswered: false },
  { name: "before it is noted as mined", message: setsState("mined") },
  { name: "before it is noted as final", message: setsState("final") },
];

/** Pause between blocks while a process runs. */
const MINING_MS = 50;

/** A way to the node on which a call gets stuck, before or after the node has executed it. */
async function stallingNode(rpcUrl: string, stuckCall: string, isAnswered: boolean) {
  const { promise: reached, resolve } = Promise.withResolvers<undefined>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      void (async () => {
        const body = Buffer.concat(chunks).toString("utf8");
        const isStuck = body.includes(`"${stuckCall}"`);
        if (isStuck && !isAnswered) {
          resolve(undefined);
          return;
        }
        const answer = await fetch(rpcUrl, { method: "POST", headers: { "content-type": "application/json" }, body });
        const text = await answer.text();
        if (isStuck) resolve(undefined);
        else response.end(text);
      })();
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reached,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

describe("a sender of rulings that is killed", () => {
  let bench: RulingBench;
  const children: ChildProcess[] = [];

  before(async () => {
    bench = await RulingBench.open();
  });
  after(async () => {
    for (const child of children) child.kill("SIGKILL");
    await bench.close();
  });

  function start(mongodbUri: string, rpcUrl: string): ChildProcess {
    const { chain, databaseName, keys } = bench;
    const options: SenderOptions = {
      mongodbUri,
      databaseName,
      rpcUrls: { "base-sepolia": rpcUrl, base: rpcUrl },
      deployments: { "base-sepolia": chain.deployment, base: chain.deployment },
      keys: { "base-sepolia": keys, base: { system: undefined, admin: undefined } },
      timings: { confirmations: 3, leaseMs: 1_000, pollMs: 20, watchMs: 20, retry: { minMs: 20, maxMs: 20 } },
    };
    const args = ["test/fixtures/ruling-sender.ts", JSON.stringify(options, replaceBigInt)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    children.push(child);
    return child;
  }

  /** Starts a process that gets as far as the moment and no further. */
  async function stalled(moment: Moment) {
    const direct = new URL((await readStack()).mongodbUri);
    if ("call" in moment) {
      const node = await stallingNode(bench.chain.rpcUrl, moment.call, moment.isAnswered);
      return {
        child: start(direct.href, node.url),
        reached: node.reached as Promise<unknown>,
        close: () => node.close(),
      };
    }
    const route = await routeTo(Number(direct.port));
    direct.port = String(route.port);
    direct.searchParams.set("directConnection", "true");
    const reached: Promise<unknown> = route.stallAt(moment.message);
    return { child: start(direct.href, bench.chain.rpcUrl), reached, close: () => route.close() };
  }

  for (const moment of MOMENTS) {
    it(`${moment.name} leaves exactly one ruling on chain [D8]`, async () => {
      const { client } = bench.chain;
      const from = (
        await bench
          .sender()
          .model.findOne({ from: { $exists: true } })
          .lean()
      )?.from;
      const usedBefore = from === undefined ? 0 : await client.getTransactionCount({ address: from });
      const ruling = await bench.ruled();
      const { child, reached, close } = await stalled(moment);
      const mining = new AbortController();
      const mined = (async () => {
        // The last moment needs confirmations.
        while (!mining.signal.aborted) {
          await bench.chain.mine();
          await sleep(MINING_MS);
        }
      })();
      await reached;
      child.kill("SIGKILL");
      await once(child, "exit");
      mining.abort();
      await mined;
      await close();

      const final = await bench.finish(ruling, bench.sender({ processId: "survivor" }));
      const resolutions = await bench.chain.resolutionsOf(ruling.escrowId);
      assert.deepEqual(
        resolutions.map(({ txHash, rationaleHash }) => [txHash, rationaleHash]),
        [[final.txHash, ruling.rationaleHash]],
      );
      // What was signed before the kill was sent as it is, and nothing else was.
      assert.lengthOf(final.attempts, 1);
      const used = await client.getTransactionCount({ address: final.attempts[0]?.from ?? "0x" });
      if (from !== undefined) assert.strictEqual(used - usedBefore, 1, "one transaction");
    });
  }
});

const replaceBigInt = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
