// Every route that names a record, called by an agent whose record it isn't.
import { assert } from "chai";

import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, assertInvalid, listingBody } from "../../fixtures/api.ts";
import type { Answer, TestAgent } from "../../fixtures/api.ts";
import { Court } from "../../fixtures/disputes.ts";
import { fieldsOfRequests } from "../../fixtures/request-fields.ts";
import { AS_ADMIN, PUBLIC_URL } from "../../fixtures/environment.ts";
import { DESCRIPTIONS, operationsOf } from "../../fixtures/description.ts";
import { changesNothing } from "../../fixtures/stored.ts";
import { UNKNOWN_HASH } from "./body-scene.ts";

/** A call of a record's owner, which a stranger repeats. */
interface OwnedCall {
  owner: TestAgent;
  id: string;
  body?: object;
  /** Where strangers may know of the record: 403 `wrong_role` instead of 404. */
  isPublic?: true;
}

/** Routes whose path names what everyone may read, or what belongs to nobody. */
const FOR_EVERYONE: Readonly<Record<string, string>> = {
  "GET /api/v1/agents/{id}": "registry",
  "GET /api/v1/agents/{id}/trust": "registry",
  "GET /api/v1/agents/{id}/discovery-score": "registry",
  "GET /api/v1/agents/{id}/public-key": "messages are encrypted with it",
  "GET /api/v1/services/{id}": "listings are offered to all",
  "GET /api/v1/market/listings/{serviceId}": "listings are offered to all",
  "GET /api/v1/market/agents/{wallet}": "the chain shows them",
  "GET /api/v1/market/deals/{escrowId}": "the chain shows them",
  "POST /api/v1/x402/packs/{packId}": "a pack is offered to all, and goes to its buyer",
  "GET /docs/{file}": "documentation",
};
/** Routes of the operator, who has a key of another kind. */
const FOR_THE_ADMIN = new Set([
  ...["POST /api/v1/admin/agents/{id}/kya", "POST /api/v1/admin/disputes/{disputeId}/ruling"],
  ...["POST /api/v1/admin/moderation/reports/{id}", "POST /api/v1/admin/moderation/appeals/{decisionId}"],
  ...["GET /api/v1/admin/disputes/{disputeId}", "POST /api/v1/admin/quarantine/{id}"],
]);

/** Query parameters and body fields that name a private record. */
const NAMES_A_RECORD = /^(transactionId|webhookId|replyTo|after|decisionId|id)$/;
const BOTH_STREAMS = ["GET /api/v1/events", "GET /api/v1/events/stream"];

const operations = DESCRIPTIONS.flatMap(operationsOf).map(({ method, path }) => `${method} ${path}`);
const otherDigit = (digit: string) => (digit === "0" ? "1" : "0");
const named = operations.filter((operation) => operation.includes("{"));
const lists = operations.filter((operation) => operation.startsWith("GET ") && !operation.includes("{"));

describe("a stranger", () => {
  let court: Court;
  let stranger: TestAgent;
  /** The calls of owners by route. */
  let owned: Record<string, OwnedCall>;
  /** Ids that no answer to a stranger may contain. */
  let secrets: string[];
  /** Of the buyer's log. */
  let eventId: string;
  /** About a listing of the seller. */
  let decisionId: string;

  before(async () => {
    court = await Court.open({ env: { adminApiKey: ADMIN_KEY } });
    const { api, buyer, seller, market } = court;
    stranger = await api.registerAgent();
    const create = async (agent: TestAgent, path: string, body: object) => {
      const answer = await api.request("POST", path, { key: agent.apiKey, body });
      assert.isBelow(answer.status, 300, `${path}: ${answer.text}`);
      return answer.body.data;
    };
    const { transactionId: dealId, disputeId } = await court.disputed();
    const { transactionId: deliveredId } = await court.delivered();
    const hook = { url: "http://127.0.0.1:9/hook", events: ["escrow.released"] };
    const { webhookId } = await create(seller, "/api/v1/webhooks", hook);
    const { deliveryId } = await create(seller, `/api/v1/webhooks/${webhookId}/ping`, {});
    const message = { toAgentId: seller.agentId, body: "Between us" };
    const { id: messageId } = await create(buyer, "/api/v1/messages", message);
    const key = "plans-of-the-seller";
    await create(seller, "/api/v1/memory", { key, value: { secret: true } });
    await court.api.endLoops();
    const statementId = await storeStatement(seller);
    const keys = await api.request("GET", "/api/v1/auth/keys", { key: seller.apiKey });
    const keyId = keys.body.data[0].keyId as string;
    const events = await api.request("GET", "/api/v1/events?limit=1", { key: buyer.apiKey });
    eventId = events.body.data[0].id as string;

    const approvalId = await storeApproval(buyer);
    const { id: hiddenId } = await create(seller, "/api/v1/services", listingBody());
    const hiding = { subject: { type: "listing", id: hiddenId }, action: "hide", reason: "spam", text: "Again." };
    const hidden = await api.request("POST", "/api/v1/admin/moderation", { ...AS_ADMIN, body: hiding });
    decisionId = hidden.body.data.id as string;

    const ofDeal = { owner: buyer, id: dealId };
    const ofDelivered = { owner: seller, id: deliveredId };
    const ofDispute = { owner: buyer, id: disputeId };
    const ofWebhook = { owner: seller, id: webhookId };
    const ofDelivery = { owner: seller, id: deliveryId };
    const ofEntry = { owner: seller, id: key };
    const offer = {
      buyerPercent: 30,
      deadline: Math.floor(Date.now() / 1_000) + 3_600,
      signature: `0x${"11".repeat(65)}`,
    };
    owned = {
      "POST /api/v1/approvals/{id}": {
        owner: buyer,
        id: approvalId,
        body: {
          host: new URL(PUBLIC_URL).host,
          keyId: "key_of_the_buyer",
          network: "base-sepolia",
          requestHash: UNKNOWN_HASH,
          maxUsd: "3",
          expiresAt: Math.floor(Date.now() / 1_000) + 60,
          signature: `0x${"11".repeat(65)}`,
        },
      },
      "DELETE /api/v1/approvals/{id}": { owner: buyer, id: approvalId },
      "DELETE /api/v1/auth/keys/{keyId}": { owner: seller, id: keyId },
      "GET /api/v1/agents/rebates/{statementId}/settlements": { owner: seller, id: statementId },
      "PATCH /api/v1/services/{id}": { owner: seller, id: market.serviceId, body: { price: 1 }, isPublic: true },
      "DELETE /api/v1/services/{id}": { owner: seller, id: market.serviceId, isPublic: true },
      "POST /api/v1/services/{id}/visibility": {
        owner: seller,
        id: market.serviceId,
        body: { query: "risks" },
        isPublic: true,
      },
      "GET /api/v1/transactions/{id}": ofDeal,
      "GET /api/v1/transactions/{id}/criteria": ofDeal,
      "GET /api/v1/transactions/{id}/claimAbandoned": ofDeal,
      "GET /api/v1/transactions/{id}/finalize": ofDeal,
      "GET /api/v1/transactions/{id}/timeline": ofDeal,
      "POST /api/v1/transactions/{id}/fund": { ...ofDeal, body: { txHash: UNKNOWN_HASH } },
      "POST /api/v1/transactions/{id}/confirm": { ...ofDeal, body: {} },
      "POST /api/v1/transactions/{id}/deliver": { ...ofDelivered, body: { responsePayload: { mine: true } } },
      "POST /api/v1/transactions/{id}/check": { ...ofDelivered, body: { responsePayload: { mine: true } } },
      "POST /api/v1/transactions/{id}/dispute/evidence": { ...ofDeal, body: { complete: true } },
      "GET /api/v1/disputes/{disputeId}": ofDispute,
      "GET /api/v1/disputes/{disputeId}/ruling": ofDispute,
      "POST /api/v1/disputes/{disputeId}/evidence": { ...ofDispute, body: { complete: true } },
      "POST /api/v1/disputes/{disputeId}/settlement": { ...ofDispute, body: offer },
      "GET /api/v1/memory/{key}": ofEntry,
      "GET /api/v1/memory/{key}/history": ofEntry,
      "POST /api/v1/memory/{key}/renew": { ...ofEntry, body: {} },
      "DELETE /api/v1/memory/{key}": ofEntry,
      "GET /api/v1/webhooks/deliveries/{deliveryId}": ofDelivery,
      "POST /api/v1/webhooks/deliveries/{deliveryId}/redeliver": { ...ofDelivery, body: {} },
      "POST /api/v1/webhooks/{webhookId}/ping": { ...ofWebhook, body: {} },
      "POST /api/v1/webhooks/{webhookId}/redeliver-missed": { ...ofWebhook, body: { since: new Date().toISOString() } },
      "GET /api/v1/webhooks/{webhookId}": ofWebhook,
      "PATCH /api/v1/webhooks/{webhookId}": { ...ofWebhook, body: { events: ["escrow.refunded"] } },
      "DELETE /api/v1/webhooks/{webhookId}": ofWebhook,
      "GET /api/v1/messages/{id}": { owner: seller, id: messageId },
      "PATCH /api/v1/messages/{id}": { owner: seller, id: messageId, body: { read: true } },
    };
    secrets = [dealId, deliveredId, disputeId, webhookId, deliveryId, messageId, key, statementId, keyId, approvalId];
    secrets.push(hiddenId, decisionId);
  });
  after(() => court.close());

  /** A statement of last month's rebates. The tests' chains have no mainnet volume. */
  async function storeStatement({ walletAddress }: TestAgent): Promise<string> {
    const _id = "reb_of_the_seller";
    const hash = `0x${"22".repeat(32)}` as const;
    await court.api.container.features.fees.models.statements.create({
      _id,
      network: "base",
      month: "2026-01",
      wallet: walletAddress.toLowerCase() as `0x${string}`,
      token: `0x${"33".repeat(20)}` as const,
      tokenSymbol: "USDC",
      tokenDecimals: 6,
      tier: "Standard",
      effectiveRateBps: 200,
      settledVolumeUsdUnits: "0",
      settlementCount: 0,
      windowStart: "2026-01-02T00:00:00.000Z",
      windowEnd: "2026-02-01T00:00:00.000Z",
      block: { number: 1, hash },
      settlementsHash: hash,
      fee: "0",
      rebate: "0",
      hash,
      isPayable: false,
      createdAt: new Date(),
    });
    return _id;
  }

  /** A checkout of the buyer that waits for its wallet. */
  async function storeApproval({ agentId }: TestAgent): Promise<string> {
    const _id = `apr_${"1".repeat(32)}`;
    const inAnHour = new Date(Date.now() + 3_600_000);
    await court.api.container.features.approvals.models.approvals.create({
      _id,
      agentId,
      keyId: "key_of_the_buyer",
      network: "base-sepolia",
      requestHash: `0x${"ab".repeat(32)}`,
      requestJson: "{}",
      serviceTitle: "Token risk report",
      sellerAddress: `0x${"cd".repeat(20)}`,
      bound: "perDealUsd",
      askedUsd: "2500000",
      status: "open",
      live: true,
      createdAt: new Date(),
      expiresAt: inAnHour,
      deleteAt: inAnHour,
    });
    return _id;
  }

  function call(operation: string, agent: TestAgent, { id, body }: Pick<OwnedCall, "id" | "body">): Promise<Answer> {
    const [method = "", path = ""] = operation.split(" ");
    const filled = path.replace(/\{\w+\}/, encodeURIComponent(id));
    return court.api.request(method, filled, { key: agent.apiKey, ...(body === undefined ? {} : { body }) });
  }

  it("is kept from the record of every route that names one, or the route is listed as anyone's", () => {
    const listed = [...Object.keys(owned), ...Object.keys(FOR_EVERYONE), ...FOR_THE_ADMIN];
    assert.sameMembers(named, listed);
  });

  it("[D33] gets 404 for each, as if it didn't exist, and 403 for another's listing; nothing changes", () =>
    changesNothing(court.api, secrets, async () => {
      for (const [operation, known] of Object.entries(owned)) {
        const answer = await call(operation, stranger, known);
        if (known.isPublic === true) assertError(answer, 403, "wrong_role");
        else assertError(answer, 404, "not_found");
        const unknown = await call(operation, stranger, { ...known, id: known.id.replace(/.$/, otherDigit) });
        assertError(unknown, 404, "not_found");
        if (known.isPublic === undefined) assert.strictEqual(answer.body.error, unknown.body.error, operation);
      }
    }));

  it("[D33] gets 404 for a body that names one, and an empty list for a query that does; nothing changes", () =>
    changesNothing(court.api, secrets, async () => {
      const [dealId = "", , , webhookId = "", , messageId = ""] = secrets;
      const hello = { toAgentId: court.seller.agentId, body: "Hello" };
      const bodies: Record<string, object> = {
        "POST /api/v1/disputes transactionId": { transactionId: dealId, reason: "It is late" },
        "POST /api/v1/messages transactionId": { ...hello, transactionId: dealId },
        "POST /api/v1/messages replyTo": { ...hello, replyTo: messageId },
        "POST /api/v1/reports subject.id": { subject: { type: "message", id: messageId }, reason: "spam" },
        "POST /api/v1/appeals decisionId": { decisionId, text: "It isn't so." },
      };
      const queries: Record<string, string> = {
        ...Object.fromEntries(BOTH_STREAMS.map((route) => [`${route} transactionId`, dealId])),
        "GET /api/v1/webhooks/deliveries transactionId": dealId,
        "GET /api/v1/webhooks/deliveries webhookId": webhookId,
      };
      /** Events of others are no place to continue from: 400. */
      const cursors = Object.fromEntries(BOTH_STREAMS.map((route) => [`${route} after`, eventId]));
      const places = fieldsOfRequests()
        .filter(({ part, field }) => part !== "path" && NAMES_A_RECORD.test(field.at(-1) ?? ""))
        .map(({ route, field }) => `${route} ${field.join(".")}`);
      // Everybody reads on chain which identities there are.
      const onChain = ["POST /api/v1/agents/erc8004 id"];
      assert.sameMembers(places, [...onChain, ...Object.keys({ ...bodies, ...queries, ...cursors })]);

      for (const [place, body] of Object.entries(bodies)) {
        const [, path = ""] = place.split(" ");
        assertError(await court.api.request("POST", path, { key: stranger.apiKey, body }), 404, "not_found");
      }
      const ask = (place: string, value: string) => {
        const [, path = "", name = ""] = place.split(" ");
        return court.api.request("GET", `${path}?${name}=${value}`, { key: stranger.apiKey });
      };
      for (const [place, value] of Object.entries(queries)) {
        const { status, body, text } = await ask(place, value);
        assert.strictEqual(status, 200, `${place}: ${text}`);
        if (!place.includes("/stream")) assert.deepEqual(body.data, [], place);
      }
      for (const [place, value] of Object.entries(cursors)) {
        assertInvalid(await ask(place, value), "query.after");
      }
    }));

  it("can't use the operator's routes with its own key", () =>
    changesNothing(court.api, secrets, async () => {
      for (const operation of FOR_THE_ADMIN) {
        const sent = operation.startsWith("GET ") ? {} : { body: {} };
        const answer = await call(operation, stranger, { id: secrets[2] ?? "", ...sent });
        assert.deepEqual([answer.status, answer.body.success], [401, false], operation);
      }
    }));

  it("[D33] finds no other agent's record in any list", async () => {
    for (const operation of lists) {
      const answer = await court.api.request("GET", operation.slice("GET ".length), { key: stranger.apiKey });
      for (const secret of secrets) assert.notInclude(answer.text, secret, operation);
    }
  });

  it("gets another answer than the owner, for whom each record is there", async () => {
    // What ends a record comes last.
    const inOrder = Object.entries(owned).toSorted(
      ([one], [other]) => Number(/^DELETE/.test(one)) - Number(/^DELETE/.test(other)),
    );
    for (const [operation, known] of inOrder) {
      const { body, text } = await call(operation, known.owner, known);
      assert.notInclude(["not_found", "wrong_role", "validation_error"], body?.code, `${operation}: ${text}`);
    }
  });
});
