import { assert } from "chai";

import { loadEnv } from "../../../api/config/env.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, assertInvalid, readStack, startTestApi } from "../../fixtures/api.ts";
import type { RequestOptions, TestAgent, TestApi } from "../../fixtures/api.ts";
import { ONE_USDC } from "../../fixtures/deals.ts";
import { testVariables } from "../../fixtures/environment.ts";
import { storeMailToken } from "../../fixtures/mail-tokens.ts";
import { openChain } from "../../fixtures/stack.ts";
import { paymentMethodBody } from "../../fixtures/statements.ts";

const pathOf = (agentId: string) => `/api/v1/admin/agents/${agentId}/kya`;

describe("the admin's KYA route", () => {
  let api: TestApi;
  let agent: TestAgent;

  before(async () => {
    api = await startTestApi({ env: { adminApiKey: ADMIN_KEY } });
  });
  beforeEach(async () => {
    agent = await api.registerAgent();
  });
  after(() => api.close());

  const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
  const set = (body: unknown, options: RequestOptions = bearer(ADMIN_KEY), agentId = agent.agentId) =>
    api.request("POST", pathOf(agentId), { ...options, body });
  const uses = () => api.container.connection.collection("admin_uses").find().sort({ _id: 1 }).toArray();
  const levelOf = async (): Promise<unknown> =>
    (await api.container.features.agents.models.agents.findById(agent.agentId).lean())?.kyaLevel;
  const AUDITED = { level: 3, reason: "The code was reviewed.", verification: "codebase" };

  describe("happy", () => {
    for (const verification of ["codebase", "identity"]) {
      it(`[S2.8.05] [D32] gives level 3, Audited, for a verification of the ${verification}`, async () => {
        const answer = await set({ ...AUDITED, verification });
        assert.deepEqual(answer.body.data, {
          agentId: agent.agentId,
          kya: { level: 3, name: "Audited", maxJobValueUsd: null },
        });
        assert.strictEqual(await levelOf(), 3);
      });
    }

    it("sets any level, lower ones too, and logs each decision with its reason and request", async () => {
      await set(AUDITED);
      const answer = await set({ level: 1, reason: "The code has changed." });
      assert.deepEqual(answer.body.data.kya, { level: 1, name: "Basic", maxJobValueUsd: 1_000 });
      const changes = await api.container.features.kya.models.changes
        .find({ agentId: agent.agentId })
        .sort({ _id: 1 })
        .lean();
      assert.deepEqual(
        changes.map(({ from, to, cause, reason, verification }) => ({ from, to, cause, reason, verification })),
        [
          { from: 0, to: 3, cause: "admin", reason: "The code was reviewed.", verification: "codebase" },
          { from: 3, to: 1, cause: "admin", reason: "The code has changed.", verification: null },
        ],
      );
      assert.strictEqual(changes[1]?.requestId, answer.headers.get("x-request-id"));
    });

    it("[D32] a lowered level stays until an admin sets a higher one: neither mail nor payment method raises it", async () => {
      const { account, agentId, apiKey: key } = agent;
      const chain = await openChain("base-sepolia");
      await chain.endow(account, { usdc: ONE_USDC });
      const link = async (): Promise<unknown> => {
        const body = await paymentMethodBody(agent, chain);
        const answer = await api.request("POST", "/api/v1/agents/kya/payment-method", { key, body });
        return answer.body.data?.kya.level;
      };
      assert.strictEqual(await link(), 2);
      await set({ level: 0, reason: "The wallet was stolen." });

      assert.strictEqual(await link(), 0);
      const token = await storeMailToken(api);
      const verified = await api.request("POST", "/api/developer/verify", { key, body: { token } });
      assert.deepEqual([verified.status, verified.body.data?.kya.level], [200, 0], verified.text);
      await set({ level: 0, reason: "Still so." });
      assert.strictEqual(await link(), 0);

      await set({ level: 1, reason: "The wallet is back." });
      assert.strictEqual(await link(), 2);
      const changes = await api.container.features.kya.models.changes.find({ agentId }).sort({ _id: 1 }).lean();
      assert.deepEqual(
        changes.map(({ from, to }) => [from, to]),
        [
          [0, 2],
          [2, 0],
          [0, 0],
          [0, 0],
          [0, 0],
          [0, 0],
          [0, 1],
          [1, 2],
        ],
      );
    });

    it("[D43] an Idempotency-Key belongs to one content: a repeat changes nothing, another level or agent is refused", async () => {
      const options = { headers: { ...bearer(ADMIN_KEY).headers, "Idempotency-Key": agent.agentId } };
      const first = await set(AUDITED, options);
      assert.strictEqual(first.status, 200, first.text);
      await set({ level: 1, reason: "The code has changed." });
      const repeat = await set(AUDITED, options);
      assert.deepEqual([repeat.text, repeat.headers.get("idempotency-replayed")], [first.text, "true"]);
      const other = { level: 2, reason: "Another level." };
      assertError(await set(other, options), 409, "idempotency_key_reused");
      const stranger = await api.registerAgent();
      assertError(await set(AUDITED, options, stranger.agentId), 409, "idempotency_key_reused");
      assert.strictEqual(await levelOf(), 1);
    });

    it("[D32] every use of the admin key is in the audit with its outcome, the refused ones too", async () => {
      const before = (await uses()).length;
      await set(AUDITED);
      await set({ level: 9 });
      await set({ level: 1, reason: "x" }, bearer(ADMIN_KEY), "agt_unknown");
      const entries = (await uses()).slice(before);
      assert.deepEqual(
        entries.map(({ method, path, ip, status }) => ({ method, path, ip, status })),
        [
          { method: "POST", path: pathOf(agent.agentId), ip: "127.0.0.1", status: 200 },
          { method: "POST", path: pathOf(agent.agentId), ip: "127.0.0.1", status: 400 },
          { method: "POST", path: pathOf("agt_unknown"), ip: "127.0.0.1", status: 404 },
        ],
      );
      assert.ok(!JSON.stringify(entries).includes(ADMIN_KEY));
    });
  });

  describe("errors", () => {
    it("an unknown agent is 404", async () => {
      assertError(await set(AUDITED, bearer(ADMIN_KEY), "agt_unknown"), 404, "not_found");
    });

    it("names what is missing, out of range or unknown", async () => {
      assertInvalid(await set({}), "body.level", "body.reason");
      for (const level of [-1, 4, 1.5, "2"]) assertInvalid(await set({ level, reason: "x" }), "body.level");
      assertInvalid(await set({ level: 3, reason: "x" }), "body.verification");
      assertInvalid(await set({ ...AUDITED, level: 2 }), "body.verification");
      assertInvalid(await set({ ...AUDITED, by: "me" }), "body.by");
      assert.strictEqual(await levelOf(), 0);
    });
  });

  describe("security", () => {
    it("refuses a missing or wrong key and an agent's key, and audits none of these", async () => {
      const before = (await uses()).length;
      const refused: RequestOptions[] = [
        {},
        bearer("x".repeat(32)),
        bearer(ADMIN_KEY.slice(0, -1)),
        bearer(`${ADMIN_KEY}0`),
        bearer(` ${ADMIN_KEY}`),
        bearer(agent.apiKey),
        { key: agent.apiKey },
        { key: ADMIN_KEY },
        { headers: { authorization: ADMIN_KEY } },
        { headers: { authorization: `Basic ${ADMIN_KEY}` } },
      ];
      for (const options of refused) {
        const answer = await set(AUDITED, options);
        assertError(answer, 401, "invalid_api_key");
        assert.match(answer.body.details.hint, /ADMIN_API_KEY/);
        assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer /);
      }
      assert.strictEqual(await levelOf(), 0);
      assert.strictEqual((await uses()).length, before);
    });

    it("the admin key opens no agent's route", async () => {
      const answer = await api.request("GET", "/api/v1/services", bearer(ADMIN_KEY));
      assertError(answer, 401, "invalid_api_key");
    });

    it("[D32] without ADMIN_API_KEY the route doesn't exist, whatever the key and the form of the path", async () => {
      const plain = await startTestApi();
      try {
        const stranger = await plain.registerAgent();
        for (const path of [pathOf(stranger.agentId), pathOf(stranger.agentId).slice("/api".length)]) {
          for (const options of [bearer(ADMIN_KEY), bearer("undefined"), {}, { key: stranger.apiKey }]) {
            assertError(await plain.request("POST", path, { ...options, body: AUDITED }), 404, "not_found");
          }
          assertError(await plain.request("GET", path), 404, "not_found");
        }
      } finally {
        await plain.close();
      }
    });

    it("the service doesn't start with an admin key of fewer than 32 characters, or with white space in it", async () => {
      const variables = { ...testVariables(await readStack()), MONGODB_URI: "mongodb://127.0.0.1:1/" };
      for (const key of ["x".repeat(31), `${"x".repeat(32)} y`, "ü".repeat(32)]) {
        assert.throws(() => loadEnv({ ...variables, ADMIN_API_KEY: key }), /ADMIN_API_KEY must have 32 characters/);
      }
      assert.strictEqual(loadEnv({ ...variables, ADMIN_API_KEY: "x".repeat(32) }).adminApiKey, "x".repeat(32));
      assert.strictEqual(loadEnv({ ...variables, ADMIN_API_KEY: "" }).adminApiKey, undefined);
    });
  });
});
