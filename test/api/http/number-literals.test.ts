// Numbers that JavaScript would change without a word (decision 50).
import { assert } from "chai";

import { routes } from "../../../api/app.ts";
import { lossIssues } from "../../../api/http/validation.ts";
import { isExactNumber } from "../../../api/lib/exact-number.ts";
import { signWebhook } from "../../../api/features/webhooks/secrets/signature.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertInvalid, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { RequestOptions, TestAgent, TestApi } from "../../fixtures/api.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import { seededRandom } from "../../fixtures/random.ts";

const INEXACT = "12345678901234567891";
const SECRET = "a-secret-that-only-the-rpc-provider-knows";

describe("a number literal", () => {
  const KEPT = [
    ...["0", "-0", "0.1", "1.0", "1e2", "1E+2", "-1.50e-3", "0e400", "-0.0e-999", "0.00000010", "123456789012345"],
    ...[
      "9007199254740992",
      "12345678901234568",
      "0.30000000000000004",
      "1e23",
      "123456789012345680000",
      `1${"0".repeat(300)}`,
    ],
    ...["5e-324", "1.7976931348623157e308", `0.${"0".repeat(200)}1`, "2.5e-7", "1.2300000000000000000000"],
  ];
  const CHANGED = [
    ...[
      INEXACT,
      `-${INEXACT}`,
      "0.10000000000000001",
      "1e400",
      "-1e400",
      "1e-400",
      "9007199254740993",
      "12345678901234567",
    ],
    ...["4.9e-324", "1e99999999999999999999", "1e-99999999999999999999", "9".repeat(1_000), `0.${"3".repeat(18)}`],
    ...["1.79769313486231580e308", "123456789012345678e-5", `1.${"0".repeat(30)}1`],
  ];

  it("[D50] is kept if its decimal value is that of what JavaScript writes", () => {
    assert.deepEqual(
      KEPT.filter((literal) => !isExactNumber(literal)),
      [],
    );
    assert.deepEqual(CHANGED.filter(isExactNumber), []);
  });

  /** The decimal value, by integers alone. */
  function valueOf(literal: string): string {
    const [mantissa = "", power = "0"] = literal.toLowerCase().split("e");
    const [whole = "", fraction = ""] = mantissa.split(".");
    let value = BigInt(whole + fraction);
    let exponent = Number(power) - fraction.length;
    if (value === 0n) return "0";
    for (; value % 10n === 0n; value /= 10n) exponent += 1;
    return `${value}e${exponent}`;
  }

  it("[D50] of any length, place of the point and exponent is judged as integers judge it", () => {
    const random = seededRandom();
    const below = (bound: number) => Math.floor(random() * bound);
    for (let round = 0; round < 20_000; round += 1) {
      const digits = `${1 + below(9)}${Array.from({ length: below(19) }, () => below(10)).join("")}`;
      const point = below(digits.length + 1);
      const whole = digits.slice(0, point) || "0";
      const fraction = digits.slice(point);
      const exponent = random() < 0.5 ? "" : `e${below(680) - 340}`;
      const literal = `${whole}${fraction === "" ? "" : `.${fraction}`}${exponent}`;
      const number = Number(literal);
      const isKept = Number.isFinite(number) && valueOf(String(number)) === valueOf(literal);
      assert.strictEqual(isExactNumber(literal), isKept, literal);
    }
  });

  it("is found wherever it is, but not inside texts and names", () => {
    const text = `{"a":[0.5,{"b":[${INEXACT},1]}],"${INEXACT}":"${INEXACT} \\" ${INEXACT}","c":1e400}`;
    assert.deepEqual(
      lossIssues(text).map(({ path }) => path),
      ["body.a.1.b.0", "body.c"],
    );
  });

  it("is reported at most twenty times, and not after a place with a long name", () => {
    assert.lengthOf(lossIssues(`[${Array.from({ length: 1_000 }, () => INEXACT).join(",")}]`), 20);
    assert.lengthOf(lossIssues(`{"${"n".repeat(10_000)}":[${INEXACT},${INEXACT}]}`), 1);
  });
});

describe("a body with a number that can't be kept", () => {
  let api: TestApi;
  let agent: TestAgent;
  before(async () => {
    api = await startTestApi({ env: { isLocalStack: true, internalWebhookSecret: SECRET, adminApiKey: ADMIN_KEY } });
    agent = await api.registerAgent();
  });
  after(() => api.close());

  it("[D50] is a validation error that names it, on every route", async () => {
    const rawBody = `{"a":[{"b":1.5},{"b":${INEXACT}}],"c":-1e-400}`;
    const timestamp = Math.floor(Date.now() / 1_000);
    const push = { headers: { "x-service-signature": signWebhook(SECRET, rawBody, timestamp) } };
    const taking = routes.filter(({ body }) => body !== undefined);
    assert.isAbove(taking.length, 40);
    for (const { method, path, auth } of taking) {
      const keyed: RequestOptions = { key: agent.apiKey };
      const callers = { none: push, apiKey: keyed, bearerKey: keyed, optionalApiKey: keyed, admin: AS_ADMIN };
      const caller: RequestOptions = callers[auth];
      const answer = await api.request(method, path.replaceAll(/\{\w+\}/g, "unknown"), {
        ...caller,
        headers: { "content-type": "application/json", ...caller.headers },
        rawBody,
      });
      assertInvalid(answer, "body.a.1.b", "body.c");
      assert.match(answer.text, /send it as a string/, `${method} ${path}`);
    }
  });

  it("[D50] changes nothing, and the same number as a text is kept to its last digit", async () => {
    const write = (value: string) =>
      api.request("POST", "/api/v1/memory", {
        key: agent.apiKey,
        rawBody: `{"key":"balance","value":{"wei":${value}}}`,
      });
    assertInvalid(await write(INEXACT), "body.value.wei");
    const read = () => api.request("GET", "/api/v1/memory/balance", { key: agent.apiKey });
    assert.strictEqual((await read()).status, 404);
    assert.strictEqual((await write(`"${INEXACT}"`)).status, 201);
    assert.deepEqual((await read()).body.data.value, { wei: INEXACT });
    assert.strictEqual((await write("[0.1,1.0,1e2,-0]")).status, 200);
    assert.deepEqual((await read()).body.data.value, { wei: [0.1, 1, 100, 0] });
  });

  it("[D50] isn't read in the entries of a batch or an import either, nor as a price", async () => {
    const entry = `{"key":"balance","value":${INEXACT}}`;
    for (const path of ["/api/v1/memory/batch", "/api/v1/memory/import"]) {
      const answer = await api.request("POST", path, { key: agent.apiKey, rawBody: `{"entries":[${entry}]}` });
      assertInvalid(answer, "body.entries.0.value");
    }
    const rawBody = JSON.stringify(listingBody()).replace('"price":2.5', '"price":0.10000000000000001');
    assertInvalid(await api.request("POST", "/api/v1/services", { key: agent.apiKey, rawBody }), "body.price");
  });
});
