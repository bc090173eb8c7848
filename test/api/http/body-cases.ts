import { listingBody } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { checkOut, fundedDeal, openMarket } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { paymentMethodBody } from "../../fixtures/statements.ts";

/** A well-formed hash of no transaction. */
export const UNKNOWN_HASH = `0x${"ab".repeat(32)}`;
const LONG = "x".repeat(5_000);

/** Values of one field that its route must refuse. */
type FieldFaults = [field: string, wrong: unknown[]];

/** A route with a body: a caller that may use it, a body that it accepts, and what it must refuse. */
export interface BodyCase {
  name: string;
  method: "POST" | "PATCH" | "DELETE";
  path: () => string;
  key: () => string | undefined;
  body: () => Promise<Record<string, unknown>> | Record<string, unknown>;
  required: string[];
  faults: FieldFaults[];
}

/** The records that the cases refer to. */
export interface Scene {
  chain: TestChain;
  market: Market;
  funded: CheckoutData;
  pending: CheckoutData;
  stranger: TestAgent;
  /** A webhook of the market's seller. */
  webhookId: string;
}

/** Creates the records. */
export async function openScene(api: TestApi): Promise<Scene> {
  const chain = await openChain("base-sepolia");
  const market = await openMarket(api, chain);
  const stranger = await api.registerAgent();
  const webhook = await api.request("POST", "/api/v1/webhooks", {
    key: market.seller.apiKey,
    body: { url: "https://agent.example/hook", events: ["escrow.released"] },
  });
  const { webhookId } = webhook.body.data as { webhookId: string };
  return { chain, market, stranger, webhookId, funded: await fundedDeal(market), pending: await checkOut(market) };
}

/** Path of a transaction, or of an operation on it. */
export function transactionPath(checkout: CheckoutData, operation = ""): string {
  return `/api/v1/transactions/${checkout.transactionId}${operation}`;
}

const texts = (max: number) => [7, null, [], {}, "", "   ", "bell\u0007", "x".repeat(max + 1)];
const listingFaults: FieldFaults[] = [
  ["title", texts(100)],
  ["description", texts(2_000)],
  ["category", [7, null, "", "defi", "no_such", LONG, ["accounting"]]],
  ["price", ["2.5", null, 0, -1, 1e300, [], {}]],
  ["priceUnit", [7, null, "", "per_day", LONG]],
  ["currency", [7, null, "", "usdc", "EUR"]],
  ["deliveryType", [7, null, "", "carrier_pigeon"]],
  ["callbackRequired", ["true", 1, null]],
  ["endpointUrl", [7, "", "nowhere", "ftp://host/x", "https://user:secret@host/x", `https://host/${LONG}`]],
  ["network", [7, null, "polygon", "eip155:84532"]],
];
const webhookFaults: FieldFaults[] = [
  ["url", [7, null, "", "nowhere", "ftp://host/x", "https://user:secret@host/x", `https://host/${LONG}`]],
  ["events", [null, "escrow.funded", [], {}, ["escrow.funded", "escrow.funded"]]],
  ["durable", ["true", 1, null]],
];
const signInFaults: FieldFaults[] = [
  ["message", [7, null, "", LONG]],
  ["signature", [7, null, "", "0x00", `0x${"g".repeat(130)}`, LONG]],
];
const UNKNOWN_DISPUTE = `/api/v1/disputes/dsp_${"0".repeat(32)}`;
const evidenceCase = {
  body: () => ({ type: "other", description: "So it was" }),
  required: ["type", "description"],
  faults: [
    ["type", [7, null, "", "rumour"]],
    ["description", texts(5_000)],
    ["attachments", ["https://files.example/a", null, {}]],
    ["complete", ["true", false, null, 1]],
    ["criteria", ["text", null, []]],
    ["submittedBy", ["seller"]],
  ] satisfies FieldFaults[] as FieldFaults[],
};
const memoryFaults: FieldFaults[] = [
  ["key", [7, null, "", " ", "a b", "bell\u0007", ".", "..", "export", "x".repeat(257), { $ne: null }]],
  ["value", ["x".repeat(65_535)]],
  ["namespace", [7, null, "", "Upper", "-first", "a/b", "x".repeat(65), { $gt: "" }]],
  ["tags", ["text", null, {}, Array.from({ length: 21 }, (_, n) => `t${n}`)]],
  ["ttlSeconds", ["60", null, 0, -1, 1.5, 315_360_001, 1e300]],
  ["agentId", ["agt_other"]],
  ["version", [7]],
];
const noBody = { body: () => ({}), required: [], faults: [] };

/** Every route with a body, and what it must refuse. `scene` is read when a test runs. */
export function bodyCases(scene: () => Scene): BodyCase[] {
  const buyerKey = () => scene().market.buyer.apiKey;
  const sellerKey = () => scene().market.seller.apiKey;
  return [
    {
      name: "POST services",
      method: "POST",
      path: () => "/api/v1/services",
      key: sellerKey,
      body: () => listingBody(),
      required: ["title", "description", "category", "price", "priceUnit"],
      faults: [...listingFaults, ["status", ["active"]], ["id", ["lst_mine"]], ["sellerAgentId", ["agt_other"]]],
    },
    {
      name: "PATCH services/{id}",
      method: "PATCH",
      path: () => `/api/v1/services/${scene().market.serviceId}`,
      key: sellerKey,
      body: () => ({ price: 3 }),
      required: [],
      faults: [...listingFaults, ["status", [7, null, "inactive", "archived", "ACTIVE"]], ["id", ["lst_mine"]]],
    },
    {
      name: "POST checkout",
      method: "POST",
      path: () => "/api/v1/checkout",
      key: buyerKey,
      body: () => ({ serviceId: scene().market.serviceId, paymentMethod: "usdc" }),
      required: ["serviceId", "paymentMethod"],
      faults: [
        ["serviceId", [7, null, "", LONG, { $ne: null }]],
        ["quantity", ["1", null, 0, -1, 1.5, 1_000_001, 1e300]],
        ["paymentMethod", [7, null, "", "USDC", LONG]],
        ["callbackUrl", [7, null, "", "nowhere", "javascript:alert(1)", `https://host/${LONG}`]],
        ["requestPayload", ["text", 7, null, []]],
        ["disputeWindow", ["300", null, 299, 86_401, 300.5, -300]],
        ["abandonmentGrace", ["3600", null, 3_599, 2_592_001, 3_600.5]],
        ["deliveryDeadlineSeconds", ["1800", null, 1_799, 2_592_001, 1_800.5]],
        ["network", [7, null, "polygon", "BASE"]],
        ["criteria", ["text", null, []]],
        ["buyerAgentId", ["agt_other"]],
      ],
    },
    {
      name: "POST transactions/{id}/fund",
      method: "POST",
      path: () => transactionPath(scene().pending, "/fund"),
      key: buyerKey,
      body: () => ({ txHash: UNKNOWN_HASH }),
      required: ["txHash"],
      faults: [["txHash", [7, null, "", "0x", UNKNOWN_HASH.slice(2), `${UNKNOWN_HASH}00`, LONG, [UNKNOWN_HASH]]]],
    },
    {
      name: "POST transactions/{id}/deliver",
      method: "POST",
      path: () => transactionPath(scene().funded, "/deliver"),
      key: sellerKey,
      body: () => ({ responsePayload: { a: 1 } }),
      required: ["responsePayload"],
      faults: [
        ["responsePayload", ["text", 7, null, [], true]],
        ["txHash", [7, null, "", "0x12", LONG]],
        ["deliveryProof", [UNKNOWN_HASH]],
      ],
    },
    {
      name: "POST transactions/{id}/confirm",
      method: "POST",
      path: () => transactionPath(scene().funded, "/confirm"),
      key: buyerKey,
      ...noBody,
      faults: [["txHash", [UNKNOWN_HASH]]],
    },
    {
      name: "POST transactions/{id}/check",
      method: "POST",
      path: () => transactionPath(scene().funded, "/check"),
      key: sellerKey,
      body: () => ({ responsePayload: { a: 1 } }),
      required: ["responsePayload"],
      faults: [
        ["responsePayload", ["text", 7, null, [], true]],
        ["criteria", [{}]],
      ],
    },
    {
      name: "POST disputes",
      method: "POST",
      path: () => "/api/v1/disputes",
      key: buyerKey,
      body: () => ({ transactionId: scene().funded.transactionId, reason: "It is too short" }),
      required: ["transactionId", "reason"],
      faults: [
        ["transactionId", [7, null, "", LONG, { $ne: null }]],
        ["reason", texts(5_000)],
        ["evidence", ["text", null, {}]],
        ["criteria", ["text", null, []]],
        ["disputingAgentId", ["agt_other"]],
      ],
    },
    {
      name: "POST disputes/{disputeId}/evidence",
      method: "POST",
      path: () => `${UNKNOWN_DISPUTE}/evidence`,
      key: buyerKey,
      ...evidenceCase,
    },
    {
      name: "POST transactions/{id}/dispute/evidence",
      method: "POST",
      path: () => transactionPath(scene().funded, "/dispute/evidence"),
      key: sellerKey,
      ...evidenceCase,
    },
    {
      name: "POST disputes/{disputeId}/settlement",
      method: "POST",
      path: () => `${UNKNOWN_DISPUTE}/settlement`,
      key: buyerKey,
      body: () => ({ buyerPercent: 50, deadline: 2_000_000_000, signature: `0x${"12".repeat(65)}` }),
      required: ["buyerPercent", "deadline", "signature"],
      faults: [
        ["buyerPercent", ["50", null, -1, 101, 0.5]],
        ["deadline", ["1", null, -1, 1.5, 1e300]],
        ["signature", [7, null, "", "0x", "0x123", `0x${"g".repeat(130)}`]],
        ["role", ["seller"]],
      ],
    },
    {
      name: "POST discover",
      method: "POST",
      path: () => "/api/v1/discover",
      key: () => undefined,
      body: () => ({ query: "risk" }),
      required: ["query"],
      faults: [
        ["query", texts(1_000)],
        ["filters", [7, null, "text", []]],
        ["limit", [5]],
      ],
    },
    {
      name: "POST auth/register",
      method: "POST",
      path: () => "/api/v1/auth/register",
      key: () => undefined,
      body: async () => (await registrationBody()).body,
      required: ["agentName", "walletAddress", "message", "signature"],
      faults: [
        ["agentName", texts(100)],
        ["walletAddress", [7, null, "", "0x12", `0x${"g".repeat(40)}`, LONG]],
        ["description", texts(2_000)],
        ...signInFaults,
        ["kyaLevel", [3]],
      ],
    },
    {
      name: "POST auth/keys",
      method: "POST",
      path: () => "/api/v1/auth/keys",
      key: () => undefined,
      body: async () => {
        const { message, signature } = (await registrationBody()).body;
        return { message, signature };
      },
      required: ["message", "signature"],
      faults: [
        ...signInFaults,
        ["revokeOthersAfterSeconds", ["60", null, -1, 86_401, 0.5]],
        ["agentId", ["agt_other"]],
      ],
    },
    {
      name: "POST agents/kya/payment-method",
      method: "POST",
      path: () => "/api/v1/agents/kya/payment-method",
      key: buyerKey,
      body: () => paymentMethodBody(scene().market.buyer, scene().chain),
      required: ["network", "token", "nonce", "deadline", "signature"],
      faults: [
        ["network", [7, null, "polygon"]],
        ["token", [7, null, "", "0x12", LONG]],
        ["nonce", [7, null, "", "0x12", `0x${"g".repeat(64)}`, LONG]],
        ["deadline", ["1", null, -1, 1.5, 1e300]],
        ["signature", [7, null, "", "0x00", LONG]],
        ["agentId", ["agt_other"]],
      ],
    },
    {
      name: "POST developer/access",
      method: "POST",
      path: () => "/api/developer/access",
      key: () => undefined,
      body: () => ({ email: "dev@example.test" }),
      required: ["email"],
      faults: [
        ["email", [7, null, "", "nobody", "a@b@example.test", LONG]],
        ["name", texts(100)],
        ["useCase", texts(2_000)],
        ["kyaLevel", [3]],
      ],
    },
    {
      name: "POST developer/verify",
      method: "POST",
      path: () => "/api/developer/verify",
      key: buyerKey,
      body: () => ({ token: "0".repeat(64) }),
      required: ["token"],
      faults: [
        ["token", [7, null, "", "0".repeat(63), "g".repeat(64), LONG, { $ne: "" }]],
        ["agentId", ["agt_other"]],
      ],
    },
    {
      name: "POST memory",
      method: "POST",
      path: () => "/api/v1/memory",
      key: buyerKey,
      body: () => ({ key: "plan", value: { steps: [1, 2] } }),
      required: ["key", "value"],
      faults: memoryFaults,
    },
    {
      name: "POST memory/batch",
      method: "POST",
      path: () => "/api/v1/memory/batch",
      key: buyerKey,
      body: () => ({ entries: [{ key: "plan", value: 1 }] }),
      required: ["entries"],
      faults: [["entries", [7, null, {}, [], Array.from({ length: 101 }, (_, n) => ({ key: `k${n}`, value: n }))]]],
    },
    {
      name: "POST memory/import",
      method: "POST",
      path: () => "/api/v1/memory/import",
      key: buyerKey,
      body: () => ({ entries: [{ key: "plan", value: 1 }] }),
      required: ["entries"],
      faults: [["entries", [7, null, {}, [], '{"key":"plan","value":1}']]],
    },
    {
      name: "POST memory/search",
      method: "POST",
      path: () => "/api/v1/memory/search",
      key: sellerKey,
      body: () => ({ query: "plans" }),
      required: ["query"],
      faults: [
        ["query", texts(1_000)],
        ["namespace", [7, null, "", "audit", "Upper"]],
        ["tags", ["text", null, {}]],
        ["prefix", [7, null, "", "a b"]],
        ["limit", ["5", null, 0, 101, 1.5]],
      ],
    },
    {
      name: "POST memory/{key}/renew",
      method: "POST",
      path: () => "/api/v1/memory/plan/renew",
      key: buyerKey,
      ...noBody,
      faults: [["days", [90]]],
    },
    {
      name: "DELETE memory/{key}",
      method: "DELETE",
      path: () => "/api/v1/memory/plan",
      key: buyerKey,
      ...noBody,
      faults: [["version", [1]]],
    },
    {
      name: "DELETE services/{id}",
      method: "DELETE",
      path: () => `/api/v1/services/${scene().market.serviceId}`,
      key: sellerKey,
      ...noBody,
      faults: [["reason", ["no longer offered"]]],
    },
    {
      name: "DELETE auth/keys",
      method: "DELETE",
      path: () => "/api/v1/auth/keys",
      key: () => scene().stranger.apiKey,
      ...noBody,
      faults: [["keyId", ["key_of_another"]]],
    },
    {
      name: "POST webhooks",
      method: "POST",
      path: () => "/api/v1/webhooks",
      key: sellerKey,
      body: () => ({ url: "https://agent.example/hook", events: ["escrow.funded"] }),
      required: ["url", "events"],
      faults: [...webhookFaults, ["status", ["active"]], ["agentId", ["agt_other"]]],
    },
    {
      name: "PATCH webhooks/{webhookId}",
      method: "PATCH",
      path: () => `/api/v1/webhooks/${scene().webhookId}`,
      key: sellerKey,
      body: () => ({ durable: true }),
      required: [],
      faults: [...webhookFaults, ["status", [7, null, "", "disabled", "ACTIVE"]], ["failingSince", [null]]],
    },
    {
      name: "DELETE webhooks/{webhookId}",
      method: "DELETE",
      path: () => `/api/v1/webhooks/${scene().webhookId}`,
      key: sellerKey,
      ...noBody,
      faults: [["webhookId", ["whk_other"]]],
    },
    {
      name: "POST webhooks/deliveries/{deliveryId}/redeliver",
      method: "POST",
      path: () => "/api/v1/webhooks/deliveries/dlv_any/redeliver",
      key: sellerKey,
      ...noBody,
      faults: [["url", ["https://elsewhere.example/"]]],
    },
    {
      name: "POST webhooks/secret/rotate",
      method: "POST",
      path: () => "/api/v1/webhooks/secret/rotate",
      key: sellerKey,
      ...noBody,
      faults: [["secret", ["whsec_of_my_own"]]],
    },
    {
      name: "POST webhooks/secret/activate",
      method: "POST",
      path: () => "/api/v1/webhooks/secret/activate",
      key: sellerKey,
      ...noBody,
      faults: [["rotation", [7]]],
    },
    {
      name: "POST messages",
      method: "POST",
      path: () => "/api/v1/messages",
      key: buyerKey,
      body: () => ({
        ...{ toAgentId: scene().market.seller.agentId, contentType: "text/plain" },
        body: "Is the invoice ready?",
      }),
      required: ["toAgentId", "body"],
      faults: [
        ["toAgentId", [7, null, "", LONG, { $ne: null }]],
        ["topic", [7, null, "", "Prices", "-prices", "a".repeat(65), "a b", "prices"]],
        ["contentType", [7, null, "", "text", "text/plain; charset=utf-8", "TEXT/plain", LONG]],
        ["body", [7, { text: "x" }, null, [], "x".repeat(65_537)]],
        ["encrypted", ["text", 7, null, []]],
        ["replyTo", [7, null, "", LONG]],
        ["transactionId", [7, null, "", LONG]],
        ["fromAgentId", ["agt_other"]],
      ],
    },
    {
      name: "POST messages/webhook",
      method: "POST",
      path: () => "/api/v1/messages/webhook",
      key: buyerKey,
      body: () => ({ url: "https://agent.example/messages" }),
      required: ["url"],
      faults: [
        ["url", [7, null, "", "nowhere", "ftp://host/x", "https://user:secret@host/x", `https://host/${LONG}`]],
        ["events", [["escrow.funded"]]],
      ],
    },
    {
      name: "POST messages/subscribe",
      method: "POST",
      path: () => "/api/v1/messages/subscribe",
      key: buyerKey,
      body: () => ({ topic: "prices" }),
      required: ["topic"],
      faults: [
        ["topic", [7, null, "", "Prices", "-prices", "a".repeat(65), "a b", { $ne: null }]],
        ["agentId", ["agt_other"]],
      ],
    },
    {
      name: "DELETE messages/subscribe",
      method: "DELETE",
      path: () => "/api/v1/messages/subscribe",
      key: buyerKey,
      body: () => ({ topic: "prices" }),
      required: [],
      faults: [["topic", [7, null, "", "Prices", "a b"]]],
    },
    {
      name: "PATCH messages/{id}",
      method: "PATCH",
      path: () => `/api/v1/messages/msg_${"0".repeat(32)}`,
      key: buyerKey,
      body: () => ({ read: true }),
      required: ["read"],
      faults: [
        ["read", ["true", 1, null, [], {}]],
        ["readAt", ["2026-02-18T00:00:00Z"]],
      ],
    },
    {
      name: "POST ucp/messages",
      method: "POST",
      path: () => "/api/v1/ucp/messages",
      key: buyerKey,
      body: () => ({ type: "offer", toAgentId: scene().market.seller.agentId, payload: { price: 3 } }),
      required: ["type", "toAgentId", "payload"],
      faults: [
        ["type", [7, null, "", "x".repeat(101)]],
        ["toAgentId", [7, null, "", LONG]],
        ["payload", ["text", 7, null, []]],
      ],
    },
    {
      name: "POST x402/packs/{packId}",
      method: "POST",
      path: () => "/api/v1/x402/packs/search-1000",
      key: buyerKey,
      ...noBody,
      faults: [["calls", [7]]],
    },
  ];
}
