import { assert } from "chai";

import type { Network } from "../../../api/config/constants.ts";
import type { IndexedAgent } from "../../../api/indexer/schemas.ts";
import { assertInvalid, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { indexedAgent, indexersWith } from "../../fixtures/indexed-agents.ts";
import { until } from "../../fixtures/until.ts";

interface Result {
  serviceId: string;
  discoveryScore: number;
  relevance: number;
  explanation?: Record<string, number> & { reasons: string[] };
}

describe("explanations of a search", () => {
  let api: TestApi;
  let seller: TestAgent;
  /** What the subgraphs say about wallets, by network and lower-case wallet. */
  const known: Record<Network, Map<string, IndexedAgent>> = { "base-sepolia": new Map(), base: new Map() };

  before(async () => {
    api = await startTestApi({ indexers: indexersWith(known), search: true });
    seller = await api.registerAgent();
  });
  after(() => api.close());

  const discover = (body: unknown): Promise<Answer> => api.request("POST", "/api/v1/discover", { body });

  async function list(fields: Record<string, unknown>, agent = seller): Promise<string> {
    const answer = await api.request("POST", "/api/v1/services", { key: agent.apiKey, body: listingBody(fields) });
    assert.strictEqual(answer.status, 201, answer.text);
    return answer.body.data.id;
  }

  const untilFound = (query: string, ids: readonly string[]) =>
    until(`${query} finds ${ids.join(", ")}`, async () => {
      const found = ((await discover({ query })).body as Result[]).map(({ serviceId }) => serviceId);
      return ids.every((id) => found.includes(id));
    });

  /** An agent with this state in the subgraph, synced as after a settlement. */
  async function ratedAgent(facts: Partial<IndexedAgent>): Promise<TestAgent> {
    const agent = await api.registerAgent();
    known["base-sepolia"].set(agent.walletAddress.toLowerCase(), indexedAgent(agent.walletAddress, facts));
    await api.container.services.standings.sync("base-sepolia", [agent.walletAddress]);
    return agent;
  }

  const scoreOf = (parts: Record<string, number>) =>
    ["relevance", "completeness", "prose", "categoryFit", "trust", "priceFit", "variety"].reduce(
      (product, part) => product * (parts[part] ?? NaN),
      1,
    );

  it("[D6] [D23] have the parts from which a reader can compute the score that orders the results", async () => {
    const deals = { distinctCounterparties: 5, topCounterpartyCount: 20, settledCount: 50 };
    const history = { score: 30n, ...deals, released: 30, lateDeclines: 10 };
    const agent = await ratedAgent(history);
    const text = { title: "Kite repair", description: "Sews torn kites and replaces their broken spars." };
    const ids = [await list({ ...text, price: 2 }, agent), await list({ ...text, price: 4 })];
    ids.push(await list({ ...text, title: "Kite repair again", price: 3 }, agent));
    await untilFound("kite repair", ids);
    const body = { query: "kite repair", filters: { maxPrice: 5 }, explain: true };
    const results = (await discover(body)).body as Result[];
    const scores = results.map(({ explanation, relevance, discoveryScore }) => {
      assert.ok(explanation !== undefined);
      const { score = NaN, meaning = NaN, words = NaN, trust = NaN } = explanation;
      const { counterpartyWeight = NaN, lateDeclineWeight = NaN, earlyDeclineWeight = NaN } = explanation;
      assert.closeTo(scoreOf(explanation), score, 1e-9);
      assert.closeTo(Math.min(1, meaning + words), relevance, 1e-4);
      assert.closeTo(
        1 + 0.3 * discoveryScore * counterpartyWeight * lateDeclineWeight * earlyDeclineWeight,
        trust,
        1e-9,
      );
      return score;
    });
    assert.deepEqual(
      scores,
      [...scores].sort((left, right) => right - left),
    );
    const explained = new Map(results.map(({ serviceId, explanation }) => [serviceId, explanation]));
    const partOf = (part: string) => ids.map((id) => explained.get(id)?.[part]);
    assert.deepEqual(partOf("counterpartyWeight"), [0.5, 0, 0.5]);
    assert.deepEqual(partOf("lateDeclineWeight"), [0.75, 1, 0.75]);
    assert.deepEqual(partOf("variety"), [1, 1, 0.5]);
    const [cheap = NaN, dear = NaN] = partOf("priceFit");
    assert.closeTo(cheap, 1.03, 1e-9);
    assert.closeTo(dear, 1.01, 1e-9);

    const [first = [], , third = []] = ids.map((id) => explained.get(id)?.reasons);
    assert.includeMembers(first, [
      "Trust in the seller adds 3%.",
      "The seller deals with few partners, or mostly with one, which lowers trust by 50%.",
      "The seller has refunded orders after the deadline, which lowers trust by 25%.",
      "The price is below the query's maximum, which adds 3%.",
    ]);
    assert.include(
      third,
      "The seller has a better listing that offers nearly the same, which lowers the score by 50%.",
    );
    assert.notMatch(JSON.stringify(results.map(({ explanation }) => explanation)), /kite/i);

    const { body: plain } = await discover({ query: "kite repair" });
    assert.notProperty((plain as Result[])[0], "explanation");
  });

  it("come with a search of the services too", async () => {
    const id = await list({ title: "Sundial design", description: "Computes the hour lines for your garden wall." });
    await untilFound("sundial", [id]);
    const search = async (query: string) =>
      (await api.request("GET", `/api/v1/services?${query}`, { key: seller.apiKey })).body;
    const [explained] = (await search("q=sundial&explain=true")).data;
    assert.strictEqual(explained.id, id);
    assert.closeTo(scoreOf(explained.explanation), explained.explanation.score, 1e-9);
    assert.include(explained.explanation.reasons[0], explained.explanation.meaning.toFixed(2));
    assert.notProperty((await search("q=sundial&explain=false")).data[0], "explanation");
    const without = await api.request("GET", "/api/v1/services?explain=true", { key: seller.apiKey });
    assertInvalid(without, "query.explain");
  });
});
