import { assert } from "chai";
import { privateKeyToAccount, generatePrivateKey } from "viem/accounts";

import { createChainClient } from "../../api/chain/chain-client.ts";
import type { ChainClient } from "../../api/chain/chain-client.ts";
import { readDeployment } from "../../api/chain/deployment.ts";
import type { Network } from "../../api/config/constants.ts";
import { MAINNET_GRADUATION_SCORE } from "../../api/config/constants.ts";
import { createIndexer } from "../../api/indexer/indexer-client.ts";
import type { IndexedAgent } from "../../api/indexer/schemas.ts";
import { assertError, assertInvalid, readStack, startTestApi } from "../fixtures/api.ts";
import type { TestApi } from "../fixtures/api.ts";
import { indexedAgent, indexersWith } from "../fixtures/indexed-agents.ts";
import { until } from "../fixtures/until.ts";

const SCORE = "/api/v1/agents/score";
/** Nothing listens there. */
const NOWHERE = "http://127.0.0.1:1";

const freshWallet = () => privateKeyToAccount(generatePrivateKey()).address;

/** The stack's chains, with the scores of a test in place of the score contract's. */
async function chainsWithScores(scores: Record<Network, bigint>): Promise<Record<Network, ChainClient>> {
  const stack = await readStack();
  const of = async (network: Network): Promise<ChainClient> => ({
    ...createChainClient({
      network,
      rpcUrl: stack.networks[network].rpcUrl,
      deployment: await readDeployment(stack.deployments[network], network),
    }),
    scoreOf: () => Promise.resolve(scores[network]),
  });
  return { "base-sepolia": await of("base-sepolia"), base: await of("base") };
}

describe("networks, readiness and scores", () => {
  let api: TestApi;
  /** An API whose chains say these scores of every wallet. */
  let scored: TestApi;
  const scores: Record<Network, bigint> = { "base-sepolia": 0n, base: 0n };
  before(async () => {
    api = await startTestApi();
    scored = await startTestApi({ chains: await chainsWithScores(scores) });
  });
  after(() => Promise.all([api.close(), scored.close()]));

  describe("happy", () => {
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
      const symbols = body.data.map(({ tokens }: { tokens: { symbol: string }[] }) =>
        tokens.map(({ symbol }) => symbol),
      );
      assert.deepEqual(symbols, [["USDC"], ["USDC", "WETH"]]);
      const usdc = body.data.map(({ tokens }: { tokens: { decimals: number }[] }) => tokens[0]?.decimals);
      assert.deepEqual(usdc, [6, 6]);
    });

    it("of a subgraph behind a gateway only the public address is told, or null", async () => {
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

    it("/health says that the process lives and /ready that each dependency answers", async () => {
      assert.deepEqual((await api.request("GET", "/health")).body.status, "ok");
      // A check that takes its time is an answer of 503, too: what is meant here is the healthy one.
      const { body } = await until("everything answers", async () => {
        const answer = await api.request("GET", "/ready");
        return answer.status === 200 && answer;
      });
      const names = body.dependencies.map(({ name }: { name: string }) => name);
      const chains = ["rpc:base-sepolia", "subgraph:base-sepolia", "rpc:base", "subgraph:base"];
      for (const name of ["mongodb", ...chains]) assert.ok(names.includes(name), name);
      for (const { name, facts } of body.dependencies) {
        if (name.startsWith("subgraph:")) assert.strictEqual(typeof facts.blocksBehind, "number");
      }
    });

    it("[S4.r13] [S4.r13.1] [D22] [S2.5.15] a wallet that settled nothing has score 0, read from the chain without a key", async () => {
      const address = freshWallet();
      const answer = await api.request("GET", `${SCORE}?address=${address.toLowerCase()}`);
      assert.deepEqual(answer.body, {
        address,
        ...{ network: "base-sepolia", onChainScore: 0, discoveryScore: 0, graduated: false },
        ...{ graduationScore: 10, maxJobValueUsd: 10 },
      });
    });

    it("[S4.r13.2] [S3.4.03] the score is the testnet's, and 10 of it graduate", async () => {
      assert.strictEqual(MAINNET_GRADUATION_SCORE, 10);
      for (const [score, graduated] of [
        [9n, false],
        [10n, true],
      ] as const) {
        Object.assign(scores, { "base-sepolia": score, base: 150n });
        const { body } = await scored.request("GET", `${SCORE}?address=${freshWallet()}`);
        assert.deepEqual([body.network, body.onChainScore, body.graduated], ["base-sepolia", Number(score), graduated]);
      }
    });

    it("[D11] [D22] the largest job by score: $10, $25, $100, $2,500, unlimited", async () => {
      const caps: [bigint, number | null][] = [
        [-3n, 10],
        [9n, 10],
        [10n, 25],
        [29n, 25],
        [30n, 100],
        [69n, 100],
        [70n, 2_500],
        [99n, 2_500],
        [100n, null],
        [5_000n, null],
      ];
      for (const [score, cap] of caps) {
        scores["base-sepolia"] = score;
        const { body } = await scored.request("GET", `${SCORE}?address=${freshWallet()}`);
        assert.strictEqual(body.maxJobValueUsd, cap, `score ${score}`);
      }
    });

    it("[S4.r15] [S2.5.05] [S2.5.06] [S2.5.07] [S2.5.08] [S2.5.09] the discovery score of any agent is min(1, score / 100)", async () => {
      const known = { "base-sepolia": new Map<string, IndexedAgent>(), base: new Map<string, IndexedAgent>() };
      const other = await startTestApi({ indexers: indexersWith(known) });
      const reader = await other.registerAgent();
      for (const [score, discoveryScore] of [
        [37n, 0.37],
        [100n, 1],
        [163n, 1],
        [0n, 0],
        [-7n, 0],
      ] as const) {
        const agent = await other.registerAgent();
        known["base-sepolia"].set(agent.walletAddress.toLowerCase(), indexedAgent(agent.walletAddress, { score }));
        known.base.set(agent.walletAddress.toLowerCase(), indexedAgent(agent.walletAddress, { score: 55n }));
        const path = `/api/v1/agents/${agent.agentId}/discovery-score`;
        const { lastSynced, ...rest } = (await other.request("GET", path, { key: reader.apiKey })).body;
        assert.deepEqual(rest, { agentId: agent.agentId, discoveryScore, onChainScore: Number(score) });
        assert.strictEqual(new Date(lastSynced).toISOString(), lastSynced);
      }
      await other.close();
    });
  });

  describe("error", () => {
    it("agents/score needs one address and nothing else", async () => {
      for (const query of [
        "",
        "?address=",
        "?address=0x12",
        "?address=vitalik.eth",
        `?address=${freshWallet()}&address=x`,
      ]) {
        assertInvalid(await api.request("GET", SCORE + query), "query.address");
      }
      assertInvalid(await api.request("GET", `${SCORE}?address=${freshWallet()}&network=base`), "query.network");
    });

    it("the discovery score of an unknown agent is a 404, and a 401 without a key", async () => {
      const { apiKey } = await api.registerAgent();
      const path = "/api/v1/agents/agt_unknown/discovery-score";
      assertError(await api.request("GET", path, { key: apiKey }), 404, "not_found");
      assertError(await api.request("GET", path), 401, "invalid_api_key");
    });

    it("with the RPC servers away the score is a 503 with Retry-After, and readiness says which are away", async () => {
      const stack = await readStack();
      const of = async (network: Network) =>
        createChainClient({
          network,
          rpcUrl: NOWHERE,
          deployment: await readDeployment(stack.deployments[network], network),
        });
      const chains = { "base-sepolia": await of("base-sepolia"), base: await of("base") };
      const other = await startTestApi({ chains });
      const score = await other.request("GET", `${SCORE}?address=${freshWallet()}`);
      assertError(score, 503, "chain_unavailable");
      assert.ok(Number(score.headers.get("retry-after")) > 0);
      const ready = await other.request("GET", "/ready");
      assert.strictEqual(ready.status, 503);
      const away = ready.body.dependencies.filter(({ ok }: { ok: boolean }) => !ok);
      assert.ok(away.some(({ name }: { name: string }) => name === "rpc:base"));
      assert.strictEqual((await other.request("GET", "/health")).status, 200);
      const networks = await other.request("GET", "/api/v1/networks");
      assert.deepEqual(
        [networks.status, networks.body.data[0].headBlock, networks.body.data[0].blocksBehind],
        [200, null, null],
      );
      await other.close();
    });

    it("with the subgraphs away readiness is 503 and everything that needs none goes on", async () => {
      const indexers = {
        "base-sepolia": createIndexer({ network: "base-sepolia", url: NOWHERE }),
        base: createIndexer({ network: "base", url: NOWHERE }),
      };
      const other = await startTestApi({ indexers });
      const ready = await other.request("GET", "/ready");
      assert.strictEqual(ready.status, 503);
      const away = ready.body.dependencies.filter(({ ok }: { ok: boolean }) => !ok);
      const names = away.map(({ name }: { name: string }) => name);
      for (const name of ["subgraph:base-sepolia", "subgraph:base"]) assert.ok(names.includes(name), names.join());
      const { apiKey, agentId } = await other.registerAgent();
      assert.strictEqual((await other.request("GET", "/api/v1/services", { key: apiKey })).status, 200);
      assert.strictEqual((await other.request("GET", `${SCORE}?address=${freshWallet()}`)).status, 200);
      const score = await other.request("GET", `/api/v1/agents/${agentId}/discovery-score`, { key: apiKey });
      assertError(score, 503, "indexer_unavailable");
      await other.close();
    });
  });
});
