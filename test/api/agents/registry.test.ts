import { assert } from "chai";

import type { Network } from "../../../api/config/constants.ts";
import type { IndexedAgent } from "../../../api/indexer/schemas.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { indexedAgent, indexersWith } from "../../fixtures/indexed-agents.ts";

const AGENTS = "/api/v1/agents";

describe("the agent registry", () => {
  let api: TestApi;
  const known: Record<Network, Map<string, IndexedAgent>> = { "base-sepolia": new Map(), base: new Map() };
  const agents: Record<"alpha" | "beta" | "gamma" | "delta", TestAgent> = {} as never;

  /** Gives a wallet scores in the subgraphs and has them synced, as a settlement does. */
  async function settle(wallet: string, scores: Partial<Record<Network, bigint>>): Promise<void> {
    for (const [network, score] of Object.entries(scores) as [Network, bigint][]) {
      known[network].set(wallet.toLowerCase(), indexedAgent(wallet, { score }));
      await api.container.features.agents.standings.sync(network, [wallet]);
    }
  }

  before(async () => {
    api = await startTestApi({ indexers: indexersWith(known) });
    agents.alpha = await api.registerAgent({ agentName: "Alpha Works" });
    agents.beta = await api.registerAgent({ agentName: "alphabet" });
    agents.gamma = await api.registerAgent({ agentName: "ÀLPHA" });
    agents.delta = await api.registerAgent({ agentName: "Delta (.*)" });
    await settle(agents.alpha.walletAddress, { "base-sepolia": 37n, base: 4n });
    await settle(agents.beta.walletAddress, { "base-sepolia": -3n });
    await settle(agents.gamma.walletAddress, { "base-sepolia": 150n });
    const models = api.container.features.agents.models.agents;
    await models.updateOne({ _id: agents.beta.agentId }, { kyaLevel: 2 });
    await models.updateOne({ _id: agents.delta.agentId }, { kyaLevel: 2 });
  });
  after(() => api.close());

  const get = (path: string, key = agents.alpha.apiKey) => api.request("GET", path, { key });
  const list = (query: string) => get(`${AGENTS}?${query}`);
  async function namesOf(query: string): Promise<string[]> {
    const { status, body, text } = await list(query);
    assert.strictEqual(status, 200, text);
    return (body.data as { agentName: string }[]).map(({ agentName }) => agentName);
  }

  describe("happy", () => {
    it("[S4.r17] lists every agent with a key, newest first", async () => {
      assert.deepEqual(await namesOf(""), ["Delta (.*)", "ÀLPHA", "alphabet", "Alpha Works"]);
    });

    it("[D20] gives an agent's public record with its scores on both networks", async () => {
      const { agentId, walletAddress, publicKey } = agents.alpha;
      const { body } = await get(`${AGENTS}/${agentId}`, agents.beta.apiKey);
      const { createdAt, ...data } = body.data;
      assert.deepEqual(data, {
        id: agentId,
        agentId,
        agentName: "Alpha Works",
        description: null,
        walletAddress,
        publicKey,
        kyaLevel: 0,
        onChainScore: 37,
        scores: { "base-sepolia": 37, base: 4 },
        discoveryScore: 0.37,
        similarTo: [],
      });
      assert.ok(Date.parse(createdAt) > 0);
      assert.deepEqual((await list(`wallet=${walletAddress}`)).body.data, [body.data]);
    });

    it("[D20] a negative score gives discoveryScore 0", async () => {
      const { data } = (await get(`${AGENTS}/${agents.beta.agentId}`)).body;
      assert.deepEqual([data.onChainScore, data.discoveryScore], [-3, 0]);
    });

    it("filters by the start of the name in any case, taken literally, in the order of names", async () => {
      assert.deepEqual(await namesOf("name=alPHA"), ["Alpha Works", "alphabet"]);
      assert.deepEqual(await namesOf(`name=${encodeURIComponent("àlp")}`), ["ÀLPHA"]);
      assert.deepEqual(await namesOf(`name=${encodeURIComponent("delta (.")}`), ["Delta (.*)"]);
      for (const none of ["lpha", ".*", "^a", "alpha$"]) {
        assert.deepEqual(await namesOf(`name=${encodeURIComponent(none)}`), [], none);
      }
    });

    it("filters by wallet, in any case of its letters", async () => {
      const { walletAddress } = agents.gamma;
      assert.deepEqual(await namesOf(`wallet=${walletAddress}`), ["ÀLPHA"]);
      assert.deepEqual(await namesOf(`wallet=${walletAddress.toLowerCase()}`), ["ÀLPHA"]);
      assert.deepEqual(await namesOf(`wallet=0x${"1".repeat(40)}`), []);
      assert.deepEqual(await namesOf(`wallet=${walletAddress}&kyaLevel=2`), []);
    });

    it("filters by KYA level", async () => {
      assert.deepEqual(await namesOf("kyaLevel=2"), ["Delta (.*)", "alphabet"]);
      assert.deepEqual(await namesOf("kyaLevel=0"), ["ÀLPHA", "Alpha Works"]);
      assert.deepEqual(await namesOf("kyaLevel=3"), []);
    });

    it("filters by score, bounds included, highest score first", async () => {
      assert.deepEqual(await namesOf("minScore=37"), ["ÀLPHA", "Alpha Works"]);
      assert.deepEqual(await namesOf("minScore=38"), ["ÀLPHA"]);
      assert.deepEqual(await namesOf("maxScore=0"), ["Delta (.*)", "alphabet"]);
      assert.deepEqual(await namesOf("minScore=-3&maxScore=-3"), ["alphabet"]);
      assert.deepEqual(await namesOf("minScore=0&maxScore=36"), ["Delta (.*)"]);
    });

    it("combines filters", async () => {
      assert.deepEqual(await namesOf("name=alpha&maxScore=0&kyaLevel=2"), ["alphabet"]);
      assert.deepEqual(await namesOf("name=alpha&minScore=1"), ["Alpha Works"]);
      assert.deepEqual(await namesOf("minScore=-10&kyaLevel=2"), ["Delta (.*)", "alphabet"]);
    });

    it("pages through every order with a cursor, without a gap or a repeat", async () => {
      for (const query of ["", "name=a", "minScore=-100", "maxScore=200&kyaLevel=0", "name=a&maxScore=200"]) {
        const whole = await namesOf(query);
        const paged: string[] = [];
        let cursor: string | null = "";
        while (cursor !== null) {
          const { body }: { body: any } = await list(`${query}&limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`);
          paged.push(...(body.data as { agentName: string }[]).map(({ agentName }) => agentName));
          cursor = body.nextCursor;
        }
        assert.deepEqual(paged, whole, query);
      }
    });

    it("follows a score that falls, also one that a reorganisation takes back", async () => {
      const { walletAddress } = await api.registerAgent({ agentName: "Omega" });
      const { standings } = api.container.features.agents;
      const copy = (score: bigint, block: number, overNewer = false) => {
        const facts = new Map([[walletAddress.toLowerCase(), indexedAgent(walletAddress, { score })]]);
        return standings.write("base-sepolia", [walletAddress], facts, block, { overNewer });
      };
      await copy(500n, 900);
      assert.deepEqual(await namesOf("minScore=500"), ["Omega"]);
      await copy(499n, 899);
      assert.deepEqual(await namesOf("minScore=500"), ["Omega"], "an older copy changes nothing");
      await copy(498n, 899, true);
      assert.deepEqual(await namesOf("minScore=498"), ["Omega"]);
      assert.deepEqual(await namesOf("minScore=499"), []);
    });

    it("a wallet that has a score already brings it along when it registers", async () => {
      const { account, ...veteran } = await api.registerAgent({ agentName: "Veteran" });
      await settle(veteran.walletAddress, { "base-sepolia": 77n });
      const { agents: records } = api.container.features.agents.models;
      await records.updateOne({ _id: veteran.agentId }, { testnetScore: 0, testnetScoreBlock: -1 });
      const session = await api.container.connection.startSession();
      await api.container.features.agents.standings.adopt(veteran.agentId, account.address.toLowerCase(), session);
      await session.endSession();
      assert.deepEqual(await namesOf("minScore=77&maxScore=77"), ["Veteran"]);
    });
  });

  describe("errors", () => {
    it("an unknown agent is 404", async () => {
      assertError(await get(`${AGENTS}/agt_unknown`), 404, "not_found");
    });

    it("names each filter that is out of range or unknown", async () => {
      for (const level of ["-1", "4", "1.0", "two", ""])
        assertInvalid(await list(`kyaLevel=${level}`), "query.kyaLevel");
      for (const score of ["1.5", "x", "1e3", "1000000001"]) {
        assertInvalid(await list(`minScore=${score}&maxScore=${score}`), "query.minScore", "query.maxScore");
      }
      assertInvalid(await list("minScore=2&maxScore=1"), "query.minScore");
      assertInvalid(await list("name=&wallet=0x12&email=a"), "query.name", "query.wallet", "query.email");
      for (const limit of ["0", "101"]) assertInvalid(await list(`limit=${limit}`), "query.limit");
    });

    it("refuses a cursor of another order or a made-up one", async () => {
      const { nextCursor } = (await list("limit=1")).body;
      assertInvalid(await list(`name=a&cursor=${nextCursor}`), "query.cursor");
      for (const made of [{ order: "score", id: "a" }, { order: "name", id: "a", name: { $gt: "" } }, "x"]) {
        const cursor = Buffer.from(JSON.stringify(made)).toString("base64url");
        assertInvalid(await list(`minScore=1&cursor=${cursor}`), "query.cursor");
      }
    });
  });

  describe("security", () => {
    it("[S4.r17.1] answers 401 without a valid key", async () => {
      const { agentId } = agents.alpha;
      for (const path of [AGENTS, `${AGENTS}/${agentId}`, `${AGENTS}/${agentId}/trust`, `${AGENTS}/fee-tier`]) {
        assertError(await api.request("GET", path), 401, "invalid_api_key");
        assertError(await api.request("GET", path, { key: `svc_${"0".repeat(64)}` }), 401, "invalid_api_key");
      }
    });

    it("shows no secret and no counter of an agent", async () => {
      const { text } = await list("");
      assert.notMatch(text, /keysIssued|keyHash|svc_|walletKey|nameKey|"_id"/);
    });

    it("takes operators in filters literally", async () => {
      assertInvalid(await list("kyaLevel[$gt]=0"), "query.kyaLevel[$gt]");
      assert.deepEqual(await namesOf(`name=${encodeURIComponent('{"$gt":""}')}`), []);
    });
  });
});
