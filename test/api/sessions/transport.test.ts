// Sessions of pages over http: on the machine's own loopback, whose cookies every port gets, and nowhere else.
import { assert } from "chai";

import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { askSession, sameOrigin, SESSIONS, signIn } from "../../fixtures/page-session.ts";
import { headOf, RawClient } from "../../fixtures/raw-client.ts";

const USAGE = "/api/v1/auth/usage";
const LOOPBACK = "http://127.0.0.1:3000";
const HTTP = "http://market.test";

describe("sessions of pages over http", () => {
  const limits = limitsWith({ registration: 1_000, keyless: 1_000 });
  const fieldsOf = (url: string) => ({ domain: new URL(url).host, uri: url });

  describe("on loopback", () => {
    let api: TestApi;
    let agent: TestAgent;
    before(async () => {
      api = await startTestApi({ env: { publicUrl: LOOPBACK, limits } });
      agent = await api.registerAgent({ message: fieldsOf(LOOPBACK) });
    });
    after(() => api.close());

    it("have a cookie without Secure, and need the token also to read: another port's server has seen the cookie", async () => {
      const options = { fields: fieldsOf(LOOPBACK), headers: sameOrigin(LOOPBACK) };
      const answer = await askSession(api, agent, options);
      assert.match(
        answer.headers.get("set-cookie") ?? "",
        /^session=[0-9a-f]{64}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
      );
      const page = await signIn(api, agent, options);
      assert.strictEqual((await page.request("GET", USAGE)).status, 200);
      for (const path of [USAGE, `${SESSIONS}/current`]) {
        assertError(await api.request("GET", path, { headers: page.headers() }), 403, "session_token_invalid");
        const forged = { ...page.headers(), "x-session-token": page.cookie.split("=")[1] ?? "" };
        assertError(await api.request("GET", path, { headers: forged }), 403, "session_token_invalid");
      }
    });

    it("count for the name and the port in PUBLIC_URL alone", async () => {
      const fields = fieldsOf(LOOPBACK);
      const page = await signIn(api, agent, { fields, headers: sameOrigin(LOOPBACK) });
      for (const origin of ["http://localhost:3000", "http://127.0.0.1:3001", "https://127.0.0.1:3000"]) {
        assertError(await askSession(api, agent, { fields, headers: sameOrigin(origin) }), 403, "session_other_origin");
        assertError(await page.request("GET", USAGE, { headers: { origin } }), 403, "session_other_origin");
      }
    });

    it("begin at one name: a page that is opened under another one leads there, and nothing else does", async () => {
      const ask = async (host: string, path: string, accept: string, method = "GET") => {
        const client = await RawClient.open(api.ownUrl);
        await client.send(headOf(method, path, { Host: host, Accept: accept }));
        const answer = await client.answer();
        client.socket.destroy();
        return [answer?.status, answer?.headers["location"]];
      };
      const html = "text/html,application/xhtml+xml,*/*;q=0.8";
      for (const host of ["localhost:3000", "[::1]:3000", "LOCALHOST:3000"]) {
        assert.deepEqual(await ask(host, "/deals/1?a=b", html), [307, `${LOOPBACK}/deals/1?a=b`], host);
      }
      assert.deepEqual(await ask("localhost:3000", "//evil.test/", html), [307, `${LOOPBACK}//evil.test/`]);
      for (const [host, accept, method] of [
        ["127.0.0.1:3000", html, "GET"],
        ["localhost:3001", html, "GET"],
        ["market.evil", html, "GET"],
        ["localhost:3000", "*/*", "GET"],
        ["localhost:3000", "application/json", "GET"],
        ["localhost:3000", html, "POST"],
      ] as const) {
        const [status, location] = await ask(host, "/health", accept, method);
        assert.deepEqual([status, location], [method === "GET" ? 200 : 405, undefined], `${method} ${host} ${accept}`);
      }
    });
  });

  describe("elsewhere", () => {
    let api: TestApi;
    let agent: TestAgent;
    before(async () => {
      api = await startTestApi({ env: { publicUrl: HTTP, limits } });
      agent = await api.registerAgent({ message: fieldsOf(HTTP) });
    });
    after(() => api.close());

    it("can't be opened, and none counts", async () => {
      const refused = await askSession(api, agent, { fields: fieldsOf(HTTP), headers: sameOrigin(HTTP) });
      assertError(refused, 403, "sign_in_needs_https");
      assert.deepEqual(refused.body.details, { publicUrl: HTTP });
      assert.isNull(refused.headers.get("set-cookie"));
      const headers = { ...sameOrigin(HTTP), cookie: `session=${"0".repeat(64)}`, "x-session-token": "0".repeat(64) };
      assertError(await api.request("GET", USAGE, { headers }), 401, "invalid_api_key");
    });
  });
});
