// A change of a level whose process stalls until a repeat of its request has made the change.
import { assert } from "chai";

import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { bsonOf, startBehindDatabaseRoute } from "../../fixtures/api-process.ts";
import { ONE_USDC } from "../../fixtures/deals.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import { storeMailToken } from "../../fixtures/mail-tokens.ts";
import { openChain } from "../../fixtures/stack.ts";
import { paymentMethodBody } from "../../fixtures/statements.ts";

/** In the first message of the transaction that changes a level. */
const CHANGE = bsonOf("findAndModify", "agents");
const USE_OF_TOKEN = bsonOf("findAndModify", "access_requests");
const USE_OF_NONCE = bsonOf("insert", "signed_nonces");

describe("a change of a KYA level that its own repeat has overtaken", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ env: { adminApiKey: ADMIN_KEY } });
  });
  after(() => api.close());

  interface Change {
    moment: string;
    path: string;
    body: object;
    headers: Record<string, string>;
  }

  /** The answers of a request that stalls at a moment, and of its repeat. */
  async function overtaken({ moment, path, body, headers }: Change) {
    const keyed = { ...headers, "idempotency-key": path };
    const { api: child, route } = await startBehindDatabaseRoute(api.container.connection.name, {
      ADMIN_API_KEY: ADMIN_KEY,
    });
    try {
      const reached = route.stallAt(moment);
      const answering = fetch(child.url + path, {
        method: "POST",
        headers: { ...keyed, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      answering.catch(() => undefined);
      await reached;
      const requests = api.container.connection.collection("idempotency_keys");
      await requests.updateMany({}, { $set: { leaseEndsAt: new Date(0) } });
      const repeat = await api.request("POST", path, { body, headers: keyed });
      assert.strictEqual(repeat.status, 200, repeat.text);
      route.resume();
      const late = await answering;
      return { repeat: repeat.text, late: await late.text() };
    } finally {
      child.kill();
      await route.close();
    }
  }
  const changesOf = (agentId: string) => api.container.features.kya.models.changes.countDocuments({ agentId });

  it("[D32] [D43] by an admin has the same answer, and is in the log once", async () => {
    const { agentId } = await api.registerAgent();
    const path = `/api/v1/admin/agents/${agentId}/kya`;
    const body = { level: 1, reason: "The code was reviewed." };
    const { repeat, late } = await overtaken({ moment: CHANGE, path, body, headers: AS_ADMIN.headers });
    assert.strictEqual(late, repeat);
    assert.strictEqual(await changesOf(agentId), 1);
  });

  it("[D32] [D43] by a payment method has the same answer, and is in the log once", async () => {
    const chain = await openChain("base-sepolia");
    const agent = await api.registerAgent();
    await chain.endow(agent.account, { usdc: ONE_USDC });
    const { repeat, late } = await overtaken({
      moment: USE_OF_NONCE,
      path: "/api/v1/agents/kya/payment-method",
      body: await paymentMethodBody(agent, chain),
      headers: { "x-api-key": agent.apiKey },
    });
    assert.strictEqual(late, repeat);
    assert.strictEqual(await changesOf(agent.agentId), 1);
  });

  it("by a mailed token has the same answer, and is in the log once", async () => {
    const { agentId, apiKey } = await api.registerAgent();
    const token = await storeMailToken(api);
    const { repeat, late } = await overtaken({
      moment: USE_OF_TOKEN,
      path: "/api/developer/verify",
      body: { token },
      headers: { "x-api-key": apiKey },
    });
    assert.strictEqual(late, repeat);
    assert.strictEqual(await changesOf(agentId), 1);
  });
});
