// The daily budgets of section 8.3, with a moved clock.
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

import { assert } from "chai";

import { createApp } from "../../../api/app.ts";
import { CALL_CLASSES } from "../../../api/config/constants.ts";
import type { CallClass } from "../../../api/config/constants.ts";
import { RESERVATION_LEASE_MS } from "../../../api/features/limits/admission-control.ts";
import type { Admission } from "../../../api/http/admission.ts";
import { ApiError } from "../../../api/http/errors.ts";
import type { ErrorCode } from "../../../api/http/errors.ts";
import { assertError, readStack, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import { BUDGET_CALLS } from "../../fixtures/class-calls.ts";
import type { ClassCall } from "../../fixtures/class-calls.ts";
import { limitsWith, movedClock } from "../../fixtures/limits.ts";
import { keyRequestBody } from "../../fixtures/sign-in.ts";
import { routeTo } from "../../fixtures/stall.ts";

const MANY = 100_000;
const RAISED = { general: MANY, search: MANY, keyless: MANY, discover: MANY, checkout: MANY };
const SMALL: Record<CallClass, number> = { api: 3, message: 2, search: 2, transaction: 2 };
const HOUR = 3_600_000;
const NOON = new Date("2026-05-14T12:00:00Z");
const SERVICE = "/api/v1/services/lst_unknown";
const DISCOVER: ClassCall = { method: "POST", path: "/api/v1/discover", options: { body: { query: "translate" } } };

const VISIBILITY: ClassCall = { ...DISCOVER, path: `${SERVICE}/visibility` };

/** The facts and calls of each class that a route has. */
const CALLS: [facts: string, type: CallClass, call: ClassCall][] = [
  ["[S8.3.02]", "api", BUDGET_CALLS.api],
  ["[S8.3.04]", "search", BUDGET_CALLS.search],
  ["[D35]", "search", DISCOVER],
  ["a seller's", "search", VISIBILITY],
  ["[S8.3.03]", "message", BUDGET_CALLS.message],
  ["[S8.3.05]", "transaction", BUDGET_CALLS.transaction],
];

describe("daily budgets", () => {
  const clock = movedClock(NOON);
  let api: TestApi;

  before(async () => {
    api = await startTestApi({ search: true, clock, env: { limits: limitsWith(RAISED, SMALL) } });
  });
  after(() => api.close());
  beforeEach(() => {
    clock.set(new Date(NOON.getTime()));
  });

  const register = () => api.registerAgent({ message: { issuedAt: clock.now() } });
  const usageOf = async ({ apiKey: key }: Pick<TestAgent, "apiKey">) => {
    const answer = await api.request("GET", "/api/v1/auth/usage", { key });
    assert.strictEqual(answer.status, 200, answer.text);
    return answer.body.data;
  };
  const admit = ({ apiKey }: TestAgent, budget: CallClass): Promise<Admission> =>
    api.container.admissionControl.admit({
      auth: "apiKey",
      rateClass: "general",
      budget,
      ip: "192.0.2.1",
      headers: { "x-api-key": [apiKey] },
    });

  describe("happy", () => {
    for (const [facts, type, { method, path, options }] of CALLS) {
      it(`${facts} ${method} ${path.replace(/\?.*/, "")} draws on \`${type}\`: the call after the budget answers 402 until midnight UTC`, async () => {
        const { apiKey: key } = await register();
        const send = () => api.request(method, path, { ...options, key });
        for (let n = 0; n < SMALL[type]; n += 1) assert.notStrictEqual((await send()).status, 402, `call ${n + 1}`);
        await assertExhausted(send);
        clock.set(new Date("2026-05-14T23:59:58Z"));
        await assertExhausted(send);
        clock.set(new Date("2026-05-15T00:00:00Z"));
        assert.notStrictEqual((await send()).status, 402);
        const { budgets } = await usageOf({ apiKey: key });
        assert.deepEqual([budgets[type].used, budgets[type].resetsAt], [1, "2026-05-16T00:00:00.000Z"]);
      });
    }

    it("the class `message` has a budget of its own", async () => {
      const agent = await register();
      const states = [];
      for (let n = 0; n < 4; n += 1) states.push((await admit(agent, "message")).budget);
      assert.deepEqual(
        states.map((state) => [state?.type, state?.used, state?.exhausted]),
        [
          ["message", 1, false],
          ["message", 2, false],
          ["message", 2, true],
          ["message", 2, true],
        ],
      );
      assert.strictEqual((await admit(agent, "api")).budget?.used, 1);
    });

    it("[S7.04] [S7.05] [S7.06] [S7.14] the 402 says which budget is exhausted, and that waiting helps", async () => {
      const { apiKey: key } = await register();
      for (let n = 0; n < SMALL.api; n += 1) await api.request("GET", SERVICE, { key });
      const { status, body } = await api.request("GET", SERVICE, { key });
      assert.strictEqual(status, 402);
      assert.strictEqual(body.error, "PAYMENT_REQUIRED");
      assert.isString(body.message);
      assert.deepEqual(body.budget, { type: "api", used: 3, limit: 3, resetAt: "2026-05-15T00:00:00.000Z" });
      assert.deepEqual([body.payment.available, body.payment.price], [false, "$0.0001"]);
    });

    it("[S4.r19] [S4.201] [S4.205] [S4.206] usage says what is used, what is left and when it is reset", async () => {
      const agent = await register();
      await api.request("GET", SERVICE, { key: agent.apiKey });
      await api.request("GET", "/api/v1/services?q=x", { key: agent.apiKey });
      const { agentId, agentName, tier, onChainScore, budgets, abuse, prepaid } = await usageOf(agent);
      assert.deepEqual([agentId, agentName, tier, onChainScore], [agent.agentId, "Test agent", "free", 0]);
      const resetsAt = "2026-05-15T00:00:00.000Z";
      assert.deepEqual(budgets, {
        api: { used: 1, limit: 3, remaining: 2, resetsAt },
        message: { used: 0, limit: 2, remaining: 2, resetsAt },
        search: { used: 1, limit: 2, remaining: 1, resetsAt },
        transaction: { used: 0, limit: 2, remaining: 2, resetsAt },
      });
      assert.deepEqual(abuse, { dailyUsage: 2, monthlyUsage: 2, dailyLimit: 9, monthlyLimit: 270 });
      assert.deepEqual(prepaid, { api: 0, message: 0, search: 0, transaction: 0 });
    });

    it("[S4.r19.1] [S4.204] reading usage, with an entry for each budget, consumes nothing", async () => {
      const agent = await register();
      const first = await usageOf(agent);
      assert.hasAllKeys(first.budgets, ["api", "message", "search", "transaction"]);
      for (let n = 0; n < 5; n += 1) assert.deepEqual(await usageOf(agent), first);
    });

    it("[S4.207] [D35] usage counts the calls of the day and of the month", async () => {
      const agent = await register();
      const send = () => api.request("GET", SERVICE, { key: agent.apiKey });
      const counts = async () => {
        const { abuse } = await usageOf(agent);
        return [abuse.dailyUsage, abuse.monthlyUsage];
      };
      await send();
      await send();
      clock.set(new Date("2026-05-15T09:00:00Z"));
      assert.deepEqual(await counts(), [0, 2]);
      await send();
      assert.deepEqual(await counts(), [1, 3]);
      clock.set(new Date("2026-06-01T00:00:00Z"));
      assert.deepEqual(await counts(), [0, 0]);
      await send();
      assert.deepEqual(await counts(), [1, 1]);
    });

    it("[S8.3.01] a call that begins before midnight counts for its own day", async () => {
      const agent = await register();
      clock.set(new Date("2026-05-14T23:59:59Z"));
      const admission = await admit(agent, "api");
      clock.set(new Date("2026-05-15T00:00:10Z"));
      await admission.settle(true);
      await api.container.features.limits.flush();
      const { budgets, abuse } = await usageOf(agent);
      assert.deepEqual([budgets.api.used, abuse.dailyUsage, abuse.monthlyUsage], [0, 0, 1]);
    });

    const scores: [facts: string, score: number, tier: string, multiplier: number][] = [
      ["[D35]", -5, "free", 1],
      ["[S8.3.06]", 0, "free", 1],
      ["[S8.3.06]", 49, "free", 1],
      ["[S8.3.07]", 50, "plus", 2],
      ["[S8.3.07]", 99, "plus", 2],
      ["[S8.3.08]", 100, "pro", 3],
      ["[S8.3.08]", 149, "pro", 3],
      ["[S8.3.09]", 150, "elite", 5],
      ["[S8.3.09]", 4_000, "elite", 5],
    ];
    for (const [facts, score, tier, multiplier] of scores) {
      it(`[S4.202] [S4.203] [S4.208] ${facts} a score of ${score} is tier ${tier}: ${multiplier} times the budgets`, async () => {
        const agent = await register();
        await copyScore(agent.walletAddress, score, 1);
        const usage = await usageOf(agent);
        assert.deepEqual([usage.tier, usage.onChainScore], [tier, score]);
        assert.isTrue(Number.isInteger(usage.onChainScore));
        for (const type of CALL_CLASSES) assert.strictEqual(usage.budgets[type].limit, SMALL[type] * multiplier);
        for (let n = 0; n < SMALL.search * multiplier; n += 1) {
          assert.isFalse((await admit(agent, "search")).budget?.exhausted, `call ${n + 1}`);
        }
        assert.isTrue((await admit(agent, "search")).budget?.exhausted);
      });
    }

    it("a score that was read at an earlier block doesn't replace a later one", async () => {
      const agent = await register();
      await copyScore(agent.walletAddress, 120, 20);
      await copyScore(agent.walletAddress, 10, 19);
      assert.strictEqual((await usageOf(agent)).tier, "pro");
      await copyScore(agent.walletAddress, 60, 21);
      assert.strictEqual((await usageOf(agent)).tier, "plus");
    });

    it("[D46] prepaid calls are drawn before the first 402, and a refused call gets its one back", async () => {
      const agent = await register();
      const { access } = api.container.features.limits.models;
      await access.collection.updateOne({ _id: agent.agentId as never }, { $inc: { "prepaid.search": 2 } });
      for (let n = 0; n < 3; n += 1) await (await admit(agent, "search")).settle(true);
      await (await admit(agent, "search")).settle(false);
      assert.strictEqual((await usageOf(agent)).prepaid.search, 1);
      assert.isFalse((await admit(agent, "search")).budget?.exhausted);
      assert.isTrue((await admit(agent, "search")).budget?.exhausted);
      assert.strictEqual((await usageOf(agent)).budgets.search.used, 2);
    });

    async function copyScore(wallet: string, score: number, block: number): Promise<void> {
      const { standings } = api.container.features.agents;
      const walletKey = wallet.toLowerCase();
      const agent = { score: BigInt(score), distinctCounterparties: 0, topCounterpartyCount: 0, settledCount: 0 };
      await standings.write("base-sepolia", [walletKey], new Map([[walletKey, agent as never]]), block);
    }
  });

  describe("error", () => {
    const servers: Server[] = [];
    after(() => {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    });

    /** Sends a call that a step refuses with an error. */
    async function refusedWith(code: ErrorCode): Promise<(agent: TestAgent) => Promise<number>> {
      const refuse = () => Promise.reject(new ApiError(code));
      const handle = createApp(api.container, { steps: { afterAdmission: [], afterValidation: [refuse] } }).callback();
      const server = createServer((request, response) => void handle(request, response));
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      return async ({ apiKey }) =>
        (await fetch(`http://127.0.0.1:${port}${SERVICE}`, { headers: { "x-api-key": apiKey } })).status;
    }

    const refusals: [code: ErrorCode, consumes: boolean][] = [
      ["not_found", true],
      ["validation_error", true],
      ["wrong_role", true],
      ["insufficient_token_balance", false],
      ["rate_limit_exceeded", false],
      ["internal_error", false],
      ["chain_unavailable", false],
    ];
    for (const [code, consumes] of refusals) {
      it(`[D35] an answer of ${code} ${consumes ? "consumes a call" : "consumes nothing"}`, async () => {
        const agent = await register();
        const send = await refusedWith(code);
        for (let n = 0; n < 3; n += 1) await send(agent);
        assert.strictEqual((await usageOf(agent)).budgets.api.used, consumes ? 3 : 0);
        assert.strictEqual((await api.request("GET", SERVICE, { key: agent.apiKey })).status, consumes ? 402 : 404);
      });
    }

    it("[D35] a 402 and a 429 consume nothing", async () => {
      const agent = await register();
      for (let n = 0; n < 6; n += 1) await api.request("GET", SERVICE, { key: agent.apiKey });
      assert.strictEqual((await usageOf(agent)).budgets.api.used, 3);
    });

    it("[D35] without a key discover never answers 402", async () => {
      for (let n = 0; n < SMALL.search + 2; n += 1) {
        assert.strictEqual((await api.request("POST", "/api/v1/discover", { body: { query: "x" } })).status, 200);
      }
    });

    it("a process that is killed in the middle of a call consumes nothing", async () => {
      const route = await routeTo(Number(new URL((await readStack()).mongodbUri).port));
      const direct = `mongodb://127.0.0.1:${route.port}/${api.container.connection.name}?directConnection=true`;
      const agent = await register();
      const budget = { MONGODB_URI: direct, BUDGET_API: "3" };
      const lost = await startApiProcess(api.container.connection.name, budget);
      try {
        const reached = route.stallAt("lst_unknown");
        const call = fetch(lost.url + SERVICE, { headers: { "x-api-key": agent.apiKey } });
        call.catch(() => undefined);
        await reached;
        lost.kill();
        await assert.isRejected(call);
      } finally {
        lost.kill();
        await route.close();
      }
      // That process counts by the machine's clock.
      clock.set(new Date());
      assert.strictEqual((await usageOf(agent)).budgets.api.used, 1);
      clock.pass(RESERVATION_LEASE_MS);
      assert.strictEqual((await usageOf(agent)).budgets.api.used, 0);
      for (let n = 0; n < SMALL.api; n += 1) {
        assert.strictEqual((await api.request("GET", SERVICE, { key: agent.apiKey })).status, 404);
      }
      await assertExhausted(() => api.request("GET", SERVICE, { key: agent.apiKey }));
    });

    it("a process that stops has settled the calls that it answered", async () => {
      const agent = await register();
      const other = await startTestApi({
        search: true,
        clock,
        env: { limits: limitsWith(RAISED, SMALL) },
        databaseName: api.container.connection.name,
      });
      await other.request("GET", SERVICE, { key: agent.apiKey });
      await other.stop();
      clock.pass(HOUR);
      assert.strictEqual((await usageOf(agent)).budgets.api.used, 1);
    });
  });

  describe("security", () => {
    it("a new key doesn't bring a new budget", async () => {
      const agent = await register();
      for (let n = 0; n < SMALL.api; n += 1) await api.request("GET", SERVICE, { key: agent.apiKey });
      const body = await keyRequestBody(agent.account, { issuedAt: clock.now() });
      const issued = await api.request("POST", "/api/v1/auth/keys", { body });
      assert.strictEqual(issued.status, 201, issued.text);
      await assertExhausted(() => api.request("GET", SERVICE, { key: issued.body.apiKey }));
    });

    it("[D35] eight clients against two processes get exactly the budget, while some of their calls fail", async () => {
      const budget = 40;
      const options = { env: { limits: limitsWith(RAISED, { api: budget }) } };
      const first = await startTestApi(options);
      const second = await startTestApi({ search: true, ...options, databaseName: first.container.connection.name });
      try {
        const { apiKey } = await first.registerAgent();
        const headers = { "x-api-key": [apiKey] };
        const served = await Promise.all(
          Array.from({ length: 8 }, async (_, client) => {
            const { admissionControl } = (client % 2 === 0 ? first : second).container;
            let count = 0;
            for (let n = 0; n < 12; n += 1) {
              const request = { auth: "apiKey", rateClass: "general", budget: "api", headers, ip: "::1" } as const;
              const admission = await admissionControl.admit(request);
              const succeeds = n % 3 !== 0;
              await admission.settle(succeeds);
              if (admission.budget?.exhausted === false && succeeds) count += 1;
            }
            return count;
          }),
        );
        const total = served.reduce((sum, count) => sum + count, 0);
        assert.strictEqual(total, budget);
        const { used } = (await first.request("GET", "/api/v1/auth/usage", { key: apiKey })).body.data.budgets.api;
        assert.strictEqual(used, budget);
      } finally {
        await second.stop();
        await first.close();
      }
    });
  });

  async function assertExhausted(send: () => Promise<Answer>): Promise<void> {
    const answer = await send();
    assert.deepEqual([answer.status, answer.body.code], [402, "payment_required"], answer.text);
  }
});

describe("the default budgets", () => {
  it("[S8.3.02] [S8.3.03] [S8.3.04] [S8.3.05] are those of the specification", async () => {
    const api = await startTestApi({ search: true });
    try {
      const { apiKey: key } = await api.registerAgent();
      const { budgets } = (await api.request("GET", "/api/v1/auth/usage", { key })).body.data;
      const limits = CALL_CLASSES.map((type) => [type, budgets[type].limit]);
      assert.deepEqual(Object.fromEntries(limits), { api: 10_000, message: 1_000, search: 500, transaction: 500 });
      assertError(await api.request("GET", "/api/v1/auth/usage"), 401, "invalid_api_key");
    } finally {
      await api.close();
    }
  });
});
