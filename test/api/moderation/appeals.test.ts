// What agents read and say about decisions that concern them, and what operators answer (decision 59).
import { assert } from "chai";

import { RATE_LIMITS } from "../../../api/config/constants.ts";
import type { RateClass } from "../../../api/config/constants.ts";
import { createTradeGate } from "../../../api/features/agents/trade-gate.ts";
import { Appeals } from "../../../api/features/moderation/appeals.ts";
import { RequestOperation } from "../../../api/http/operation.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, assertInvalid, readStack, startTestApi } from "../../fixtures/api.ts";
import type { RequestOptions, TestAgent, TestApi } from "../../fixtures/api.ts";
import { listService } from "../../fixtures/deals.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import { killAtEachWrite } from "../../fixtures/failpoints.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { moderationCalls } from "../../fixtures/moderation.ts";

const ENOUGH = Object.fromEntries(Object.keys(RATE_LIMITS).map((name) => [name, 10_000])) as Record<RateClass, number>;
const APPEALS = "/api/v1/appeals";
const FOR_OPERATORS = "/api/v1/admin/moderation/appeals";
const DECISIONS = "/api/v1/moderation/decisions";

/** An appeal as the API answers it. */
interface Appeal {
  decisionId: string;
  text: string;
  state: string;
  answer: string | null;
  answeredAt: string | null;
}

/** A page of a list. */
interface Page<Item> {
  data: Item[];
  nextCursor: string | null;
}

describe("appeals", () => {
  let api: TestApi;
  let route: FaultyRoute;
  /** Another process on the same database, which tests kill. */
  let other: TestApi;
  let agent: TestAgent;
  let stranger: TestAgent;

  before(async () => {
    const oneProcess = "the test starts both of its processes";
    const env = { adminApiKey: ADMIN_KEY, limits: limitsWith(ENOUGH) };
    api = await startTestApi({ oneProcess, env });
    route = await faultyDatabase((await readStack()).mongodbUri);
    const { name: databaseName } = api.container.connection;
    other = await startTestApi({ oneProcess, databaseName, env: { ...env, mongodbUri: route.url } });
    stranger = await api.registerAgent();
  });
  beforeEach(async () => {
    agent = await api.registerAgent();
  });
  after(async () => {
    await other.stop();
    await api.close();
    await route.close();
  });

  const { decided, eventsOf } = moderationCalls(() => api);
  const suspended = async () => (await decided("suspend", "agent", agent.agentId)).id;
  const appeal = (decisionId: string, text = "It isn't so.", { by = agent, through = api } = {}) =>
    through.request("POST", APPEALS, { key: by.apiKey, body: { decisionId, text } });
  /** An appeal that is taken; returns it. */
  async function appealed(decisionId: string, text?: string): Promise<Appeal> {
    const answer = await appeal(decisionId, text);
    assert.strictEqual(answer.status, 201, answer.text);
    return answer.body.data as Appeal;
  }
  const reject = (decisionId: string, text = "It is.", options: RequestOptions = AS_ADMIN, through = api) =>
    through.request("POST", `${FOR_OPERATORS}/${decisionId}`, { ...options, body: { text } });
  async function read(path: string, options: RequestOptions): Promise<Page<any>> {
    const answer = await api.request("GET", path, options);
    assert.strictEqual(answer.status, 200, answer.text);
    return answer.body;
  }
  const decisionsOf = async ({ apiKey: key }: TestAgent) => (await read(DECISIONS, { key })).data;
  const stored = (decisionId: string) =>
    api.container.features.moderation.models.appeals.find({ _id: decisionId }).lean();
  const answersTo = async (one: TestAgent) => (await eventsOf(one)).filter(({ event }) => event === "appeal.answered");
  /** An operation of a request with an Idempotency-Key. */
  function operationOf(seed: string, isRepeat: boolean): RequestOperation {
    const operation = new RequestOperation();
    operation.resumeFrom({ startedAt: new Date(0), seed, isRepeat });
    return operation;
  }

  it("[D59] stand beside the decisions that an agent reads about itself, the newest first, and what became of them", async () => {
    const serviceId = await listService(api, agent);
    const hiding = await decided("hide", "listing", serviceId, { reason: "spam", text: "<i>Again</i>" });
    const suspension = await decided("suspend", "agent", agent.agentId);
    const text = "The offers differ <b>in their networks</b>.";
    const lodged = await appealed(hiding.id, text);
    assert.deepInclude(lodged, { decisionId: hiding.id, text, state: "open", answer: null, answeredAt: null });
    const restoration = await decided("restore", "agent", agent.agentId, { reason: "remedied", text: "Thank you." });
    const ofAgent = {
      id: suspension.id,
      subject: { type: "agent", id: agent.agentId },
      state: "restored",
      reason: "fraud",
      text: "The reason to suspend it.",
      at: suspension.at,
      restored: { reason: "remedied", text: "Thank you.", at: restoration.at },
      appeal: null,
    };
    const ofListing = {
      id: hiding.id,
      subject: { type: "listing", id: serviceId },
      state: "hidden",
      reason: "spam",
      text: "<i>Again</i>",
      at: hiding.at,
      restored: null,
      appeal: lodged,
    };
    assert.deepEqual(await decisionsOf(agent), [ofAgent, ofListing]);
    assert.deepEqual(await decisionsOf(stranger), [], "they concern nobody else");
    const first = await read(`${DECISIONS}?limit=1`, { key: agent.apiKey });
    const second = await read(`${DECISIONS}?limit=1&cursor=${first.nextCursor}`, { key: agent.apiKey });
    assert.deepEqual([first.data, second.data, second.nextCursor], [[ofAgent], [ofListing], null]);
    await decided("suspend", "agent", agent.agentId);
    assert.deepInclude((await decisionsOf(agent))[0], { state: "suspended", restored: null });
  });

  it("[D59] are rejected once, with an answer and an event for the agent, and stay so when the agent is restored", async () => {
    const decisionId = await suspended();
    await appealed(decisionId);
    const rejected = await reject(decisionId, "Three buyers say {{so}}.");
    assert.strictEqual(rejected.status, 200, rejected.text);
    assert.deepInclude(rejected.body.data, { decisionId, state: "rejected", answer: "Three buyers say {{so}}." });
    const again = await reject(decisionId);
    assertError(again, 409, "appeal_not_open");
    assert.deepEqual(again.body.details, { state: "rejected" });
    assertError(await appeal(decisionId, "But no!"), 409, "already_appealed");
    const { answeredAt: at } = rejected.body.data;
    const event = { event: "appeal.answered", decisionId, state: "rejected", answer: "Three buyers say {{so}}.", at };
    assert.deepEqual(await answersTo(agent), [event]);
    await decided("restore", "agent", agent.agentId);
    assert.deepEqual((await decisionsOf(agent))[0].appeal, rejected.body.data);
    assert.lengthOf(await answersTo(agent), 1);
  });

  it("[D59] are granted by the restoration of their subject, with its text", async () => {
    const decisionId = await suspended();
    await appealed(decisionId);
    const { at } = await decided("restore", "agent", agent.agentId, { reason: "appeal", text: "You are right." });
    const [own] = await decisionsOf(agent);
    assert.deepInclude(own.appeal, { state: "granted", answer: "You are right.", answeredAt: at });
    assert.deepEqual(
      (await eventsOf(agent)).map(({ event }) => event),
      ["agent.suspended", "agent.restored", "appeal.answered"],
    );
    assert.deepEqual((await reject(decisionId)).body.details, { state: "granted" });
  });

  it("[D59] are listed for operators with their decisions, open ones first, by state and page by page", async () => {
    const [one, two] = [await api.registerAgent(), await api.registerAgent()];
    const ids: string[] = [];
    for (const by of [one, two, agent]) {
      const { id } = await decided("suspend", "agent", by.agentId);
      assert.strictEqual((await appeal(id, "No.", { by })).status, 201);
      ids.push(id);
    }
    const [first, second, third] = ids as [string, string, string];
    assert.strictEqual((await reject(third)).status, 200);
    const among = async (query: string) => {
      const { data }: Page<Appeal & { decision: object }> = await read(`${FOR_OPERATORS}?limit=100${query}`, AS_ADMIN);
      return data.filter(({ decisionId }) => ids.includes(decisionId));
    };
    const idsOf = async (query: string) => (await among(query)).map(({ decisionId }) => decisionId);
    assert.deepEqual(await idsOf(""), [second, first, third]);
    assert.deepEqual(await idsOf("&state=open"), [second, first]);
    assert.deepEqual(await idsOf("&state=closed"), [third]);
    const [shown] = await among("");
    assert.deepInclude(shown?.decision, {
      id: second,
      agentId: two.agentId,
      action: "suspend",
      subject: { type: "agent", id: two.agentId },
      text: "The reason to suspend it.",
    });
    const page: Page<Appeal> = await read(`${FOR_OPERATORS}?limit=1`, AS_ADMIN);
    const next: Page<Appeal> = await read(`${FOR_OPERATORS}?limit=1&cursor=${page.nextCursor}`, AS_ADMIN);
    assert.deepEqual([page.data[0]?.decisionId, next.data[0]?.decisionId], [second, first]);
  });

  describe("refuse", () => {
    it("[D59] another's decision, one that was ended, a restoration, and a second text", async () => {
      const decisionId = await suspended();
      assertError(await appeal(decisionId, "Let it be.", { by: stranger }), 404, "not_found");
      assertError(await appeal("dec_unknown"), 404, "not_found");
      const restoration = await decided("restore", "agent", agent.agentId);
      for (const id of [decisionId, restoration.id]) assertError(await appeal(id), 409, "decision_not_in_force");
      const later = await suspended();
      assertError(await appeal(decisionId), 409, "decision_not_in_force");
      await appealed(later);
      assertError(await appeal(later), 409, "already_appealed");
      assert.deepEqual(await stored(decisionId), []);
    });

    it("[D59] callers without a key, operators as agents, and agents as operators", async () => {
      const decisionId = await suspended();
      await appealed(decisionId);
      const body = { decisionId, text: "It isn't so." };
      const none = { headers: { authorization: "" } };
      const asAgent = { headers: { authorization: `Bearer ${agent.apiKey}` } };
      for (const answer of [
        await api.request("POST", APPEALS, { ...none, body }),
        await api.request("POST", APPEALS, { ...AS_ADMIN, body }),
        await api.request("GET", DECISIONS, none),
        await api.request("GET", DECISIONS, AS_ADMIN),
        await api.request("GET", FOR_OPERATORS, none),
        await api.request("GET", FOR_OPERATORS, asAgent),
        await reject(decisionId, "It is.", none),
        await reject(decisionId, "It is.", asAgent),
      ]) {
        assertError(answer, 401, "invalid_api_key");
      }
      assert.strictEqual((await stored(decisionId))[0]?.state, "open");
    });

    it("[D33] texts that are too long or turn around, and answers to what nobody has appealed", async () => {
      const decisionId = await suspended();
      assertInvalid(await appeal(decisionId, "x".repeat(1_001)), "body.text");
      assertInvalid(await appeal(decisionId, "\u202etxet"), "body.text");
      assertInvalid(await reject(decisionId, "x".repeat(1_001)), "body.text");
      assertError(await reject(decisionId), 404, "not_found");
    });
  });

  describe("at the same time as others", () => {
    it("[D59] are one a decision, in two processes too", async () => {
      const decisionId = await suspended();
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, n) => appeal(decisionId, `No. ${n}`, { through: n % 2 === 0 ? api : other })),
      );
      const [taken, ...more] = answers.filter(({ status }) => status === 201);
      assert.deepEqual(more, []);
      for (const answer of answers) if (answer !== taken) assertError(answer, 409, "already_appealed");
      assert.deepEqual(
        (await stored(decisionId)).map(({ text }) => text),
        [taken?.body.data.text],
      );
    });

    it("[D59] see a restoration that overtakes them", async () => {
      const decisionId = await suspended();
      const { connection, clock, features } = api.container;
      const gate = createTradeGate(connection);
      let turns = 0;
      const appeals = new Appeals({
        connection,
        clock,
        recorder: features.events.recorder,
        agents: features.agents.models.agents,
        listings: features.listings.models.listings,
        ...features.moderation.models,
        gate: {
          async takeTurn(agentId, session) {
            turns += 1;
            if (turns === 1) await decided("restore", "agent", agentId);
            await gate.takeTurn(agentId, session);
          },
        },
      });
      let code = "none";
      try {
        await appeals.lodge(agent.agentId, { decisionId, text: "It isn't so." }, new RequestOperation());
      } catch (error) {
        ({ code } = error as { code: string });
      }
      assert.deepEqual([code, turns], ["decision_not_in_force", 2]);
      assert.deepEqual(await stored(decisionId), []);
    });

    it("[D59] are answered once: rejected or granted, never both", async () => {
      for (let round = 0; round < 4; round += 1) {
        const decisionId = await suspended();
        await appealed(decisionId);
        const [rejected] = await Promise.all([
          reject(decisionId, "It is.", AS_ADMIN, other),
          decided("restore", "agent", agent.agentId),
        ]);
        if (rejected.status !== 200) assertError(rejected, 409, "appeal_not_open");
        const state = rejected.status === 200 ? "rejected" : "granted";
        assert.strictEqual((await stored(decisionId))[0]?.state, state);
        const answers = (await answersTo(agent)).filter((event) => event.decisionId === decisionId);
        assert.deepEqual(
          answers.map((event) => event.state),
          [state],
        );
      }
    });

    it("[D59] repeated as one operation, are the first one, and so is their answer", async () => {
      const decisionId = await suspended();
      const { appeals } = api.container.services;
      const lodge = (isRepeat: boolean) =>
        appeals.lodge(agent.agentId, { decisionId, text: "It isn't so." }, operationOf(decisionId, isRepeat));
      const rejection = (isRepeat: boolean) =>
        appeals.reject(decisionId, "It is.", operationOf(`${decisionId}, rejected`, isRepeat));
      assert.deepEqual(await lodge(false), await lodge(true));
      assert.deepEqual(await rejection(false), await rejection(true));
      assert.lengthOf(await answersTo(agent), 1);
    });

    it("[D59] killed at any write of the answer, are answered by its repeat, with one event", async () => {
      let decisionId = "";
      await killAtEachWrite({
        route,
        prepare: async () => {
          agent = await api.registerAgent();
          decisionId = await suspended();
          await appealed(decisionId);
        },
        work: async () => {
          await reject(decisionId, "It is.", AS_ADMIN, other);
        },
        finish: async (what) => {
          const events = await answersTo(agent);
          const before = (await stored(decisionId))[0]?.state;
          assert.deepEqual([before, events.length], before === "open" ? ["open", 0] : ["rejected", 1], what);
          const repeat = await reject(decisionId);
          assert.strictEqual(repeat.status, before === "open" ? 200 : 409, what);
          assert.strictEqual((await stored(decisionId))[0]?.state, "rejected", what);
          assert.lengthOf(await answersTo(agent), 1, what);
        },
      });
    });
  });
});
