import { assert } from "chai";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { keyRequestBody } from "../../fixtures/sign-in.ts";
import type { SignInFields } from "../../fixtures/sign-in.ts";

const KEYS = "/api/v1/auth/keys";

describe("API keys", () => {
  let now = new Date();
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ clock: { now: () => now } });
  });
  after(() => api.close());

  function passSeconds(seconds: number): void {
    now = new Date(now.getTime() + seconds * 1_000);
  }

  const register = () => api.registerAgent({ message: { issuedAt: now } });
  const keyRequest = async (
    { account }: Pick<TestAgent, "account">,
    extra: object = {},
    fields: SignInFields = {},
  ) => ({
    ...(await keyRequestBody(account, { issuedAt: now, ...fields })),
    ...extra,
  });
  const isAccepted = async (key: string) => (await api.request("GET", "/api/v1/services", { key })).status === 200;

  it("[D21] a new key works at once and ends the others at once by default", async () => {
    const agent = await register();
    const answer = await api.request("POST", KEYS, { body: await keyRequest(agent) });
    assert.strictEqual(answer.status, 201);
    assert.strictEqual(answer.body.agentId, agent.agentId);
    assert.ok(await isAccepted(answer.body.apiKey));
    assertError(await api.request("GET", "/api/v1/services", { key: agent.apiKey }), 401, "invalid_api_key");
  });

  it("[D21] [S5.06] an old key with a grace period works until it expires", async () => {
    const agent = await register();
    const body = await keyRequest(agent, { revokeOthersAfterSeconds: 60 });
    const answer = await api.request("POST", KEYS, { body });
    assert.strictEqual(answer.body.othersEndAt, new Date(now.getTime() + 60_000).toISOString());
    assert.ok(await isAccepted(agent.apiKey));
    passSeconds(59);
    assert.ok(await isAccepted(agent.apiKey));
    passSeconds(1);
    assertError(await api.request("GET", "/api/v1/services", { key: agent.apiKey }), 401, "invalid_api_key");
    assert.ok(await isAccepted(answer.body.apiKey));
  });

  it("an agent has ten keys at once: an eleventh makes the oldest invalid and no other", async () => {
    const agent = await register();
    const keys = [agent.apiKey];
    for (let issued = 1; issued <= 10; issued += 1) {
      const body = await keyRequest(agent, { revokeOthersAfterSeconds: 86_400 });
      keys.push(((await api.request("POST", KEYS, { body })).body as { apiKey: string }).apiKey);
    }
    const accepted = await Promise.all(keys.map(isAccepted));
    assert.deepEqual(accepted, [false, ...Array.from({ length: 10 }, () => true)]);
  });

  it("[D21] DELETE revokes only the request's own key", async () => {
    const agent = await register();
    const body = await keyRequest(agent, { revokeOthersAfterSeconds: 86_400 });
    const { apiKey } = (await api.request("POST", KEYS, { body })).body as { apiKey: string };
    const answer = await api.request("DELETE", KEYS, { key: apiKey });
    assert.strictEqual(answer.status, 200);
    assert.strictEqual(answer.body.data.agentId, agent.agentId);
    assert.ok(!(await isAccepted(apiKey)));
    assert.ok(await isAccepted(agent.apiKey));
  });

  it("[S5.05] [S7.03] a revoked key is invalid, even for a second revocation", async () => {
    const { apiKey } = await register();
    assert.strictEqual((await api.request("DELETE", KEYS, { key: apiKey })).status, 200);
    const answer = await api.request("DELETE", KEYS, { key: apiKey });
    assertError(answer, 401, "invalid_api_key");
    assert.strictEqual(answer.body.error, "Invalid API key");
  });

  it("[D21] a message gives only one key, because its nonce works once", async () => {
    const agent = await register();
    const body = await keyRequest(agent, { revokeOthersAfterSeconds: 300 });
    const answers = await Promise.all([1, 2, 3].map(() => api.request("POST", KEYS, { body })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409]);
    for (const answer of answers.filter(({ status }) => status === 409)) assertError(answer, 409, "nonce_already_used");
  });

  it("[D21] neither a registration message nor an unregistered wallet gets a key", async () => {
    const agent = await register();
    const wrongPurpose = await keyRequest(agent, {}, { statement: "Register and give me an API key" });
    assertError(await api.request("POST", KEYS, { body: wrongPurpose }), 400, "sign_in_message_invalid");
    const unknown = await keyRequest({ account: privateKeyToAccount(generatePrivateKey()) });
    assertError(await api.request("POST", KEYS, { body: unknown }), 404, "not_found");
  });

  it("[D21] revokeOthersAfterSeconds is an integer from 0 to 86400", async () => {
    const agent = await register();
    for (const revokeOthersAfterSeconds of [-1, 86_401, 1.5, "60", null]) {
      const body = await keyRequest(agent, { revokeOthersAfterSeconds });
      assertInvalid(await api.request("POST", KEYS, { body }), "body.revokeOthersAfterSeconds");
    }
    assert.ok(await isAccepted(agent.apiKey));
  });
});
