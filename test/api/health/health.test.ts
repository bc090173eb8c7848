import { assert } from "chai";
import { privateKeyToAccount, generatePrivateKey } from "viem/accounts";

import { createChainClient } from "../../../api/chain/chain-client.ts";
import { readDeployment } from "../../../api/chain/deployment.ts";
import type { Network } from "../../../api/config/constants.ts";
import { createIndexer } from "../../../api/indexer/indexer-client.ts";
import { assertError, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { until } from "../../fixtures/until.ts";

const SCORE = "/api/v1/agents/score";
/** Nothing listens there. */
const NOWHERE = "http://127.0.0.1:1";

const freshWallet = () => privateKeyToAccount(generatePrivateKey()).address;

describe("health and readiness", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());

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
