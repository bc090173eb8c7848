// What a page does with the agent's keys: only what the wallet has just signed (decision 57).
import { assert } from "chai";

import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { withMandate } from "../../fixtures/mandates.ts";
import { SESSIONS, signIn } from "../../fixtures/page-session.ts";
import type { SignedInPage } from "../../fixtures/page-session.ts";
import { KEY_STATEMENT, keyRequestBody, registrationBody } from "../../fixtures/sign-in.ts";

const PATH = `${SESSIONS}/current/keys`;
const USAGE = "/api/v1/auth/usage";
const LIST = "Manage keys: list them.";
const FREEZE = "Manage keys: freeze all of them.";
const revokeText = (keyId: string) => `Manage keys: revoke ${keyId}.`;

describe("the keys of an agent on its page", () => {
  let api: TestApi;
  let agent: TestAgent;
  let page: SignedInPage;
  before(async () => {
    api = await startTestApi({ env: { limits: limitsWith({ registration: 1_000, keyless: 1_000 }) } });
  });
  beforeEach(async () => {
    agent = await api.registerAgent();
    page = await signIn(api, agent, { scopes: "read" });
  });
  after(() => api.close());

  /** What the wallet signs: a message with this statement. */
  const signed = (statement: string, { account } = agent) => keyRequestBody(account, { statement });
  const send = (body: object) => page.request("POST", PATH, { body });
  const list = async () => send({ action: "list", ...(await signed(LIST)) });
  const works = async (key: string) => (await api.request("GET", USAGE, { key })).status === 200;
  const idsOf = ({ status, body, text }: Answer) => {
    assert.strictEqual(status, 200, text);
    return (body.data as { keyId: string }[]).map(({ keyId }) => keyId);
  };

  describe("happy", () => {
    it("[D57] are listed, as the routes for keys list them", async () => {
      const mandated = await withMandate(api, agent);
      const byKey = await api.request("GET", "/api/v1/auth/keys", { key: agent.apiKey });
      const byPage = await list();
      assert.lengthOf(idsOf(byPage), 2);
      assert.include(idsOf(byPage), mandated.keyId);
      const others = (byKey.body.data as object[]).map((key) => ({ ...key, current: false }));
      assert.deepEqual(byPage.body.data, others);
      assert.notInclude(byPage.text, page.token);
    });

    it("[D57] are revoked one by one, with their mandates", async () => {
      const mandated = await withMandate(api, agent);
      const answer = await send({
        action: "revoke",
        keyId: mandated.keyId,
        ...(await signed(revokeText(mandated.keyId))),
      });
      assert.notInclude(idsOf(answer), mandated.keyId);
      assert.deepEqual([await works(mandated.apiKey), await works(agent.apiKey)], [false, true]);
    });

    it("[D57] are frozen together, with every other session", async () => {
      const [mandated, other] = [await withMandate(api, agent), await signIn(api, agent)];
      assert.deepEqual(idsOf(await send({ action: "freeze", ...(await signed(FREEZE)) })), []);
      assert.deepEqual([await works(mandated.apiKey), await works(agent.apiKey)], [false, false]);
      assertError(await other.request("GET", USAGE), 401, "session_ended");
      assert.strictEqual((await page.request("GET", USAGE)).status, 200);
    });
  });

  describe("error", () => {
    it("404 for a key of another agent, which stays as it was", async () => {
      const other = await api.registerAgent();
      const [keyId = ""] = idsOf(await api.request("GET", "/api/v1/auth/keys", { key: other.apiKey }));
      assertError(await send({ action: "revoke", keyId, ...(await signed(revokeText(keyId))) }), 404, "not_found");
      assert.isTrue(await works(other.apiKey));
    });

    it("400 for another action or a key's id that can't be one", async () => {
      assertInvalid(await send({ action: "issue", ...(await signed(LIST)) }), "body.action");
      for (const keyId of ["", "svc_1", `key_${"a".repeat(65)}`, "key_1. Manage keys: freeze all of them"]) {
        assertInvalid(await send({ action: "revoke", keyId, ...(await signed(revokeText(keyId))) }), "body.keyId");
      }
    });
  });

  describe("security", () => {
    it("[D57] are managed with no text for something else, not even for another action", async () => {
      const [keyId = ""] = idsOf(await list());
      const texts = [
        KEY_STATEMENT,
        "Open a page session for this agent.",
        "Register this wallet.",
        `${LIST} `,
        FREEZE.toLowerCase(),
        revokeText("key_0"),
      ];
      const actions = [
        [{ action: "list" }, LIST],
        [{ action: "freeze" }, FREEZE],
        [{ action: "revoke", keyId }, revokeText(keyId)],
      ] as const;
      for (const [action, own] of actions) {
        for (const statement of [...texts, ...actions.map(([, text]) => text)]) {
          if (statement === own) continue;
          assertError(await send({ ...action, ...(await signed(statement)) }), 400, "sign_in_message_invalid");
        }
      }
      assert.isTrue(await works(agent.apiKey));
      // Nor does such a text issue a key, register a wallet or open a session.
      for (const [, text] of actions) {
        const body = await signed(text);
        for (const [path, wanted] of [
          ["/api/v1/auth/keys", body],
          [SESSIONS, { ...body, scopes: "all" }],
          ["/api/v1/auth/register", (await registrationBody({ message: { statement: text } })).body],
        ] as const) {
          const answer = await page.request("POST", path, { body: wanted });
          assertError(answer, 400, "sign_in_message_invalid");
        }
      }
    });

    it("[D57] are managed once with a text, only by the agent's own wallet", async () => {
      const body = { action: "list", ...(await signed(LIST)) };
      const answers = await Promise.all([send(body), send(body), send(body)]);
      const statuses = answers.map(({ status }) => status);
      assert.sameMembers(statuses, [200, 409, 409]);
      assertError(await send(body), 409, "nonce_already_used");
      const other = await api.registerAgent();
      assertError(await send({ action: "freeze", ...(await signed(FREEZE, other)) }), 400, "signature_invalid");
      assert.deepEqual([await works(agent.apiKey), await works(other.apiKey)], [true, true]);
    });

    it("[D57] are managed with the signature and the session together, never with one alone", async () => {
      const body = { action: "freeze", ...(await signed(FREEZE)) };
      const refused = async (headers: Record<string, string>, status: number, code: string) => {
        assertError(await api.request("POST", PATH, { body, headers }), status, code);
      };
      await refused({}, 401, "session_ended");
      await refused({ "x-api-key": agent.apiKey }, 401, "session_ended");
      await refused(page.headers(), 403, "session_token_invalid");
      await refused({ ...page.headers(true), "sec-fetch-site": "same-site" }, 403, "session_other_origin");
      assert.strictEqual((await page.request("DELETE", `${SESSIONS}/current`)).status, 200);
      await refused(page.headers(true), 401, "session_ended");
      assert.isTrue(await works(agent.apiKey));
    });
  });
});
