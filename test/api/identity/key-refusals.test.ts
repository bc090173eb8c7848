// What POST /auth/keys refuses. Each message is well-formed and signed, but not by its wallet, not in time or not
// for this service (decision 21). A refusal changes nothing: it neither issues nor ends a key, and uses up no nonce.

import { assert } from "chai";

import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { KEY_STATEMENT, signInMessage } from "../../fixtures/sign-in.ts";
import type { SignInFields } from "../../fixtures/sign-in.ts";
import { changesNothing } from "../../fixtures/stored.ts";

const KEYS = "/api/v1/auth/keys";
const MINUTE_MS = 60_000;

describe("a key is refused", () => {
  let api: TestApi;
  let agent: TestAgent;
  let other: TestAgent;

  before(async () => {
    api = await startTestApi();
    [agent, other] = [await api.registerAgent(), await api.registerAgent()];
  });
  after(() => api.close());

  const text = (fields: SignInFields = {}) =>
    signInMessage(agent.walletAddress, { statement: KEY_STATEMENT, ...fields });
  const ask = async (message: string, signer: TestAgent): Promise<Answer> =>
    api.request("POST", KEYS, { body: { message, signature: await signer.account.signMessage({ message }) } });

  async function isAccepted({ apiKey }: TestAgent): Promise<boolean> {
    return (await api.request("GET", "/api/v1/services", { key: apiKey })).status === 200;
  }

  /** Asserts that asking changes nothing, and that both agents keep their keys. */
  async function refuses(requests: () => Promise<void>): Promise<void> {
    await changesNothing(api, [agent.agentId, other.agentId], requests);
    assert.deepEqual([await isAccepted(agent), await isAccepted(other)], [true, true]);
  }

  it("[D21] to another registered agent that signs a message of a foreign wallet", () =>
    refuses(async () => {
      assertError(await ask(text(), other), 400, "signature_invalid");
    }));

  it("[D21] for a signature of another message of the same wallet", () =>
    refuses(async () => {
      const signature = await agent.account.signMessage({ message: text() });
      const answer = await api.request("POST", KEYS, { body: { message: text(), signature } });
      assertError(answer, 400, "signature_invalid");
    }));

  const faults: [name: string, fields: () => SignInFields, fault: RegExp][] = [
    ["a message from eleven minutes ago", () => ({ issuedAt: new Date(Date.now() - 11 * MINUTE_MS) }), /^issued-at /],
    ["a message from the future", () => ({ issuedAt: new Date(Date.now() + 5 * MINUTE_MS) }), /^issued-at /],
    ["a message that has expired", () => ({ expirationTime: new Date(Date.now() - 1_000) }), /has expired$/],
    ["a message that isn't valid yet", () => ({ notBefore: new Date(Date.now() + 5 * MINUTE_MS) }), /not valid yet$/],
    ["a message for another domain", () => ({ domain: "elsewhere.test" }), /^domain must be /],
    ["a message for a domain that ends with ours", () => ({ domain: "evil-market.test" }), /^domain must be /],
    ["a message for another address", () => ({ uri: "https://elsewhere.test/login" }), /^URI must be /],
    ["a message for another chain", () => ({ chainId: 1 }), /^chain id must be /],
  ];
  for (const [name, fields, fault] of faults) {
    it(`[D21] for ${name}, saying so`, () =>
      refuses(async () => {
        const answer = await ask(text(fields()), agent);
        assertError(answer, 400, "sign_in_message_invalid");
        const [said, ...more] = answer.body.details as string[];
        assert.match(said ?? "", fault);
        assert.deepEqual(more, []);
      }));
  }

  it("[D21] and then issued for the same nonce, which no refusal has used up", async () => {
    const nonce = "0123456789abcdef";
    assertError(await ask(text({ nonce }), other), 400, "signature_invalid");
    assertError(await ask(text({ nonce, domain: "elsewhere.test" }), agent), 400, "sign_in_message_invalid");
    const { status, body } = await ask(text({ nonce }), agent);
    assert.deepEqual([status, body.agentId], [201, agent.agentId]);
  });
});
