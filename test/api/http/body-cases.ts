import { listingBody } from "../../fixtures/api.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";
import { paymentMethodBody } from "../../fixtures/statements.ts";
import { LONG, noBody, texts, transactionPath, UNKNOWN_HASH } from "./body-scene.ts";
import type { BodyCase, FieldFaults, Scene } from "./body-scene.ts";
import { messageCases } from "./message-body-cases.ts";

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
      name: "POST analytics/fractal",
      method: "POST",
      path: () => "/api/v1/analytics/fractal",
      key: buyerKey,
      body: () => ({ series: Array.from({ length: 16 }, (_, index) => index % 3) }),
      required: ["series"],
      faults: [["series", [7, null, "1,2", [], Array.from({ length: 15 }, () => 1)]]],
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
        ["explain", ["true", 1, null]],
        ["limit", ["5", null, 0, 51, 1.5]],
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
    ...messageCases(scene),
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
