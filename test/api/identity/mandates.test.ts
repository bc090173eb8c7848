// Keys with a mandate: who may sign one, what it covers, and what it does to other keys (decision 57).
import { assert } from "chai";

import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { mandateBody, mandateOf, signMandate, withMandate } from "../../fixtures/mandates.ts";
import { keyRequestBody, registrationBody } from "../../fixtures/sign-in.ts";

const KEYS = "/api/v1/auth/keys";
const USAGE = "/api/v1/auth/usage";
const GENERAL = 5;

describe("keys with a mandate", () => {
  let api: TestApi;
  let agent: TestAgent;
  before(async () => {
    api = await startTestApi({
      env: { limits: limitsWith({ registration: 1_000, keyless: 1_000, general: GENERAL }) },
    });
  });
  beforeEach(async () => {
    agent = await api.registerAgent();
  });
  after(() => api.close());

  const ask = (body: object) => api.request("POST", KEYS, { body });
  const use = ({ apiKey }: { apiKey: string }) => api.request("GET", USAGE, { key: apiKey });
  const seconds = () => Math.floor(Date.now() / 1_000);

  it("are issued for the wallet's signature, end when it says, and end no other key", async () => {
    const body = await mandateBody(agent.account, { perDayUsd: "12.50" });
    const answer = await ask(body);
    assert.strictEqual(answer.status, 201, answer.text);
    assert.strictEqual(answer.body.agentId, agent.agentId);
    assert.strictEqual(answer.body.expiresAt, new Date(body.mandate.notAfter * 1_000).toISOString());
    assert.strictEqual((await use(answer.body)).status, 200);
    assert.strictEqual((await use(agent)).status, 200);
  });

  it("are listed with what they have left, for a key without a mandate", async () => {
    const { keyId, apiKey } = await withMandate(api, agent, { perDealUsd: "2.5", perDayUsd: "12.50", totalUsd: "7" });
    const { status, body, text } = await api.request("GET", KEYS, { key: agent.apiKey });
    assert.strictEqual(status, 200, text);
    assert.notInclude(text, apiKey);
    assert.deepEqual(
      body.data.map((key: any) => [key.current, key.mandate === null]),
      [
        [true, true],
        [false, false],
      ],
    );
    assert.strictEqual(body.data[1].keyId, keyId);
    assert.deepEqual(body.data[1].mandate.left, { perDealUsd: "2.5", todayUsd: "7", totalUsd: "7" });
  });

  it("[D57] manage no keys", async () => {
    const mandated = await withMandate(api, agent, { scopes: ["read", "buy", "sell", "message", "memory"] });
    for (const [method, path] of [
      ["GET", KEYS],
      ["DELETE", KEYS],
      ["DELETE", `${KEYS}/${mandated.keyId}`],
      ["POST", `${KEYS}/freeze`],
    ] as const) {
      assertError(await api.request(method, path, { key: mandated.apiKey }), 403, "scope_not_granted");
    }
    assert.strictEqual((await use(mandated)).status, 200);
  });

  describe("are refused for a mandate", () => {
    it("that was used before, even by another process", async () => {
      const body = await mandateBody(agent.account);
      const answers = await Promise.all([ask(body), ask(body), ask(body)]);
      const codes = answers.map(({ status, body: { code } }) => [status, code]);
      assert.sameDeepMembers(codes, [
        [201, undefined],
        [409, "nonce_already_used"],
        [409, "nonce_already_used"],
      ]);
    });

    it("of another host, of another time, or that is over", async () => {
      const now = seconds();
      const cases: [object, string][] = [
        [{ host: "market.evil" }, "host"],
        [{ host: "" }, "host"],
        [{ issuedAt: now - 660 }, "issuedAt"],
        [{ issuedAt: now + 120 }, "issuedAt"],
        [{ notAfter: now - 1 }, "notAfter"],
        [{ notAfter: now + 400 * 86_400 }, "notAfter"],
      ];
      for (const [changed, field] of cases) {
        assertInvalid(await ask(await mandateBody(agent.account, changed)), `body.mandate.${field}`);
      }
    });

    it("that another wallet signed, also for its own agent's sake", async () => {
      const attacker = await api.registerAgent();
      const mandate = mandateOf(agent.walletAddress);
      const signature = await signMandate(attacker.account, mandate);
      assertError(await ask({ mandate, signature }), 400, "signature_invalid");
      const own = await mandateBody(attacker.account);
      const taken = { ...own.mandate, wallet: agent.walletAddress };
      assertError(await ask({ mandate: taken, signature: own.signature }), 400, "signature_invalid");
      assertError(await ask({ mandate, signature: `0x${"0".repeat(130)}` }), 400, "signature_invalid");
    });

    it("of a wallet that isn't registered", async () => {
      const { account } = await registrationBody();
      assertError(await ask(await mandateBody(account)), 404, "not_found");
    });

    it("in which anything isn't as the wallet signed it", async () => {
      const { mandate, signature } = await mandateBody(agent.account, { networks: ["base-sepolia"] });
      const changes: Record<string, unknown> = {
        nonce: "another0nonce",
        issuedAt: mandate.issuedAt - 1,
        notAfter: mandate.notAfter + 1,
        perDealUsd: "1000.000001",
        perDayUsd: "1001",
        totalUsd: "999999999",
        categories: ["accounting"],
        sellers: [agent.walletAddress],
        networks: [],
        requireCriteria: true,
        scopes: ["read", "buy", "sell"],
      };
      for (const [field, value] of Object.entries(changes)) {
        assertError(await ask({ mandate: { ...mandate, [field]: value }, signature }), 400, "signature_invalid");
      }
      assert.strictEqual((await ask({ mandate, signature })).status, 201);
    });

    it("that isn't well-formed", async () => {
      const { mandate, signature } = await mandateBody(agent.account);
      const cases: Record<string, unknown[]> = {
        scopes: [[], ["everything"], undefined],
        perDealUsd: ["-1", "1e3", "0.0000001", 5, undefined],
        perDayUsd: ["1,000", ""],
        totalUsd: ["9999999999"],
        categories: [["no_such_category"], undefined],
        sellers: [["0x123"]],
        networks: [["ethereum"]],
        requireCriteria: ["yes"],
        onExceeded: ["ask", "ignore"],
        nonce: ["short", "white space"],
      };
      for (const [field, values] of Object.entries(cases)) {
        for (const value of values) {
          const answer = await ask({ mandate: { ...mandate, [field]: value }, signature });
          assertError(answer, 400, "validation_error");
          assert.match(answer.body.details[0].path, new RegExp(`^body.mandate.${field}`));
        }
      }
      assertInvalid(await ask({ mandate, signature, revokeOthersAfterSeconds: 0 }), "body.revokeOthersAfterSeconds");
      assertInvalid(await ask({ mandate, ...(await keyRequestBody(agent.account)) }), "body.message");
      assertInvalid(await ask({ signature }), "body.message");
    });
  });

  it("[D57] survive a sign-in, which ends the other keys and counts no mandate among its ten", async () => {
    const mandated = await withMandate(api, agent);
    for (let signIn = 0; signIn < 11; signIn += 1) {
      const body = { ...(await keyRequestBody(agent.account)), revokeOthersAfterSeconds: 86_400 };
      assert.strictEqual((await ask(body)).status, 201);
    }
    const last = await ask(await keyRequestBody(agent.account));
    assertError(await use(agent), 401, "invalid_api_key");
    assert.strictEqual((await use(mandated)).status, 200);
    const { data } = (await api.request("GET", KEYS, { key: last.body.apiKey })).body;
    assert.lengthOf(data, 2);
  });

  it("[D57] are fifty at most; one that has ended makes room", async () => {
    const issued = [];
    for (let count = 0; count < 50; count += 1) issued.push(await withMandate(api, agent));
    const refused = await ask(await mandateBody(agent.account));
    assertError(refused, 409, "mandate_limit_reached");
    assert.deepEqual(refused.body.details, { limit: 50 });
    const first = issued[0]?.keyId ?? "";
    assert.strictEqual((await api.request("DELETE", `${KEYS}/${first}`, { key: agent.apiKey })).status, 200);
    assert.strictEqual((await ask(await mandateBody(agent.account))).status, 201);
  });

  it("[D57] share the agent's rate windows, beside those of the keys without one", async () => {
    const [one, other] = [await withMandate(api, agent), await withMandate(api, agent)];
    for (let call = 0; call < GENERAL; call += 1) {
      const answer = await use(call % 2 === 0 ? one : other);
      assert.strictEqual(answer.status, 200);
      assert.strictEqual(answer.headers.get("x-ratelimit-remaining"), String(GENERAL - 1 - call));
    }
    for (const key of [one, other]) {
      const refused = await use(key);
      assertError(refused, 429, "rate_limit_exceeded");
      assert.deepEqual(refused.body.details, { window: "general", countedBy: "agent", limit: GENERAL });
    }
    assert.strictEqual((await use(agent)).status, 200);
  });

  it("are revoked one by one, and all at once but the owner's own", async () => {
    const [one, other] = [await withMandate(api, agent), await withMandate(api, agent)];
    assert.strictEqual((await api.request("DELETE", `${KEYS}/${one.keyId}`, { key: agent.apiKey })).status, 200);
    assertError(await use(one), 401, "invalid_api_key");
    assert.strictEqual((await use(other)).status, 200);
    const stranger = await api.registerAgent();
    const foreign = await api.request("DELETE", `${KEYS}/${other.keyId}`, { key: stranger.apiKey });
    assertError(foreign, 404, "not_found");
    const second = await ask({ ...(await keyRequestBody(agent.account)), revokeOthersAfterSeconds: 3_600 });
    assert.strictEqual(
      (await api.request("POST", `${KEYS}/freeze`, { key: second.body.apiKey, body: {} })).status,
      200,
    );
    for (const ended of [agent, other]) assertError(await use(ended), 401, "invalid_api_key");
    assert.strictEqual((await use(second.body)).status, 200);
    assert.strictEqual((await use(stranger)).status, 200);
  });
});
