import { assert } from "chai";

import { signWebhook } from "../../../api/features/webhooks/secrets/signature.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { checkOut, createEscrow, openMarket } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const PATH = "/internal/webhooks/chain";
const SECRET = "a-secret-that-only-the-rpc-provider-knows";
/** Longer than any test may take. */
const NEVER_MS = 3_600_000;

const unixNow = () => Math.floor(Date.now() / 1000);

describe("a push from an RPC provider", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ env: { internalWebhookSecret: SECRET } });
  });
  after(() => api.close());

  const push = (body: unknown, { secret = SECRET, at = unixNow(), on = api } = {}) => {
    const rawBody = JSON.stringify(body);
    return on.request("POST", PATH, { rawBody, headers: sign(rawBody, secret, at) });
  };
  const sign = (rawBody: string, secret = SECRET, at = unixNow()) => ({
    "content-type": "application/json",
    "x-service-signature": signWebhook(secret, rawBody, at),
  });

  describe("is accepted", () => {
    for (const [body, networks] of [
      [{ network: "base" }, ["base"]],
      [{ network: "eip155:84532", block: 7 }, ["base-sepolia"]],
      [{ chainId: 8453 }, ["base"]],
      [{ chainId: "84532" }, ["base-sepolia"]],
      [{ webhookId: "wh_1", event: { network: "BASE_MAINNET" } }, ["base-sepolia", "base"]],
      [{ network: ["base"] }, ["base-sepolia", "base"]],
    ] as const) {
      it(`[D38] for ${networks.join(" and ")}: ${JSON.stringify(body)}`, async () => {
        const answer = await push(body);
        assert.strictEqual(answer.status, 202, answer.text);
        assert.deepEqual(answer.body.data.networks, networks);
      });
    }

    it("[D38] at either end of the tolerance of 300 seconds", async () => {
      for (const at of [unixNow() - 295, unixNow() + 295]) assert.strictEqual((await push({}, { at })).status, 202);
    });
  });

  describe("is refused", () => {
    it("[S7.26] [D38] with 503 where no secret is set", async () => {
      const closed = await startTestApi();
      try {
        assertError(await push({}, { on: closed }), 503, "service_unavailable");
        for (const [path, rawBody] of [
          [PATH, "{"],
          [`${PATH}?a=1`, "{}"],
        ] as const) {
          const answer = await closed.request("POST", path, { rawBody, headers: { "content-type": "text/plain" } });
          assertError(answer, 503, "service_unavailable");
        }
      } finally {
        await closed.close();
      }
    });

    it("[D38] with 401 if it is unsigned, signed with another secret, stale or ahead of time", async () => {
      assertError(await api.request("POST", PATH, { body: {} }), 401, "webhook_signature_invalid");
      assertError(await push({}, { secret: `${SECRET}!` }), 401, "webhook_signature_invalid");
      for (const at of [unixNow() - 310, unixNow() + 310]) {
        assertError(await push({}, { at }), 401, "webhook_signature_invalid");
      }
    });

    it("[D38] with 401 if the body is not the signed one", async () => {
      const headers = sign(JSON.stringify({ network: "base" }));
      const answer = await api.request("POST", PATH, { rawBody: JSON.stringify({ network: "base-sepolia" }), headers });
      assertError(answer, 401, "webhook_signature_invalid");
    });

    it("[D38] with 401 if it isn't signed, whatever its body", async () => {
      const unsigned = "t=1,v1=00";
      for (const [path, rawBody, type] of [
        [PATH, "{", "application/json"],
        [PATH, JSON.stringify({ a: { b: "x".repeat(1_000) } }), "text/plain"],
        [PATH, '{"a":1,"a":2}', "application/json"],
        [`${PATH}?a=1`, "{}", "application/json"],
      ] as const) {
        for (const headers of [
          { "content-type": type },
          { "content-type": type, "x-service-signature": unsigned },
        ] as Record<string, string>[]) {
          assertError(await api.request("POST", path, { rawBody, headers }), 401, "webhook_signature_invalid");
        }
      }
      const rawBody = "{";
      assertError(await api.request("POST", PATH, { rawBody, headers: sign(rawBody) }), 400, "malformed_json");
    });

    it("[D38] with 401 if the header is malformed", async () => {
      for (const header of ["", "t=,v1=", "v1=00", `t=${unixNow()}`, `t=x,v1=${"0".repeat(64)}`]) {
        const answer = await api.request("POST", PATH, { body: {}, headers: { "x-service-signature": header } });
        assertError(answer, 401, "webhook_signature_invalid");
      }
    });

    it("without storing anything, even if a stranger sends an Idempotency-Key", async () => {
      const keys = api.container.connection.collection("idempotency_keys");
      for (const key of ["a", "b"]) {
        const answer = await api.request("POST", PATH, { body: {}, headers: { "idempotency-key": key } });
        assertError(answer, 401, "webhook_signature_invalid");
      }
      assert.strictEqual(await keys.countDocuments(), 0);
    });

    it("with 400 if it carries a query", async () => {
      const rawBody = "{}";
      assertInvalid(await api.request("POST", `${PATH}?a=1`, { rawBody, headers: sign(rawBody) }), "query.a");
    });
  });

  it("[D38] wakes the follower of its network, also in another process", async () => {
    // The worker reads the subgraph once at its start, and then not again unless it is woken.
    const worker = await startTestApi({
      databaseName: api.container.connection.name,
      runsLoops: true,
      timings: { followerPollMs: NEVER_MS },
    });
    try {
      const database = api.container.connection;
      await until("the worker has read the subgraph", async () => {
        return (await database.collection("chain_cursors").countDocuments()) === 2;
      });
      const market = await openMarket(api, await openChain("base-sepolia"));
      const checkout = await checkOut(market);
      await createEscrow(market, checkout);
      const isFollowed = async () => {
        const { body } = await api.request("GET", "/api/v1/events", { key: market.seller.apiKey });
        return (body.data as { event: string }[]).some(({ event }) => event === "escrow.funded");
      };
      assert.isFalse(await isFollowed());
      await until("the escrow is followed", async () => {
        // Repeated, because the worker may not have begun to listen yet.
        assert.strictEqual((await push({ network: "base-sepolia" })).status, 202);
        return isFollowed();
      });
    } finally {
      await worker.stop();
    }
  });
});
