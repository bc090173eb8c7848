import { assert } from "chai";

import { readDeployment } from "../../../api/chain/deployment.ts";
import type { Network } from "../../../api/config/constants.ts";
import { readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { startPaidApi } from "../../fixtures/payments.ts";
import { until } from "../../fixtures/until.ts";

describe("the networks", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());

  it("[D40] [S1.08] [S1.09] [S1.10] the networks are base-sepolia (84532) and base (8453), with their addresses", async () => {
    const stack = await readStack();
    // Other tests mine many blocks at once, so the subgraph may be behind for a moment.
    const { body } = await until("the subgraph is at most five blocks behind", async () => {
      const answer = await api.request("GET", "/api/v1/networks");
      const behind = answer.body.data.map((entry: { blocksBehind: number | null }) => entry.blocksBehind);
      return behind.every((blocks: number | null) => blocks !== null && blocks <= 5) && answer;
    });
    const facts = body.data.map(({ network, chainId, caip2 }: Record<string, unknown>) => [network, chainId, caip2]);
    assert.deepEqual(facts, [
      ["base-sepolia", 84_532, "eip155:84532"],
      ["base", 8_453, "eip155:8453"],
    ]);
    for (const entry of body.data) {
      const network = entry.network as Network;
      const { escrow, score, resolver } = await readDeployment(stack.deployments[network], network);
      assert.deepEqual(entry.contracts, { escrow, score, resolver });
      assert.strictEqual(entry.subgraphUrl, stack.networks[network].subgraphUrl);
      assert.ok(entry.indexedBlock > 0, JSON.stringify(entry));
      assert.strictEqual(entry.blocksBehind, Math.max(0, entry.headBlock - entry.indexedBlock));
    }
    const symbols = body.data.map(({ tokens }: { tokens: { symbol: string }[] }) => tokens.map(({ symbol }) => symbol));
    assert.deepEqual(symbols, [["USDC"], ["USDC", "WETH"]]);
    const explorers = body.data.map(({ explorerUrl }: { explorerUrl: string }) => explorerUrl);
    assert.deepEqual(explorers, ["https://sepolia.basescan.org", "https://basescan.org"]);
    const usdc = body.data.map(({ tokens }: { tokens: { decimals: number }[] }) => tokens[0]?.decimals);
    assert.deepEqual(usdc, [6, 6]);
  });

  it("[D23] are a list of one page", async () => {
    const { body } = await api.request("GET", "/api/v1/networks");
    assert.deepEqual(
      [Object.keys(body), body.data.length, body.nextCursor],
      [["success", "data", "nextCursor"], 2, null],
    );
  });

  it("say who is paid for calls, in which token, and where no call is paid for", async () => {
    const paid = await startPaidApi();
    try {
      const { body } = await paid.api.request("GET", "/api/v1/networks");
      const told = body.data.map(({ payments }: { payments: unknown }) => payments);
      assert.deepEqual(told, [{ payTo: paid.payTo, token: paid.usdc }, null]);
    } finally {
      await paid.close();
    }
  });

  it("a subgraph behind a gateway shows only its public address, or null", async () => {
    const { subgraphUrl } = (await readStack()).networks["base-sepolia"];
    const GATEWAY_KEY = "0123456789abcdef0123456789abcdef";
    const subgraphUrls = {
      "base-sepolia": `${subgraphUrl}?key=${GATEWAY_KEY}`,
      base: `http://gateway.example/api/${GATEWAY_KEY}/subgraphs/id/x`,
    };
    const publicSubgraphUrls = { "base-sepolia": "https://query.example/subgraphs/x", base: null };
    const behind = await startTestApi({ env: { subgraphUrls, publicSubgraphUrls } });
    try {
      const { body, text } = await until("the service itself asks the gateway", async () => {
        const answer = await behind.request("GET", "/api/v1/networks");
        return answer.body.data[0].indexedBlock > 0 && answer;
      });
      const told = body.data.map((entry: { subgraphUrl: unknown }) => entry.subgraphUrl);
      assert.deepEqual(told, ["https://query.example/subgraphs/x", null]);
      assert.ok(!text.includes(GATEWAY_KEY));
      assert.ok(!(await behind.request("GET", "/ready")).text.includes(GATEWAY_KEY));
    } finally {
      await behind.close();
    }
  });
});
