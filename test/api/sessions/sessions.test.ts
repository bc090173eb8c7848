// Sessions of pages: who may open one, in which requests it counts, and when it ends (decision 57).
import { assert } from "chai";

import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { PUBLIC_URL } from "../../fixtures/environment.ts";
import { limitsWith, movedClock } from "../../fixtures/limits.ts";
import { withMandate } from "../../fixtures/mandates.ts";
import {
  askSession,
  SESSION_STATEMENTS,
  sameOrigin,
  sessionBody,
  SESSIONS,
  signIn,
} from "../../fixtures/page-session.ts";
import type { SignedInPage } from "../../fixtures/page-session.ts";
import { keyRequestBody, registrationBody, signInMessage } from "../../fixtures/sign-in.ts";

const KEYS = "/api/v1/auth/keys";
const USAGE = "/api/v1/auth/usage";
const MEMORY = "/api/v1/memory";
const CURRENT = `${SESSIONS}/current`;
const MINUTE = 60_000;
const GENERAL = 200;
const FOREIGN = "https://other.test";

describe("sessions of pages", () => {
  const clock = movedClock();
  let api: TestApi;
  let agent: TestAgent;
  before(async () => {
    const limits = limitsWith({ registration: 1_000, keyless: 1_000, general: GENERAL });
    api = await startTestApi({ clock, env: { limits, corsOrigins: [FOREIGN] } });
  });
  beforeEach(async () => {
    agent = await api.registerAgent({ message: { issuedAt: clock.now() } });
  });
  after(() => api.close());

  const fields = () => ({ issuedAt: clock.now() });
  const open = (scopes: "read" | "all" = "all", of = agent) => signIn(api, of, { scopes, fields: fields() });
  const ask = (headers: Record<string, string>) => askSession(api, agent, { fields: fields(), headers });
  const note = (key = "note") => ({ body: { key, value: 1 } });
  const stored = () =>
    api.container.features.limits.models.access.findById(agent.agentId).lean().orFail().then(JSON.stringify);

  describe("happy", () => {
    it("are opened by the wallet's signature, in a cookie that no script reads, and stored as hashes", async () => {
      const answer = await ask(sameOrigin());
      assert.strictEqual(answer.status, 201, answer.text);
      const { agentId, scopes, token, idleEndsAt, endsAt } = answer.body.data;
      assert.strictEqual(agentId, agent.agentId);
      assert.deepEqual(scopes, ["read", "buy", "sell", "message", "memory"]);
      assert.strictEqual(Date.parse(idleEndsAt) - clock.now().getTime(), 30 * MINUTE);
      assert.strictEqual(Date.parse(endsAt) - clock.now().getTime(), 12 * 60 * MINUTE);
      const cookie = answer.headers.get("set-cookie") ?? "";
      assert.match(cookie, /^__Host-session=[0-9a-f]{64}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/);
      const id = /=([0-9a-f]{64})/.exec(cookie)?.[1] ?? "";
      assert.notStrictEqual(id, token);
      for (const secret of [id, token]) assert.notInclude(await stored(), secret);
    });

    it("read without the token, and change with it", async () => {
      const page = await open();
      const read = await api.request("GET", USAGE, { headers: page.headers() });
      assert.strictEqual(read.status, 200, read.text);
      assert.strictEqual((await page.request("POST", MEMORY, note())).status, 201);
      const entry = await api.request("GET", `${MEMORY}/note`, { key: agent.apiKey });
      assert.strictEqual(entry.body.data.value, 1);
    });

    it("say whose they are, without their secrets, and end on sign-out", async () => {
      const page = await open("read");
      const { status, body, text } = await api.request("GET", CURRENT, { headers: page.headers() });
      assert.deepEqual([status, body.data.agentId, body.data.scopes], [200, agent.agentId, ["read"]]);
      assert.notInclude(text, page.token);
      const ended = await page.request("DELETE", CURRENT);
      assert.strictEqual(ended.status, 200, ended.text);
      assert.match(ended.headers.get("set-cookie") ?? "", /^__Host-session=; Path=\/; Max-Age=0; HttpOnly; .*Secure$/);
      await assertEnded(page);
    });

    it("[D57] end and displace no key, and share the window of the keys with a mandate", async () => {
      const mandated = await withMandate(api, agent, { issuedAt: Math.floor(clock.now().getTime() / 1_000) });
      const [page, other] = [await open(), await open("read")];
      const listed = await api.request("GET", KEYS, { key: agent.apiKey });
      assert.strictEqual(listed.body.data.length, 2, listed.text);
      const remaining = [];
      for (const headers of [page.headers(), other.headers(), { "x-api-key": mandated.apiKey }]) {
        const answer = await api.request("GET", USAGE, { headers });
        assert.strictEqual(answer.status, 200, answer.text);
        remaining.push(Number(answer.headers.get("x-ratelimit-remaining")));
      }
      assert.deepEqual(remaining, [GENERAL - 1, GENERAL - 2, GENERAL - 3]);
      const issued = await api.request("POST", KEYS, { body: await keyRequestBody(agent.account, fields()) });
      assert.strictEqual(issued.status, 201, issued.text);
      assert.strictEqual((await page.request("GET", USAGE)).status, 200);
    });
  });

  describe("error", () => {
    it("aren't opened with a text for something else, nor do their texts open anything else", async () => {
      const { statement } = { statement: SESSION_STATEMENTS.all };
      const refused = async (path: string, body: object) => {
        assertError(await api.request("POST", path, { body, headers: sameOrigin() }), 400, "sign_in_message_invalid");
      };
      const { body: registration } = await registrationBody({ message: fields() });
      for (const scopes of ["read", "all"] as const) {
        await refused(SESSIONS, { ...(await keyRequestBody(agent.account, fields())), scopes });
        const { message, signature } = registration;
        await refused(SESSIONS, { message, signature, scopes });
      }
      await refused(SESSIONS, { ...(await sessionBody(agent, { scopes: "read", fields: fields() })), scopes: "all" });
      await refused(SESSIONS, { ...(await sessionBody(agent, { scopes: "all", fields: fields() })), scopes: "read" });
      await refused(KEYS, await keyRequestBody(agent.account, { ...fields(), statement }));
      const stranger = await registrationBody({ message: { ...fields(), statement } });
      await refused("/api/v1/auth/register", stranger.body);
    });

    it("are refused for a text that was used, is too old or was signed by another wallet, and to a stranger", async () => {
      const body = await sessionBody(agent, { fields: fields() });
      const send = (given: object) => api.request("POST", SESSIONS, { body: given, headers: sameOrigin() });
      const answers = await Promise.all([send(body), send(body), send(body)]);
      assert.sameMembers(
        answers.map(({ status }) => status),
        [201, 409, 409],
      );
      assertError(await send(body), 409, "nonce_already_used");
      const old = new Date(clock.now().getTime() - 11 * MINUTE);
      assertError(await send(await sessionBody(agent, { fields: { issuedAt: old } })), 400, "sign_in_message_invalid");
      const { account } = await registrationBody();
      const message = signInMessage(agent.walletAddress, { ...fields(), statement: SESSION_STATEMENTS.all });
      const forged = { message, signature: await account.signMessage({ message }), scopes: "all" };
      assertError(await send(forged), 400, "signature_invalid");
      const unknown = await askSession(api, { account }, { fields: fields() });
      assertError(unknown, 404, "wallet_not_registered");
      assert.match(unknown.body.details.hint, /POST \/api\/v1\/auth\/register/);
    });

    it("are ten for an agent, even if they are opened at once; those that have ended don't count", async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => ask(sameOrigin())));
      const refused = answers.filter(({ status }) => status !== 201);
      assert.deepEqual(
        refused.map(({ status, body }) => [status, body.code, body.details]),
        Array.from({ length: 2 }, () => [409, "session_limit_reached", { limit: 10 }]),
      );
      clock.pass(31 * MINUTE);
      await open();
    });

    it("end after 30 minutes without a request, and after 12 hours in any case", async () => {
      const [idle, used] = [await open(), await open()];
      for (let minutes = 0; minutes < 12 * 60 - 25; minutes += 25) {
        clock.pass(25 * MINUTE);
        const answer = await api.request("GET", USAGE, { headers: used.headers() });
        assert.strictEqual(answer.status, 200, `after ${minutes + 25} minutes: ${answer.text}`);
        if (minutes === 25) await assertEnded(idle);
      }
      clock.pass(20 * MINUTE);
      await assertEnded(used);
    });
  });

  describe("security", () => {
    it("don't count in a request from another origin, or when the browser doesn't say that the origin is the same", async () => {
      const page = await open();
      const foreign: Record<string, string>[] = [
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
        { "sec-fetch-site": "none" },
        { "sec-fetch-site": "" },
        { origin: FOREIGN },
        { origin: "null" },
        { origin: `${PUBLIC_URL}:8443` },
        { origin: PUBLIC_URL.replace("https", "http") },
      ];
      for (const headers of foreign) {
        for (const [method, path, options] of [
          ["GET", USAGE, {}],
          ["POST", MEMORY, note()],
          ["GET", CURRENT, {}],
          ["DELETE", CURRENT, {}],
        ] as const) {
          assertError(await page.request(method, path, { ...options, headers }), 403, "session_other_origin");
        }
        assertError(await ask({ ...sameOrigin(), ...headers }), 403, "session_other_origin");
      }
      const { cookie } = page;
      assertError(await api.request("GET", USAGE, { headers: { cookie } }), 403, "session_other_origin");
      assertError(await ask({ "sec-fetch-site": "same-origin" }), 403, "session_other_origin");
      assertError(await ask({ origin: PUBLIC_URL }), 403, "session_other_origin");
      assert.strictEqual((await page.request("GET", USAGE)).status, 200);
    });

    it("change nothing without their own token", async () => {
      const [page, other] = [await open(), await open()];
      const tokens = [undefined, "", other.token, page.token.toUpperCase(), `${page.token} `.repeat(2)];
      for (const token of tokens) {
        const headers = { ...page.headers(), ...(token === undefined ? {} : { "x-session-token": token }) };
        assertError(await api.request("POST", MEMORY, { ...note(), headers }), 403, "session_token_invalid");
        assertError(await api.request("DELETE", CURRENT, { headers }), 403, "session_token_invalid");
      }
      assertError(await api.request("GET", `${MEMORY}/note`, { key: agent.apiKey }), 404, "not_found");
      assert.strictEqual((await page.request("GET", CURRENT)).status, 200);
    });

    it("do no more than their scopes, and manage no keys", async () => {
      const [reading, acting] = [await open("read"), await open()];
      assertError(await reading.request("POST", MEMORY, note()), 403, "scope_not_granted");
      for (const page of [reading, acting]) {
        for (const [method, path] of [
          ["GET", KEYS],
          ["DELETE", KEYS],
          ["DELETE", `${KEYS}/key_of_another`],
          ["POST", `${KEYS}/freeze`],
        ] as const) {
          assertError(await page.request(method, path), 403, "scope_not_granted");
        }
      }
      assert.strictEqual((await api.request("GET", USAGE, { key: agent.apiKey })).status, 200);
    });

    it("look at webhooks, send again only with all scopes, and never see their secret", async () => {
      const [reading, acting] = [await open("read"), await open()];
      const body = { url: "http://127.0.0.1:1/", events: ["message.received"] };
      const registered = await api.request("POST", "/api/v1/webhooks", { key: agent.apiKey, body });
      const { webhookId } = registered.body.data as { webhookId: string };
      const listed = await reading.request("GET", "/api/v1/webhooks");
      assert.deepEqual(listed.body.data, [registered.body.data]);
      const ping = `/api/v1/webhooks/${webhookId}/ping`;
      assertError(await reading.request("POST", ping), 403, "scope_not_granted");
      assert.strictEqual((await acting.request("POST", ping)).status, 202);
      for (const [method, path] of [
        ["POST", "/api/v1/webhooks"],
        ["DELETE", `/api/v1/webhooks/${webhookId}`],
        ["GET", "/api/v1/webhooks/secret"],
        ["POST", "/api/v1/webhooks/secret/rotate"],
        ["POST", "/api/v1/webhooks/secret/activate"],
      ] as const) {
        assertError(await acting.request(method, path), 403, "scope_not_granted");
      }
      assert.strictEqual((await reading.request("GET", "/api/v1/webhooks/deliveries")).body.data.length, 1);
    });

    it("count on /api/v1 alone, where a key is asked for and none is sent", async () => {
      const page = await open();
      assertError(await page.request("GET", USAGE.replace("/api", "")), 401, "invalid_api_key");
      assertError(await page.request("GET", USAGE, { key: `svc_${"0".repeat(64)}` }), 401, "invalid_api_key");
      const authorization = `Bearer ${agent.apiKey}`;
      const foreign = { ...page.headers(), "sec-fetch-site": "cross-site", authorization };
      assert.strictEqual((await api.request("GET", USAGE, { headers: foreign })).status, 200);
      const ucp = await page.request("POST", "/api/v1/ucp/messages", { body: {} });
      assert.deepEqual([ucp.status, ucp.body], [401, { error: "Invalid or inactive API key" }]);
      const rpc = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "my_jobs", arguments: {} } };
      const headers = { accept: "application/json, text/event-stream" };
      const host = new URL(PUBLIC_URL).host;
      const mcp = await fetch(`${api.url}/mcp`, {
        method: "POST",
        body: JSON.stringify(rpc),
        headers: { ...page.headers(true), ...headers, host, "content-type": "application/json" },
      });
      assert.strictEqual(mcp.status, 200);
      assert.include(await mcp.text(), "api_key_required");
    });

    it("aren't keys, and keys aren't sessions", async () => {
      const page = await open();
      const id = page.cookie.split("=")[1] ?? "";
      for (const key of [id, `svc_${id}`, page.token]) {
        assertError(await api.request("GET", USAGE, { key }), 401, "invalid_api_key");
      }
      const cookieOf = (value: string) => ({ ...page.headers(), cookie: `__Host-session=${value}` });
      for (const value of [agent.apiKey, "", "x", id.toUpperCase(), `${id}; __Host-session=${"0".repeat(64)}`]) {
        assertError(await api.request("GET", USAGE, { headers: cookieOf(value) }), 401, "invalid_api_key");
      }
      for (const value of ["0".repeat(64), page.token, agent.apiKey.slice(4)]) {
        assertError(await api.request("GET", USAGE, { headers: cookieOf(value) }), 401, "session_ended");
      }
      const insecure = { ...page.headers(), cookie: `session=${id}` };
      assertError(await api.request("GET", USAGE, { headers: insecure }), 401, "invalid_api_key");
      const among = { ...page.headers(), cookie: `theme=dark; ${page.cookie}; a=b` };
      assert.strictEqual((await api.request("GET", USAGE, { headers: among })).status, 200);
    });

    it("end when the agent's keys are frozen", async () => {
      const page = await open();
      const frozen = await api.request("POST", `${KEYS}/freeze`, { key: agent.apiKey });
      assert.strictEqual(frozen.status, 200, frozen.text);
      await assertEnded(page);
    });

    it("are offered to no other site: no answer allows credentials or the token's header", async () => {
      const page = await open();
      const preflight = await api.request("OPTIONS", USAGE, {
        headers: {
          origin: FOREIGN,
          "access-control-request-method": "GET",
          "access-control-request-headers": "x-session-token",
        },
      });
      assert.strictEqual(preflight.headers.get("access-control-allow-origin"), FOREIGN);
      assert.notMatch(preflight.headers.get("access-control-allow-headers") ?? "", /session/i);
      const asked = await page.request("GET", USAGE, { headers: { origin: FOREIGN } });
      assertError(asked, 403, "session_other_origin");
      for (const { headers } of [preflight, asked]) {
        assert.isNull(headers.get("access-control-allow-credentials"));
      }
    });
  });

  /** Asserts that a session has ended, and that the answer removes its cookie. */
  async function assertEnded(page: SignedInPage): Promise<void> {
    for (const path of [USAGE, CURRENT]) {
      const answer = await page.request("GET", path);
      assertError(answer, 401, "session_ended");
      assert.match(answer.headers.get("set-cookie") ?? "", /^__Host-session=; .*Max-Age=0/);
    }
  }
});
