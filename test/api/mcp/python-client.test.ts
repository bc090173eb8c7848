// The official Python client of MCP drives a scripted buyer and seller.
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { assert } from "chai";

import { installPythonTools } from "../../../scripts/testing/python-tools.ts";
import { toolsFor } from "../../../tools/src/index.ts";
import { readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { openMarket } from "../../fixtures/deals.ts";
import { outputOf } from "../../fixtures/output-of.ts";
import { openChain } from "../../fixtures/stack.ts";

const ROOM = fileURLToPath(new URL("./python-client", import.meta.url));
const VENV = resolve(".local", "mcp-python", "venv");
const LIMIT_MS = 240_000;

describe("the Python client of MCP (needs Python 3.10, venv and pip)", function () {
  this.timeout(LIMIT_MS * 2);
  let api: TestApi;

  before(async function () {
    try {
      await installPythonTools(VENV, join(ROOM, "requirements.txt"), () => {
        console.log(`Installing mcp and eth-account into ${VENV} …`);
      });
    } catch (error) {
      console.log(`skipped: the Python packages can't be installed: ${(error as Error).message}`);
      this.skip();
    }
    // The seller's list follows the chain.
    api = await startTestApi({ runsLoops: true });
  });
  after(async () => {
    // Nothing was started where the packages can't be installed.
    await (api as TestApi | undefined)?.close();
  });

  for (const [mode, revision] of [
    ["2026-07-28", "2026-07-28"],
    ["legacy", "2025-11-25"],
  ] as const) {
    it(`hires, delivers, accepts, disputes and declines by the revision of ${revision}`, async () => {
      const chain = await openChain("base-sepolia");
      const { buyer, seller, serviceId } = await openMarket(api, chain);
      const { rpcUrl } = (await readStack()).networks["base-sepolia"];
      const party = ({ apiKey, privateKey }: TestAgent) => ({ apiKey, privateKey });
      const facts = { url: api.url, rpcUrl, mode, serviceId, buyer: party(buyer), seller: party(seller) };
      const python = join(VENV, "bin", "python");
      const printed = await outputOf(python, [join(ROOM, "trade.py")], JSON.stringify(facts), { timeoutMs: LIMIT_MS });
      const { tools, refused, states } = JSON.parse(printed) as Record<string, unknown>;
      assert.deepEqual(
        tools,
        toolsFor("mcp").map(({ name }) => name),
      );
      assert.strictEqual(refused, "not_found");
      assert.deepEqual(states, ["released", "disputed", "refunded"]);
      // 2.50 paid without the fee for one deal, nothing for the others.
      assert.strictEqual(await chain.usdcOf(seller.walletAddress), 2_450_000n);
    });
  }
});
