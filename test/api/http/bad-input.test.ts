import { assert } from "chai";

import { routes } from "../../../api/app.ts";
import { MAX_BODY_BYTES } from "../../../api/config/constants.ts";
import { pathsOf } from "../../../api/http/define-route.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { changesNothing as storedUnchanged } from "../../fixtures/stored.ts";
import { bodyCases } from "./body-cases.ts";
import { openScene } from "./body-scene.ts";
import type { BodyCase } from "./body-scene.ts";

const UNKNOWN_TRANSACTION = `txn_${"0".repeat(32)}`;
/** Others try the routes of admins (test/api/kya/admin.test.ts), the signed ones (test/api/chain-follower) and the faucet (test/api/faucet). */
const agentRoutes = routes.filter(
  ({ auth, audience, path }) => auth !== "admin" && audience !== "localStack" && !path.startsWith("/internal/"),
);
/** Cases of routes without a key. */
const KEYLESS = [
  ...["POST developer/access", "POST discover", "POST auth/register", "POST auth/keys"],
  ...["POST sessions", "DELETE sessions/current", "POST sessions/current/keys"],
  "POST sessions/current/webhook-secret",
];

describe("bad input", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  let funded: CheckoutData;
  let pending: CheckoutData;
  let stranger: TestAgent;
  let webhookId: string;

  before(async () => {
    // The loops don't run, so only requests change the database.
    api = await startTestApi();
    ({ chain, market, stranger, webhookId, funded, pending } = await openScene(api));
  });
  after(() => api.close());

  /** Asserts that requests leave the database as it was. */
  const changesNothing = (requests: () => Promise<void>): Promise<void> =>
    storedUnchanged(api, [pending.transactionId, market.serviceId], requests);

  const buyerKey = () => market.buyer.apiKey;
  const cases = bodyCases(() => ({ chain, market, funded, pending, stranger, webhookId }));

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
        if (target.name === "POST ucp/messages") {
          assert.deepEqual([answer.status, answer.body], [401, { error: "Invalid or inactive API key" }]);
          return;
        }
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
});

function matches(template: string, path: string): boolean {
  return pathsOf(template).some((one) => new RegExp(`^${one.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path));
}
