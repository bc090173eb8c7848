// What attackers put into fields, tried on every field of every route that /openapi.json has.
import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { fieldsOfRequests, placeOf, requestWith } from "../../fixtures/request-fields.ts";
import type { RequestField } from "../../fixtures/request-fields.ts";
import { changesNothing } from "../../fixtures/stored.ts";

/** Without the admin's routes, which record every use (test/api/kya/admin.test.ts). */
const fields = fieldsOfRequests().filter(({ route }) => !route.includes("/admin/"));
const inPart = (part: RequestField["part"]) => fields.filter((field) => field.part === part && field.field.length > 0);
/** Fields of bodies that hold no object by themselves. */
const scalars = inPart("body").filter(({ schema }) =>
  ["string", "number", "integer", "boolean"].includes(schema.type ?? ""),
);

/** Selects everything where a text reaches a query of the database as an object. */
const OPERATORS = [{ $gt: "" }, { $ne: null }, { $where: "sleep(1000)" }, { $regex: ".*" }];

const SIZE = 100_000;
/**
 * Texts on which a pattern that backtracks needs longer than the limit of a test: runs of what the API's patterns repeat,
 * ended by what they don't take.
 */
const RUNS = ["a", "0", "-", " ", "a.", "a@", "0x", "1.", "\u200b", "://"].map(
  (piece) => `${piece.repeat(SIZE / Buffer.byteLength(piece))}\u0000`,
);
/** The same for headers, whose size is limited. */
const HEADER_RUNS = ["a", "0", " a", ",", "a=", '"', ";", "\\", "=", "Bearer "].map(
  (piece) => `${piece.repeat(1_000)}!`,
);

describe("hostile values", () => {
  let api: TestApi;
  let caller: TestAgent;
  before(async () => {
    api = await startTestApi();
    caller = await api.registerAgent();
  });
  after(() => api.close());

  const send = (field: RequestField, value: unknown): Promise<Answer> => {
    const { method, path, options } = requestWith(field, value, caller);
    return api.request(method, path, options);
  };
  const named = ({ body }: Answer): string[] => (body.details as { path: string }[]).map(({ path }) => path);
  /** Asserts a validation error about a field, and says for which one it isn't. */
  function assertRefused(answer: Answer, place: string, what: string): void {
    assert.deepEqual(
      [answer.status, answer.body?.code],
      [400, "validation_error"],
      `${what}: ${answer.text.slice(0, 500)}`,
    );
    assert.include(named(answer), place, what);
  }

  it("[D33] database operators in place of a value are a validation error that names the field, in every body", () =>
    changesNothing(api, [caller.agentId], async () => {
      assert.isAbove(scalars.length, 30);
      for (const field of scalars) {
        for (const operator of OPERATORS) {
          assertRefused(await send(field, operator), placeOf(field), `${field.route} ${placeOf(field)}`);
        }
      }
    }));

  it("[D33] operators, prototypes, lists and repeated parameters are refused in every query", () =>
    changesNothing(api, [caller.agentId], async () => {
      assert.isAbove(inPart("query").length, 30);
      for (const field of inPart("query")) {
        const [name = ""] = field.field;
        const { method, path, options } = requestWith(field, "x", caller);
        const [base = ""] = path.split("?");
        const tried: [query: string, place: string][] = [
          [`${name}=a&${name}=b`, `query.${name}`],
          [`${name}[$ne]=x`, `query.${name}[$ne]`],
          [`${name}[]=x`, `query.${name}[]`],
          [`${name}.$gt=`, `query.${name}.$gt`],
          [`__proto__[${name}]=x`, `query.__proto__[${name}]`],
          [`constructor[prototype][${name}]=x`, `query.constructor[prototype][${name}]`],
        ];
        for (const [query, place] of tried) {
          const answer = await api.request(method, `${base}?${query}`, options);
          assertRefused(answer, place, `${field.route} ${query}`);
        }
      }
      assert.isUndefined((Object.prototype as Record<string, unknown>)["x"]);
    }));

  it("[D33] __proto__ and constructor as fields are refused in every body, and change no prototype", () =>
    changesNothing(api, [caller.agentId], async () => {
      for (const { route } of fields.filter(({ part, field }) => part === "body" && field.length === 0)) {
        const [method = "", path = ""] = route.split(" ");
        if (path.startsWith("/internal/")) continue;
        const options = { key: caller.apiKey };
        for (const name of ["__proto__", "constructor"]) {
          const rawBody = `{"${name}":{"polluted":true,"prototype":{"polluted":true}}}`;
          const answer = await api.request(method, path.replaceAll(/\{\w+\}/g, "unknown"), { ...options, rawBody });
          assertRefused(answer, `body.${name}`, route);
        }
      }
      assert.isUndefined(({} as Record<string, unknown>)["polluted"]);
    }));

  it("texts made to keep a pattern busy are refused in every field, and others are served meanwhile", async () => {
    for (const field of scalars.filter(({ schema }) => schema.type === "string")) {
      for (const text of RUNS) {
        assertRefused(await send(field, text), placeOf(field), `${field.route} ${placeOf(field)} ${text.slice(0, 4)}`);
      }
    }
    const names = ["x-api-key", "authorization", "idempotency-key", "x-request-id", "x-payment", "payment-signature"];
    for (const name of [...names, "signature", "signature-input", "x-forwarded-for", "accept", "content-encoding"]) {
      for (const value of HEADER_RUNS) {
        const answer = await api.request("POST", "/api/v1/webhooks/secret/activate", { headers: { [name]: value } });
        assert.include([401, 415], answer.status, `${name}: ${value.slice(0, 8)}`);
      }
    }
    assert.strictEqual((await api.request("GET", "/health")).status, 200);
  });
});
