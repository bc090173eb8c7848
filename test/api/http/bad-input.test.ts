import { assert } from "chai";

import { routes } from "../../../api/app.ts";
import { MAX_BODY_BYTES } from "../../../api/config/constants.ts";
import { pathsOf } from "../../../api/http/define-route.ts";
import { assertError, assertInvalid, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, checkOut, deliverDeal, fundedDeal, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { paymentMethodBody } from "../../fixtures/statements.ts";
import { changesNothing as storedUnchanged } from "../../fixtures/stored.ts";
import { until } from "../../fixtures/until.ts";

const UNKNOWN_HASH = `0x${"ab".repeat(32)}`;
const UNKNOWN_TRANSACTION = `txn_${"0".repeat(32)}`;
/** Others try the routes of admins (test/api/kya/admin.test.ts) and the signed ones (test/api/internal). */
const agentRoutes = routes.filter(({ auth, path }) => auth !== "admin" && !path.startsWith("/internal/"));
/** Cases of routes without a key. */
const KEYLESS = ["POST developer/access", "POST discover", "POST auth/register", "POST auth/keys"];
const LONG = "x".repeat(5_000);

/** Values of one field that its route must refuse. */
type FieldFaults = [field: string, wrong: unknown[]];

/** A route with a body: a caller that may use it, a body that it accepts, and what it must refuse. */
interface BodyCase {
  name: string;
  method: "POST" | "PATCH" | "DELETE";
  path: () => string;
  key: () => string | undefined;
  body: () => Promise<Record<string, unknown>> | Record<string, unknown>;
  required: string[];
  faults: FieldFaults[];
}

describe("bad input", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  let funded: CheckoutData;
  let pending: CheckoutData;
  let stranger: TestAgent;

  before(async () => {
    // The loops don't run, so only requests change the database.
    api = await startTestApi();
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
    stranger = await api.registerAgent();
    funded = await fundedDeal(market);
    pending = await checkOut(market);
  });
  after(() => api.close());

  /** Asserts that requests leave the database as it was. */
  const changesNothing = (requests: () => Promise<void>): Promise<void> =>
    storedUnchanged(api, [pending.transactionId, market.serviceId], requests);

  const transactionPath = (checkout: CheckoutData, operation = "") =>
    `/api/v1/transactions/${checkout.transactionId}${operation}`;
  const buyerKey = () => market.buyer.apiKey;
  const sellerKey = () => market.seller.apiKey;

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
  const signInFaults: FieldFaults[] = [
    ["message", [7, null, "", LONG]],
    ["signature", [7, null, "", "0x00", `0x${"g".repeat(130)}`, LONG]],
  ];
  const noBody = { body: () => ({}), required: [], faults: [] };

  const cases: BodyCase[] = [
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
      path: () => `/api/v1/services/${market.serviceId}`,
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
      body: () => ({ serviceId: market.serviceId, paymentMethod: "usdc" }),
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
      path: () => transactionPath(pending, "/fund"),
      key: buyerKey,
      body: () => ({ txHash: UNKNOWN_HASH }),
      required: ["txHash"],
      faults: [["txHash", [7, null, "", "0x", UNKNOWN_HASH.slice(2), `${UNKNOWN_HASH}00`, LONG, [UNKNOWN_HASH]]]],
    },
    {
      name: "POST transactions/{id}/deliver",
      method: "POST",
      path: () => transactionPath(funded, "/deliver"),
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
      path: () => transactionPath(funded, "/confirm"),
      key: buyerKey,
      ...noBody,
      faults: [["txHash", [UNKNOWN_HASH]]],
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
      body: () => paymentMethodBody(market.buyer, chain),
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
      path: () => `/api/v1/services/${market.serviceId}`,
      key: sellerKey,
      ...noBody,
      faults: [["reason", ["no longer offered"]]],
    },
    {
      name: "DELETE auth/keys",
      method: "DELETE",
      path: () => "/api/v1/auth/keys",
      key: () => stranger.apiKey,
      ...noBody,
      faults: [["keyId", ["key_of_another"]]],
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
      name: "POST x402/packs/{packId}",
      method: "POST",
      path: () => "/api/v1/x402/packs/search-1000",
      key: buyerKey,
      ...noBody,
      faults: [["calls", [7]]],
    },
  ];

  const sendTo = (target: BodyCase, options: Parameters<TestApi["request"]>[2]): Promise<Answer> => {
    const key = target.key();
    return api.request(target.method, target.path(), { ...(key === undefined ? {} : { key }), ...options });
  };

  it("is tried on every route that takes a body", () => {
    const tried = cases.map(({ method, path }) => `${method} ${path()}`);
    for (const { method, path } of agentRoutes.filter(({ body }) => body !== undefined)) {
      const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
      assert.ok(
        tried.some((target) => target.startsWith(`${method} `) && pattern.test(target.slice(method.length + 1))),
        `${method} ${path}`,
      );
    }
  });

  for (const target of cases) {
    describe(target.name, () => {
      it("[D33] refuses malformed JSON, another content type, too many bytes and non-objects, and changes nothing", () =>
        changesNothing(async () => {
          const asText = { headers: { "content-type": "text/plain" } };
          const form = { headers: { "content-type": "application/x-www-form-urlencoded" } };
          const rawBody = JSON.stringify(await target.body());
          for (const broken of ["{", `${rawBody.slice(0, -1)},}`, `${rawBody}}`]) {
            assertError(await sendTo(target, { rawBody: broken }), 400, "malformed_json");
          }
          assertError(await sendTo(target, { rawBody, ...asText }), 415, "unsupported_media_type");
          assertError(await sendTo(target, { rawBody: "a=1", ...form }), 415, "unsupported_media_type");
          const padded = `${rawBody.slice(0, -1)}${" ".repeat(MAX_BODY_BYTES)}}`;
          assertError(await sendTo(target, { rawBody: padded }), 413, "payload_too_large");
          assertInvalid(await sendTo(target, { body: [await target.body()] }), "body");
        }));

      it("[D24] [D33] names each field that is missing, wrong, too large or unknown, and changes nothing", () =>
        changesNothing(async () => {
          const body = await target.body();
          for (const field of target.required) {
            const lacking = Object.fromEntries(Object.entries(body).filter(([name]) => name !== field));
            assertInvalid(await sendTo(target, { body: lacking }), `body.${field}`);
          }
          for (const [field, wrong] of target.faults) {
            for (const value of wrong) {
              assertInvalid(await sendTo(target, { body: { ...body, [field]: value } }), `body.${field}`);
            }
          }
          assertInvalid(await sendTo(target, { body: { ...body, noSuchField: 1 } }), "body.noSuchField");
        }));

      if (KEYLESS.includes(target.name)) return;
      it("[S7.02] answers 401 Invalid API key to an unknown key", async () => {
        const answer = await sendTo(target, { key: `svc_${"0".repeat(64)}`, body: await target.body() });
        assertError(answer, 401, "invalid_api_key");
        assert.strictEqual(answer.body.error, "Invalid API key");
      });
    });
  }

  describe("in ids", () => {
    it("[D33] an id that is too long is a validation error; an unknown one or one with operators is a 404", () =>
      changesNothing(async () => {
        const withId = agentRoutes.filter(({ path }) => path.startsWith("/api/v1/") && path.includes("{id}"));
        assert.ok(withId.length > 10);
        for (const { method, path } of withId) {
          const known = cases.find((one) => one.method === method && matches(path, one.path()));
          const body = known === undefined ? {} : { body: await known.body() };
          const at = (id: string) => api.request(method, path.replace("{id}", id), { key: buyerKey(), ...body });
          assertInvalid(await at("x".repeat(101)), "params.id");
          for (const id of [UNKNOWN_TRANSACTION, "undefined", "%7B%22%24gt%22%3A%22%22%7D", "..%2F..", "%00"]) {
            assertError(await at(id), 404, "not_found");
          }
        }
      }));
  });

  describe("of another agent's records", () => {
    it("[D33] changes nothing: to a stranger they don't exist, and only its seller can change a listing", () =>
      changesNothing(async () => {
        const key = stranger.apiKey;
        for (const checkout of [funded, pending]) {
          const posts: [string, object][] = [
            ["/fund", { txHash: UNKNOWN_HASH }],
            ["/deliver", { responsePayload: { mine: true } }],
            ["/confirm", {}],
          ];
          for (const [operation, body] of posts) {
            const answer = await api.request("POST", transactionPath(checkout, operation), { key, body });
            assertError(answer, 404, "not_found");
          }
          for (const operation of ["", "/criteria", "/claimAbandoned", "/finalize"]) {
            assertError(await api.request("GET", transactionPath(checkout, operation), { key }), 404, "not_found");
          }
        }
        const listing = `/api/v1/services/${market.serviceId}`;
        assertError(await api.request("PATCH", listing, { key, body: { price: 1 } }), 403, "wrong_role");
        assertError(await api.request("DELETE", listing, { key }), 403, "wrong_role");
        const { body } = await api.request("GET", "/api/v1/transactions", { key });
        assert.deepEqual(body.data, []);
      }));

    it("[S4.r09] [S4.r10] [S7.21] [D33] a wrong role is a 403 wrong_role in JSON and changes nothing", () =>
      changesNothing(async () => {
        const as = (key: string, method: string, operation: string, body?: object) =>
          api.request(method, transactionPath(funded, operation), { key, ...(body === undefined ? {} : { body }) });
        assertError(await as(buyerKey(), "POST", "/deliver", { responsePayload: {} }), 403, "wrong_role");
        assertError(await as(sellerKey(), "POST", "/confirm", {}), 403, "wrong_role");
        assertError(await as(sellerKey(), "POST", "/fund", { txHash: UNKNOWN_HASH }), 403, "wrong_role");
        assertError(await as(sellerKey(), "GET", "/claimAbandoned"), 403, "wrong_role");
      }));
  });

  describe("repeated calls", () => {
    it("a second DELETE or a change of an archived listing is a 409 and changes nothing", async () => {
      const created = await api.request("POST", "/api/v1/services", { key: sellerKey(), body: listingBody() });
      const path = `/api/v1/services/${created.body.data.id}`;
      assert.strictEqual((await api.request("DELETE", path, { key: sellerKey() })).status, 200);
      await changesNothing(async () => {
        assertError(await api.request("DELETE", path, { key: sellerKey() }), 409, "service_archived");
        const body = { status: "active" };
        assertError(await api.request("PATCH", path, { key: sellerKey(), body }), 409, "service_archived");
      });
    });

    it("[D16] [D17] [D18] of fund, deliver and confirm give the same answers and change nothing", async () => {
      const checkout = await fundedDeal(market);
      const { fundTxHash } = await readTransaction(api, market.buyer, checkout.transactionId);
      const send = (key: string, operation: string, body: object) =>
        api.request("POST", transactionPath(checkout, operation), { key, body });
      await changesNothing(async () => {
        const again = await send(buyerKey(), "/fund", { txHash: fundTxHash });
        assert.deepEqual([again.status, again.body.data.status], [200, "funded"]);
      });

      const responsePayload = { answer: 42 };
      await deliverDeal(market, checkout.transactionId, responsePayload);
      await act(api, chain, market.buyer, checkout.transactionId, "accept");
      const first = await until("confirm answers", async () => {
        const answer = await send(buyerKey(), "/confirm", {});
        return answer.status === 200 ? answer : undefined;
      });
      await changesNothing(async () => {
        const second = await send(buyerKey(), "/confirm", {});
        assert.deepEqual([second.status, second.body.data.status], [200, first.body.data.status]);
        const delivered = await send(sellerKey(), "/deliver", { responsePayload });
        assert.deepEqual([delivered.status, delivered.body.data.status], [200, "released"]);
        const other = await send(sellerKey(), "/deliver", { responsePayload: { answer: 43 } });
        assertError(other, 409, "delivery_already_submitted");
        const refunded = await send(buyerKey(), "/fund", { txHash: fundTxHash });
        assert.strictEqual(refunded.body.data.status, "released");
      });
    });

    it("[D38] of rotate keep the next secret, and of activate the current one", async () => {
      const at = (operation: string) =>
        api.request("POST", `/api/v1/webhooks/secret/${operation}`, { key: stranger.apiKey, body: {} });
      const rotated = await at("rotate");
      await changesNothing(async () => {
        assert.deepEqual((await at("rotate")).body.data, rotated.body.data);
      });
      const activated = await at("activate");
      assert.strictEqual(activated.body.data.secret, rotated.body.data.next.secret);
      await changesNothing(async () => {
        assert.deepEqual((await at("activate")).body.data, activated.body.data);
      });
    });
  });
});

function matches(template: string, path: string): boolean {
  return pathsOf(template).some((one) => new RegExp(`^${one.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path));
}
