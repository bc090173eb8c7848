import { assert } from "chai";
import { privateKeyToAccount, generatePrivateKey } from "viem/accounts";

import { createChainClient } from "../../../api/chain/chain-client.ts";
import type { ChainClient } from "../../../api/chain/chain-client.ts";
import { readDeployment } from "../../../api/chain/deployment.ts";
import type { Network } from "../../../api/config/constants.ts";
import { MAINNET_GRADUATION_SCORE } from "../../../api/config/constants.ts";
import type { IndexedAgent } from "../../../api/indexer/schemas.ts";
import { assertError, assertInvalid, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { indexedAgent, indexersWith } from "../../fixtures/indexed-agents.ts";

const SCORE = "/api/v1/agents/score";

const freshWallet = () => privateKeyToAccount(generatePrivateKey()).address;

/** The stack's chains, with a test's scores instead of the score contract's. */
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

describe("scores", () => {
  let api: TestApi;
  /** An API whose chains report these scores for every wallet. */
  let scored: TestApi;
  const scores: Record<Network, bigint> = { "base-sepolia": 0n, base: 0n };
  before(async () => {
    api = await startTestApi();
    scored = await startTestApi({ chains: await chainsWithScores(scores) });
  });
  after(() => Promise.all([api.close(), scored.close()]));

  describe("happy", () => {
    it("[S4.r13] [S4.r13.1] [D22] [S2.5.15] a wallet that settled nothing has score 0, read from the chain without a key", async () => {
      const address = freshWallet();
      const answer = await api.request("GET", `${SCORE}?address=${address.toLowerCase()}`);
      assert.deepEqual(answer.body, {
        address,
        network: "base-sepolia",
        onChainScore: 0,
        discoveryScore: 0,
        graduated: false,
        graduationScore: 10,
        maxJobValueUsd: 10,
      });
    });

    it("[S4.r13.2] [S3.4.03] the score is the testnet's, and an agent graduates at 10", async () => {
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

    it("[D11] [D22] the maximum job value by score: $10, $25, $100, $2,500, unlimited", async () => {
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

    describe("a discovery score", () => {
      const SCORES = [37n, 100n, 163n, 0n, -7n];
      /** The API's answers about agents with each of the scores. */
      const answers: { agentId: string; body: any }[] = [];
      before(async () => {
        const known = { "base-sepolia": new Map<string, IndexedAgent>(), base: new Map<string, IndexedAgent>() };
        const other = await startTestApi({ indexers: indexersWith(known) });
        const reader = await other.registerAgent();
        for (const score of SCORES) {
          const { agentId, walletAddress } = await other.registerAgent();
          known["base-sepolia"].set(walletAddress.toLowerCase(), indexedAgent(walletAddress, { score }));
          known.base.set(walletAddress.toLowerCase(), indexedAgent(walletAddress, { score: 55n }));
          const path = `/api/v1/agents/${agentId}/discovery-score`;
          answers.push({ agentId, body: (await other.request("GET", path, { key: reader.apiKey })).body });
        }
        await other.close();
      });

      it("[S4.r15] [S2.5.05] [S2.5.08] can be read for any agent, with the time of its last sync", () => {
        for (const { agentId, body } of answers) {
          assert.deepEqual(Object.keys(body).sort(), ["agentId", "discoveryScore", "lastSynced", "onChainScore"]);
          assert.strictEqual(body.agentId, agentId);
          assert.strictEqual(new Date(body.lastSynced).toISOString(), body.lastSynced);
        }
      });

      it("[S2.5.07] comes with the on-chain score of the testnet's score contract", () => {
        assert.deepEqual(
          answers.map(({ body }) => body.onChainScore),
          SCORES.map(Number),
        );
      });

      it("[S2.5.06] [S2.5.09] is min(1, score / 100), and 0 for a negative score", () => {
        assert.deepEqual(
          answers.map(({ body }) => body.discoveryScore),
          [0.37, 1, 1, 0, 0],
        );
      });
    });
  });

  describe("error", () => {
    it("agents/score requires one address and nothing else", async () => {
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
  });
});
