// What a page does with the secret of the agent's webhooks: only what the wallet has just signed.
import { assert } from "chai";

import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { SESSIONS, signIn } from "../../fixtures/page-session.ts";
import type { SignedInPage } from "../../fixtures/page-session.ts";
import { keyRequestBody } from "../../fixtures/sign-in.ts";

const PATH = `${SESSIONS}/current/webhook-secret`;
const SECRET = "/api/v1/webhooks/secret";
const STATEMENTS = {
  read: "Webhook secret: show it.",
  rotate: "Webhook secret: make the next one.",
  activate: "Webhook secret: activate the next one.",
} as const;
type Action = keyof typeof STATEMENTS;
const ACTIONS = Object.keys(STATEMENTS) as Action[];

describe("the webhook secret on an agent's page", () => {
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

  const signed = (statement: string, { account } = agent) => keyRequestBody(account, { statement });
  const send = (body: object) => page.request("POST", PATH, { body });
  const perform = async (action: Action) => send({ action, ...(await signed(STATEMENTS[action])) });
  const byKey = async () => (await api.request("GET", SECRET, { key: agent.apiKey })).body.data as object;

  it("is shown, rotated and activated, as the routes for webhooks do it", async () => {
    const shown = await perform("read");
    assert.strictEqual(shown.status, 200, shown.text);
    assert.deepEqual(shown.body.data, await byKey());
    assert.strictEqual(shown.headers.get("cache-control"), "no-store");
    const rotated = await perform("rotate");
    assert.deepEqual(rotated.body.data, await byKey());
    const next = rotated.body.data.next.secret as string;
    assert.notStrictEqual(next, shown.body.data.secret);
    const activated = await perform("activate");
    assert.deepEqual([activated.body.data.secret, activated.body.data.next], [next, null]);
    assert.deepEqual(activated.body.data, await byKey());
  });

  it("400 for another action", async () => {
    assertInvalid(await send({ action: "list", ...(await signed(STATEMENTS.read)) }), "body.action");
  });

  it("takes no text for something else, of another wallet, or twice", async () => {
    const before = await byKey();
    for (const action of ACTIONS) {
      const others = ACTIONS.filter((one) => one !== action).map((one) => STATEMENTS[one]);
      for (const statement of [...others, "Manage keys: list them.", "Open a page session for this agent."]) {
        assertError(await send({ action, ...(await signed(statement)) }), 400, "sign_in_message_invalid");
      }
    }
    const other = await api.registerAgent();
    const foreign = await signed(STATEMENTS.rotate, other);
    assertError(await send({ action: "rotate", ...foreign }), 400, "signature_invalid");
    const body = { action: "read", ...(await signed(STATEMENTS.read)) };
    assert.strictEqual((await send(body)).status, 200);
    assertError(await send(body), 409, "nonce_already_used");
    assert.deepEqual(await byKey(), before);
  });

  it("needs the session and its token, and no key opens it", async () => {
    const body = { action: "read", ...(await signed(STATEMENTS.read)) };
    assertError(await api.request("POST", PATH, { body, key: agent.apiKey }), 401, "session_ended");
    const headers = page.headers();
    assertError(await api.request("POST", PATH, { body, headers }), 403, "session_token_invalid");
  });
});
