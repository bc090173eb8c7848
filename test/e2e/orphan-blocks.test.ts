// The blocks that a local chain has forgotten are still there for graph-node, as a real node would have them.
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";

import { chainService, rpc } from "../../scripts/local/chain.ts";
import { orphanBlocksFile, serveOrphanBlocks } from "../../scripts/local/orphan-blocks.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { Supervisor } from "../../scripts/local/supervisor.ts";
import { until } from "../fixtures/until.ts";

interface Block {
  number: string;
  hash: string;
  parentHash: string;
  transactions: unknown[];
}

describe("blocks that a local chain has forgotten", () => {
  const network = "base-sepolia";
  const dir = mkdtempSync(join(tmpdir(), "marketplace-orphans-"));
  const file = orphanBlocksFile(network, dir);
  let supervisor: Supervisor;
  let chain: number;
  let remembering: number;
  let stop: () => Promise<void>;

  const post = (body: unknown) =>
    fetch(`http://127.0.0.1:${String(remembering)}`, { method: "POST", body: JSON.stringify(body) });
  const latest = async () => (await rpc(remembering, "eth_getBlockByNumber", ["latest", false])) as Block;
  const byHash = async (port: number, hash: string, isWhole = false) =>
    (await rpc(port, "eth_getBlockByHash", [hash, isWhole])) as Block | null;
  const mine = (blocks: number) => rpc(chain, "anvil_mine", [`0x${blocks.toString(16)}`]);
  /** Removes the last blocks, and more than these if the chain has mined one meanwhile. */
  const rollBackBelow = async ({ number, hash }: Block) => {
    while ((await byHash(chain, hash)) !== null) {
      const head = Number(await rpc(chain, "eth_blockNumber", []));
      await rpc(chain, "anvil_rollback", [head - Number(number) + 1]);
    }
  };
  const transfer = async () => {
    const [from, to] = (await rpc(chain, "eth_accounts", [])) as string[];
    const hash = await rpc(chain, "eth_sendTransaction", [{ from, to, value: "0x1" }]);
    await until("it is mined", async () => (await rpc(chain, "eth_getTransactionReceipt", [hash])) !== null);
  };

  before(async () => {
    chain = await findFreePorts(2);
    remembering = chain + 1;
    supervisor = await Supervisor.open(dir, () => undefined);
    await supervisor.start(chainService(network, dir, chain));
    stop = await serveOrphanBlocks(remembering, chain, file);
  });
  after(async () => {
    await stop();
    await supervisor.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it("serves them by hash with their ancestors, whole or with hashes", async () => {
    await transfer();
    await mine(5);
    const head = await latest();
    const parent = await byHash(chain, head.parentHash);
    assert.ok(parent !== null);
    await rollBackBelow(parent);
    assert.strictEqual(await byHash(chain, head.hash), null, "the chain has forgotten it");
    assert.deepEqual(await byHash(remembering, head.hash), head);
    assert.deepEqual(await byHash(remembering, head.parentHash), parent);
  });

  it("serves an orphan's transactions as they were asked for", async () => {
    await transfer();
    const known = await latest();
    let whole = await byHash(chain, known.hash, true);
    while (whole !== null && whole.transactions.length === 0) whole = await byHash(chain, whole.parentHash, true);
    assert.ok(whole !== null);
    const hashes = await byHash(chain, whole.hash);
    await rollBackBelow(whole);
    assert.deepEqual(await byHash(remembering, whole.hash, true), whole);
    assert.deepEqual(await byHash(remembering, whole.hash), hashes);
    assert.notDeepEqual(hashes?.transactions, whole.transactions);
  });

  it("remembers a block that a batch names, over evm_revert", async () => {
    const snapshot = await rpc(chain, "evm_snapshot", []);
    await mine(1);
    const head = (await rpc(chain, "eth_getBlockByNumber", ["latest", false])) as Block;
    const calls = [
      { jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] },
      { jsonrpc: "2.0", id: 2, method: "eth_getBlockByNumber", params: [head.number, false] },
    ];
    const answers = (await (await post(calls)).json()) as { id: number; result: unknown }[];
    assert.deepEqual(
      answers.map(({ id, result }) => [id, typeof result === "string" ? result : (result as Block).hash]),
      [
        [1, "0x14a34"],
        [2, head.hash],
      ],
    );
    await rpc(chain, "evm_revert", [snapshot]);
    assert.strictEqual(await byHash(chain, head.hash), null);
    assert.deepEqual(await byHash(remembering, head.hash), head);
  });

  it("remembers 256 blocks at once, however many were mined", async () => {
    await mine(300);
    const head = await latest();
    const first = (await rpc(chain, "eth_getBlockByNumber", ["0x1", false])) as Block;
    await rollBackBelow(first);
    let found = 0;
    for (let block: Block | null = head; block !== null; block = await byHash(remembering, block.parentHash))
      found += 1;
    assert.strictEqual(found, 256);
  });

  it("keeps them over a restart, whose last line may be cut short", async () => {
    await mine(2);
    const head = await latest();
    await stop();
    appendFileSync(file, readFileSync(file, "utf8").slice(0, 200));
    await rollBackBelow(head);
    stop = await serveOrphanBlocks(remembering, chain, file);
    assert.deepEqual(await byHash(remembering, head.hash), head);
  });

  it("knows no block that was never there, and passes the chain's errors on", async () => {
    assert.strictEqual(await byHash(remembering, `0x${"1".repeat(64)}`), null);
    const response = await post({ jsonrpc: "2.0", id: 7, method: "eth_nothing", params: [] });
    const { error } = (await response.json()) as { error: { code: number } };
    assert.strictEqual(error.code, -32_601);
  });

  it("answers 502 while the chain is down", async () => {
    await supervisor.stop();
    const response = await post({ jsonrpc: "2.0", id: 8, method: "eth_blockNumber", params: [] });
    assert.strictEqual(response.status, 502);
  });
});
