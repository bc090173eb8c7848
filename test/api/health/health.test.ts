import { readFile } from "node:fs/promises";

import { assert } from "chai";
import { privateKeyToAccount, generatePrivateKey } from "viem/accounts";

import { createChainClient } from "../../../api/chain/chain-client.ts";
import { readDeployment } from "../../../api/chain/deployment.ts";
import { ChainUnavailableError } from "../../../api/chain/errors.ts";
import { NETWORKS } from "../../../api/config/constants.ts";
import type { Network } from "../../../api/config/constants.ts";
import { createReadiness } from "../../../api/features/health/readiness.ts";
import { createIndexer } from "../../../api/indexer/indexer-client.ts";
import { assertError, assertInvalid, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { indexersWith } from "../../fixtures/indexed-agents.ts";
import { until } from "../../fixtures/until.ts";
import packageFile from "../../../package.json" with { type: "json" };
import clientPackage from "../../../sdk/package.json" with { type: "json" };

const SCORE = "/api/v1/agents/score";
/** An address where nothing listens. */
const NOWHERE = "http://127.0.0.1:1";

const freshWallet = () => privateKeyToAccount(generatePrivateKey()).address;

describe("health and readiness", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ search: true });
  });
  after(() => api.close());

  it("/health reports that the process is alive, and /ready the state of database, search and each network", async () => {
    const alive = (await api.request("GET", "/health")).body;
    assert.deepInclude(alive, { status: "ok", version: packageFile.version });
    // A slow check also answers 503; this test is about the healthy state.
    const { body } = await until("everything answers", async () => {
      const answer = await api.request("GET", "/ready");
      return answer.status === 200 && answer.body.networks["base-sepolia"].ok && answer.body.networks.base.ok && answer;
    });
    assert.deepEqual([body.status, body.database.ok, body.search.ok], ["ready", true, true]);
    for (const network of NETWORKS) {
      const { rpc, subgraph } = body.networks[network];
      assert.strictEqual(subgraph.blocksBehind, Math.max(0, rpc.headBlock - subgraph.indexedBlock));
    }
  });

  it("has one version: of the package, the client, the API description and the newest release of the change log", async () => {
    const { body } = await api.request("GET", "/openapi.json");
    const changeLog = await readFile("CHANGELOG.md", "utf8");
    assert.deepEqual(
      [clientPackage.version, body.info.version, /^## (\d\S*)/m.exec(changeLog)?.[1]],
      [packageFile.version, packageFile.version, packageFile.version],
    );
  });

  describe("with fake chains", () => {
    let faked: TestApi;
    let heads = 0;
    const down = new Set<Network>();
    /** A chain at block 100 with a block every two seconds, unless it is down. */
    const chainOf = async (network: Network) => {
      const stack = await readStack();
      const deployment = await readDeployment(stack.deployments[network], network);
      const blockAt = (number: number) => ({ number, hash: "0x" as const, timestamp: 5_000 + number * 2 });
      return {
        ...createChainClient({ network, rpcUrl: NOWHERE, deployment }),
        head() {
          heads += 1;
          if (down.has(network)) return Promise.reject(new ChainUnavailableError(network, undefined));
          return Promise.resolve(blockAt(100));
        },
        block: (number: number) => Promise.resolve(blockAt(number)),
      };
    };

    beforeEach(async () => {
      down.clear();
      const chains = { "base-sepolia": await chainOf("base-sepolia"), base: await chainOf("base") };
      const known = { "base-sepolia": new Map(), base: new Map() };
      faked = await startTestApi({ chains, indexers: indexersWith(known) });
      heads = 0;
    });
    afterEach(() => faked.close());

    it("an outage of one network leaves the process ready, except for a load balancer of that network", async () => {
      down.add("base-sepolia");
      const { status, body } = await faked.request("GET", "/ready");
      const { "base-sepolia": testnet, base } = body.networks;
      assert.deepEqual([status, testnet.ok, base.ok], [200, false, true]);
      assert.deepEqual([testnet.rpc.error, testnet.subgraph.ok], ["ChainUnavailableError", true]);
      assert.strictEqual((await faked.request("GET", "/ready?network=base")).status, 200);
      const routed = await faked.request("GET", "/ready?network=base-sepolia");
      assert.deepEqual([routed.status, routed.body.status], [503, "not_ready"]);
      assertInvalid(await faked.request("GET", "/ready?network=mainnet"), "query.network");
    });

    it("with all networks down the process isn't ready", async () => {
      for (const network of NETWORKS) down.add(network);
      const { status, body } = await faked.request("GET", "/ready");
      assert.deepEqual([status, body.status, body.database.ok], [503, "not_ready", true]);
    });

    it("reports how far the follower is behind the chain, and how many escrows are in quarantine", async () => {
      const { cursors } = faked.container.features.chainFollower.models;
      const cursor = { _id: "base", headNumber: 90, version: 1, updatedAt: new Date() };
      await cursors.collection.insertOne(cursor as never);
      const { quarantine } = faked.container.features.chainFollower.models;
      await quarantine.collection.insertMany([1, 2].map((n) => ({ _id: `base:${n}`, network: "base" })) as never[]);
      const { networks } = (await faked.request("GET", "/ready")).body;
      assert.deepEqual(networks.base.follower, { block: 90, lagBlocks: 10, lagSeconds: 20, quarantined: 2 });
      const unknown = { block: null, lagBlocks: null, lagSeconds: null, quarantined: 0 };
      assert.deepEqual(networks["base-sepolia"].follower, unknown);
    });

    it("reports how many dispatches are due, up to ten thousand, and the age of the oldest", async () => {
      const { dispatches } = faked.container.features.outbox.models;
      const dueAt = (secondsAgo: number) => new Date(Date.now() - secondsAgo * 1_000);
      const due = Array.from({ length: 10_100 }, (_, n) => ({
        _id: `dlv_${n}`,
        status: "pending",
        dueAt: dueAt(n === 7 ? 3_600 : 60),
      }));
      const others = [
        { _id: "dlv_later", status: "pending", dueAt: dueAt(-3_600) },
        { _id: "dlv_failed", status: "failed", dueAt: dueAt(7_200) },
        { _id: "dlv_backup", status: "pending", dueAt: null },
      ];
      await dispatches.collection.insertMany([...due, ...others] as never[]);
      const { waiting, oldestSeconds } = (await faked.request("GET", "/ready")).body.outbox;
      assert.strictEqual(waiting, 10_000);
      assert.isTrue(oldestSeconds >= 3_600 && oldestSeconds < 7_200, String(oldestSeconds));
    });

    it("checks at most once a second for any number of callers", async () => {
      const { connection, chains, indexers, log } = faked.container;
      let elapsed = 0;
      const read = createReadiness({
        connection,
        chains,
        indexers,
        log,
        elapsedMs: () => elapsed,
        now: () => new Date(),
        search: { listings: () => Promise.resolve(0), lagMs: () => Promise.resolve(0) },
        encoders: { state: () => Promise.reject(new Error("not asked for")) },
        reached: () => Promise.resolve(new Map()),
        quarantined: () => Promise.resolve(0),
        disputeDelays: () => Promise.resolve({ overdue: 0, oldestSeconds: null, held: {} }),
        keeper: () => Promise.reject(new Error("not asked for")),
        outbox: () => Promise.resolve({ waiting: 0, oldestDueAt: null }),
      });
      await Promise.all(Array.from({ length: 50 }, () => read()));
      elapsed = 999;
      await read();
      assert.strictEqual(heads, NETWORKS.length);
      elapsed = 1_000;
      await read();
      assert.strictEqual(heads, 2 * NETWORKS.length);
    });
  });

  it("with the RPC servers down the score is a 503 with Retry-After, and readiness names them", async () => {
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
    assert.deepEqual([ready.body.networks.base.rpc.ok, ready.body.networks.base.subgraph.ok], [false, true]);
    assert.strictEqual((await other.request("GET", "/health")).status, 200);
    const networks = await other.request("GET", "/api/v1/networks");
    assert.deepEqual(
      [networks.status, networks.body.data[0].headBlock, networks.body.data[0].blocksBehind],
      [200, null, null],
    );
    await other.close();
  });

  it("with the subgraphs down readiness is 503, and everything that doesn't need one works", async () => {
    const indexers = {
      "base-sepolia": createIndexer({ network: "base-sepolia", url: NOWHERE }),
      base: createIndexer({ network: "base", url: NOWHERE }),
    };
    const other = await startTestApi({ indexers });
    const ready = await other.request("GET", "/ready");
    assert.strictEqual(ready.status, 503);
    for (const network of NETWORKS) assert.isFalse(ready.body.networks[network].subgraph.ok);
    const { apiKey, agentId } = await other.registerAgent();
    assert.strictEqual((await other.request("GET", "/api/v1/services", { key: apiKey })).status, 200);
    assert.strictEqual((await other.request("GET", `${SCORE}?address=${freshWallet()}`)).status, 200);
    const score = await other.request("GET", `/api/v1/agents/${agentId}/discovery-score`, { key: apiKey });
    assertError(score, 503, "indexer_unavailable");
    await other.close();
  });
});
