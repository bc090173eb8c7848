// Names that can be taken for each other: the record of the later agent says so (decision 51).
import { assert } from "chai";

import type { AgentModels } from "../../../api/features/agents/model.ts";
import { createSimilarNames } from "../../../api/features/agents/similar-names.ts";
import { nameSkeletons } from "../../../api/lib/name-skeleton.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";

describe("similar names", () => {
  let api: TestApi;
  let agents: AgentModels["agents"];
  before(async () => {
    api = await startTestApi();
    ({ agents } = api.container.features.agents.models);
  });
  after(() => api.close());

  /** Ids of one millisecond have no order of their own: the next agent is registered in a later one. */
  async function register(agentName: string): Promise<TestAgent> {
    const agent = await api.registerAgent({ agentName });
    while (Date.now() <= Number.parseInt(agent.agentId.slice("agt_".length, "agt_".length + 12), 16));
    return agent;
  }
  const similarTo = async (agent: TestAgent): Promise<string[]> => {
    const { body } = await api.request("GET", `/api/v1/agents/${agent.agentId}`, { key: agent.apiKey });
    return body.data.similarTo as string[];
  };
  const areSimilar = (one: string, other: string) =>
    nameSkeletons(one).some((skeleton) => nameSkeletons(other).includes(skeleton));

  it("[D51] are those with equal skeletons: by case, compatibility, hidden letters and look", () => {
    const same: [string, string][] = [
      ["PayPal", "paypal"],
      ["PayPal", "РауРаl"],
      ["PayPal", "PaypaI"],
      ["PayPal", "Pay\u200bPal"],
      ["PayPal", "Pay\u{e0068}\u{e0069}Pal"],
      ["PayPal", "ＰａｙＰａｌ"],
      ["Agent2", "Agent②"],
      ["AcmeTM", "Acme™"],
      ["PayPal", "𝖯𝖺𝗒𝖯𝖺𝗅"],
      ["modern", "rnodern"],
      ["Agent 007", "Agent OO7"],
      ["Ægir", "AEgir"],
      ["café", "cafe\u0301"],
      ["Acme  Corp ", "acme corp"],
      ["Acme Corp", "Acme\u00a0Corp"],
      ["AI Agent", "Ai agent"],
      ["AI Agent", "Al Agent"],
      ["می\u200cخواهم", "میخواهم"],
    ];
    for (const [one, other] of same) assert.ok(areSimilar(one, other), `${one} ${JSON.stringify(other)}`);
    const different: [string, string][] = [
      ["PayPal", "PayPad"],
      ["Acme", "Acme 2"],
      ["cafe", "café"],
      ["Müller", "Muller"],
      ["翻译", "翻訳"],
    ];
    for (const [one, other] of different) assert.notOk(areSimilar(one, other), `${one} ${other}`);
  });

  it("[D51] the record of an agent names older ones alone, also in lists", async () => {
    const first = await register("Atlas Research");
    const stranger = await register("Atlas Researcher");
    const second = await register("ATLAS RESEARCH");
    const third = await register("Аtlas Rеsеаrсh");
    assert.deepEqual(await similarTo(first), []);
    assert.deepEqual(await similarTo(stranger), []);
    assert.deepEqual(await similarTo(second), [first.agentId]);
    assert.deepEqual(await similarTo(third), [first.agentId, second.agentId]);
    const { body } = await api.request("GET", "/api/v1/agents?name=atlas", { key: first.apiKey });
    const listed = new Map(
      (body.data as { agentId: string; similarTo: string[] }[]).map((entry) => [entry.agentId, entry.similarTo]),
    );
    assert.deepEqual(listed.get(second.agentId), [first.agentId]);
    assert.deepEqual(listed.get(first.agentId), []);
  });

  it("[D51] at most ten are named, the oldest first", async () => {
    const named: TestAgent[] = [];
    for (let count = 0; count < 12; count += 1) named.push(await register("Crowd"));
    const ids = named.map(({ agentId }) => agentId);
    assert.deepEqual(await similarTo(named[11] as TestAgent), ids.slice(0, 10));
    assert.deepEqual(await similarTo(named[3] as TestAgent), ids.slice(0, 3));
  });

  it("[D51] a page of a name that thousands have reads a bounded number of records, and names the right ones", async () => {
    const crowded = 5_000;
    const records = Array.from({ length: crowded }, (_, n) => ({
      _id: `agt_${String(n).padStart(32, "0")}`,

      agentName: "Herd",
      nameSkeletons: nameSkeletons("Herd"),
      walletKey: `0x${n.toString(16).padStart(40, "0")}`,
    }));
    const rare = {
      _id: "agt_00000000000000000000000000004999a",
      agentName: "Rare",
      nameSkeletons: nameSkeletons("Rare"),
    };
    await agents.collection.insertMany([...records, rare] as never[]);
    const read: number[] = [];
    const counting = new Proxy(agents, {
      get(target, name) {
        if (name !== "find") return Reflect.get(target, name) as unknown;
        return (...[filter, projection]: [object, object]) => {
          const query = target.find(filter, projection);
          const lean = query.lean.bind(query);
          query.lean = (async () => {
            const found = await lean();
            read.push(found.length);
            return found;
          }) as never;
          return query;
        };
      },
    });
    const similar = await createSimilarNames({ agents: counting }).olderThan([
      { _id: "agt_f", agentName: "Rare" },
      { _id: "agt_e", agentName: "Herd" },
      { _id: records[4]?._id ?? "", agentName: "Herd" },
    ]);
    assert.deepEqual(similar.get("agt_f"), [rare._id]);
    assert.deepEqual(
      similar.get("agt_e"),
      records.slice(0, 10).map(({ _id }) => _id),
    );
    assert.deepEqual(
      similar.get(records[4]?._id ?? ""),
      records.slice(0, 4).map(({ _id }) => _id),
    );
    assert.isBelow(
      read.reduce((sum, count) => sum + count, 0),
      crowded / 2,
    );
    const plan = await agents
      .find({ nameSkeletons: { $in: ["herd", "rare"] }, _id: { $gt: "", $lt: "agt_f" } }, { nameSkeletons: 1 })
      .sort({ _id: 1 })
      .limit(10)
      .explain("executionStats");
    const { executionStats } = plan as unknown as { executionStats: { totalDocsExamined: number } };
    assert.isAtMost(executionStats.totalDocsExamined, 11);
  });
});
