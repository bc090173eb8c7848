// The limits per minute of section 8.2, with a moved clock.
import { createRequire } from "node:module";

import { assert } from "chai";

import type { RateClass } from "../../../api/config/constants.ts";
import { isClientClass } from "../../../api/http/admission.ts";
import { clientOf } from "../../../api/lib/client-address.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { Answer, RequestOptions, TestAgent, TestApi } from "../../fixtures/api.ts";
import { RATE_CALLS } from "../../fixtures/class-calls.ts";
import { limitsWith, movedClock } from "../../fixtures/limits.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { ApiError } from "../../../api/http/errors.ts";

type Field = [value: string, parameters: Map<string, number>];
/** The parser of structured fields (RFC 9651) that the package for request signatures brings along. */
const { parseList } = createRequire(createRequire(import.meta.url).resolve("http-message-signatures"))(
  "structured-headers",
) as { parseList: (field: string) => Field[] };

// The clock stands still between its moves, but the time that the database takes for a call is added to it. So the moves
// leave a margin of seconds for a loaded machine.
const SECOND = 1_000;
const NO_BODY = { body: {} };

/** The limit of each class in the specification and the facts that its test proves. */
const LIMITS: [facts: string, rateClass: RateClass, limit: number][] = [
  ["[S8.2.02]", "developerAccess", 10],
  ["[S8.2.03]", "discover", 30],
  ["[S8.2.11]", "memoryWrite", 100],
  ["[S8.2.12]", "memoryRead", 100],
  ["[S8.2.13]", "memorySearch", 10],
  ["[D34]", "keyless", 100],
  ["[D34]", "registration", 100],
  ["[S8.2.04]", "checkout", 20],
  ["[S8.2.05]", "fund", 20],
  ["[S8.2.06]", "deliver", 20],
  ["[S8.2.07]", "confirm", 20],
  ["[S8.2.08]", "general", 100],
  ["[S8.2.16]", "dispute", 10],
  ["[S8.2.09]", "messageSend", 20],
  ["[S8.2.14]", "inboxRead", 100],
  ["[S8.2.15]", "messageWebhook", 20],
  ["[S8.2.10]", "search", 10],
];

describe("limits per minute", () => {
  const clock = movedClock();
  let api: TestApi;

  before(async () => {
    api = await startTestApi({ search: true, clock, env: { limits: limitsWith() } });
  });
  after(() => api.close());
  beforeEach(() => {
    clock.pass(120 * SECOND);
  });

  const register = () => api.registerAgent({ message: { issuedAt: clock.now() } });

  async function sendMany(count: number, send: () => Promise<Answer>): Promise<number> {
    const answers = await Promise.all(Array.from({ length: count }, send));
    return answers.filter(({ status }) => status !== 429).length;
  }

  for (const [facts, rateClass, limit] of LIMITS) {
    const { method, path, options } = RATE_CALLS[rateClass];
    it(`${facts} [S7.22] [S7.23] ${method} ${path.replace(/\?.*/, "")} (${rateClass}): ${limit} calls in 60 seconds, not one more or fewer`, async () => {
      const { apiKey: key } = await register();
      clock.pass(120 * SECOND);
      const keyed = isClientClass(rateClass) ? options : { ...options, key };
      const send = () => api.request(method, path, keyed);
      assert.strictEqual(await sendMany(limit + 5, send), limit);
      const refused = await send();
      const text = rateClass === "developerAccess" ? "Too Many Attempts" : "Rate limit exceeded";
      assert.deepInclude(refused.body, { success: false, error: text });
      const countedBy = isClientClass(rateClass) ? "address" : "key";
      assert.deepEqual(refused.body.details, { window: rateClass, countedBy, limit });
      assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d?$/);
      clock.pass(40 * SECOND);
      assert.strictEqual(await sendMany(3, send), 0);
      clock.pass(40 * SECOND);
      assert.strictEqual(await sendMany(limit + 5, send), limit);
    });
  }

  it("names each window in the fields of the IETF draft, with what is left and when there is more", async () => {
    const { apiKey: key } = await register();
    clock.pass(120 * SECOND);
    const search = () => api.request("GET", "/api/v1/services?q=translate", { key });
    const fieldsOf = ({ headers }: Answer) =>
      ["ratelimit-policy", "ratelimit"].map((name): Record<string, unknown> => {
        const [[window, parameters] = ["", new Map<string, number>()]] = parseList(headers.get(name) ?? "");
        return { window, ...Object.fromEntries(parameters) };
      });
    await search();
    clock.pass(30 * SECOND);
    const [policy, state] = fieldsOf(await search());
    assert.deepEqual(policy, { window: "search", q: 10, w: 60 });
    assert.deepInclude(state, { window: "search", r: 8 });
    // The first call leaves the window in about 30 seconds, the second in 60.
    assert.approximately(Number(state?.["t"]), 30, 5);
    assert.strictEqual(await sendMany(8, search), 8);
    const refused = await search();
    const [, full] = fieldsOf(refused);
    assert.deepEqual(full, { window: "search", r: 0, t: Number(refused.headers.get("retry-after")) });
    const unlimited = fieldsOf(await api.request("GET", "/health"));
    assert.deepEqual(unlimited, [
      { window: "keyless", q: 100, w: 60 },
      { window: "keyless", r: 100 },
    ]);
  });

  it("every class has a limit in the list above, and no other", () => {
    const listed = LIMITS.map(([, rateClass, limit]) => [rateClass, limit]);
    assert.deepEqual(limitsWith().rateLimits, Object.fromEntries(listed));
  });

  it("[S8.2.01] the window slides: calls leave it one by one, 60 seconds after they came", async () => {
    const { apiKey: key } = await register();
    const send = () => api.request("GET", "/api/v1/services?q=translate", { key });
    assert.strictEqual(await sendMany(4, send), 4);
    clock.pass(30 * SECOND);
    assert.strictEqual(await sendMany(10, send), 6);
    clock.pass(45 * SECOND);
    assert.strictEqual(await sendMany(10, send), 4);
    clock.pass(30 * SECOND);
    assert.strictEqual(await sendMany(10, send), 6);
  });

  it("each class has a window of its own, and so has each key", async () => {
    const [one, other] = [await register(), await register()];
    const { admissionControl } = api.container;
    const left = async ({ apiKey }: TestAgent, rateClass: RateClass) => {
      const headers = { "x-api-key": [apiKey] };
      return (await admissionControl.admit({ auth: "apiKey", rateClass, budget: undefined, headers, ip: "::1" })).rate
        .remaining;
    };
    assert.deepEqual([await left(one, "memoryWrite"), await left(one, "memoryWrite")], [99, 98]);
    assert.deepEqual([await left(one, "memoryRead"), await left(other, "memoryWrite")], [99, 99]);
  });

  describe("the answer of 429", () => {
    it("[D33] [D34] says `Rate limit exceeded` and when a call is free again", async () => {
      const { apiKey: key } = await register();
      const send = () => api.request("POST", "/api/v1/checkout", { key, body: {} });
      await sendMany(10, send);
      clock.pass(20 * SECOND);
      await sendMany(10, send);
      const answer = await send();
      assertError(answer, 429, "rate_limit_exceeded");
      assert.strictEqual(answer.body.error, "Rate limit exceeded");
      assert.closeTo(Number(answer.headers.get("retry-after")), 40, 15);
      assert.deepEqual(rateOf(answer).slice(0, 2), ["20", "0"]);
      clock.pass(50 * SECOND);
      assert.strictEqual(await sendMany(20, send), 10);
    });

    it("[D34] says `Too Many Attempts` for developer access, after 10 calls of a client", async () => {
      for (let n = 0; n < 10; n += 1) await api.request("POST", "/api/developer/access", NO_BODY);
      const answer = await api.request("POST", "/api/developer/access", NO_BODY);
      assertError(answer, 429, "too_many_attempts");
      assert.deepEqual([answer.body.success, answer.body.error], [false, "Too Many Attempts"]);
      const ask = (ip: string) =>
        api.container.admissionControl.admit({
          auth: "none",
          rateClass: "developerAccess",
          budget: undefined,
          headers: {},
          ip,
        });
      await Promise.all(Array.from({ length: 10 }, () => ask("198.51.100.7")));
      const refusal = await rejectionOf(ask("198.51.100.7"), ApiError);
      assert.deepEqual([refusal.status, refusal.toBody().error], [429, "Too Many Attempts"]);
      assert.match(refusal.headers["Retry-After"] ?? "", /^\d+$/);
      assert.strictEqual((await ask("198.51.100.8")).rate.remaining, 9);
    });
  });

  describe("the headers", () => {
    it("[S8.2.17] [S8.2.18] [S8.2.19] are on every answer, whatever its status", async () => {
      const { apiKey: key } = await register();
      const large = { rawBody: JSON.stringify({ query: "x".repeat(300_000) }) };
      const sent: [status: number, method: string, path: string, options: RequestOptions][] = [
        [200, "GET", "/api/v1/services", { key }],
        [200, "GET", "/api/v1/auth/usage", { key }],
        [200, "GET", "/api/v1/categories", {}],
        [200, "GET", "/health", {}],
        [200, "GET", "/openapi.json", {}],
        [200, "GET", "/docs", {}],
        [400, "POST", "/api/v1/checkout", { key, body: {} }],
        [400, "POST", "/api/v1/discover", { rawBody: "{" }],
        [401, "GET", "/api/v1/services", {}],
        [404, "GET", "/api/v1/services/lst_unknown", { key }],
        [404, "GET", "/nothing", {}],
        [404, "GET", "/%E0%A4%A", {}],
        [405, "PUT", "/api/v1/services", { key }],
        [413, "POST", "/api/v1/discover", large],
        [415, "POST", "/api/v1/discover", { rawBody: "{}", headers: { "content-type": "text/plain" } }],
      ];
      for (const [status, method, path, options] of sent) {
        const answer = await api.request(method, path, options);
        assert.strictEqual(answer.status, status, `${method} ${path}: ${answer.text.slice(0, 200)}`);
        for (const value of rateOf(answer)) assert.match(value ?? "", /^\d+$/, `${method} ${path}`);
      }
    });

    it("[S8.2.18] [S8.2.19] count down and say when the window is empty", async () => {
      const { apiKey: key } = await register();
      const send = () => api.request("GET", "/api/v1/services?q=x", { key });
      assert.deepEqual(rateOf(await send()), ["10", "9", "60"]);
      clock.pass(30 * SECOND);
      assert.deepEqual(rateOf(await send()), ["10", "8", "60"]);
      assert.deepEqual(rateOf(await api.request("GET", "/health")), ["100", "100", "0"]);
    });
  });

  it("[D34] registration and new keys share a window that nothing else of the same address fills", async () => {
    const unknown = () => api.request("GET", "/nothing");
    const guess = () => api.request("GET", "/api/v1/services", { key: `svc_${"0".repeat(64)}` });
    assert.strictEqual((await sendMany(60, unknown)) + (await sendMany(60, guess)), 100);
    const refused = await unknown();
    assertError(refused, 429, "rate_limit_exceeded");
    assert.deepEqual(refused.body.details, { window: "keyless", countedBy: "address", limit: 100 });
    await register();
    const answers = [
      await sendMany(60, () => api.request("POST", "/api/v1/auth/register", NO_BODY)),
      await sendMany(60, () => api.request("POST", "/api/v1/auth/keys", NO_BODY)),
    ];
    assert.deepEqual(answers, [60, 39]);
    assert.strictEqual((await api.request("POST", "/api/v1/auth/keys", NO_BODY)).body.details.window, "registration");
    clock.pass(120 * SECOND);
    assert.strictEqual(await sendMany(105, () => api.request("POST", "/api/v1/auth/keys", NO_BODY)), 100);
    assert.strictEqual((await unknown()).status, 404);
  });

  describe("security", () => {
    it("[D34] requests without a valid key and to unknown paths share the client's keyless window", async () => {
      const { apiKey: key } = await register();
      clock.pass(120 * SECOND);
      const bad = `svc_${"0".repeat(64)}`;
      const sends = [
        () => api.request("GET", "/api/v1/services"),
        () => api.request("GET", "/api/v1/services", { key: bad }),
        () => api.request("GET", "/api/v1/services", { key: "nonsense" }),
        () => api.request("GET", "/nothing"),
        () => api.request("PUT", "/api/v1/services"),
      ];
      const answers = await Promise.all(Array.from({ length: 21 }, () => sends.map((send) => send())).flat());
      assert.strictEqual(answers.filter(({ status }) => status !== 429).length, 100);
      // A caller with a key isn't affected by others behind the same address, and probes always get an answer.
      assert.strictEqual((await api.request("GET", "/api/v1/services", { key })).status, 200);
      assert.strictEqual((await api.request("GET", "/health")).status, 200);
    });

    it("a key in the query is ignored", async () => {
      const { apiKey } = await register();
      for (const name of ["key", "api_key", "X-API-Key", "apiKey"]) {
        assertError(await api.request("GET", `/api/v1/services?${name}=${apiKey}`), 401, "invalid_api_key");
      }
    });

    it("two different keys in one request count as none, and use up neither limit", async () => {
      const [one, other] = [await register(), await register()];
      const headers = { authorization: `Bearer ${other.apiKey}` };
      assertError(await api.request("GET", "/api/v1/services", { key: one.apiKey, headers }), 401, "invalid_api_key");
      const answer = await api.request("GET", "/api/v1/services", { key: one.apiKey });
      assert.deepEqual(rateOf(answer), ["100", "99", "60"]);
    });

    it("a client has one window for its IPv4 address, and one for its /64 network of IPv6", () => {
      const same: [string, string][] = [
        ["192.0.2.1", "192.0.2.1"],
        ["::ffff:192.0.2.1", "192.0.2.1"],
        ["2001:db8:0:1::7", "2001:db8:0:1::/64"],
        ["2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:1::/64"],
        ["2001:0DB8:0000:0001::", "2001:db8:0:1::/64"],
        ["2001:db8::1", "2001:db8:0:0::/64"],
        ["::1", "0:0:0:0::/64"],
        ["fe80::1%eth0", "fe80:0:0:0::/64"],
        ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
        ["nonsense", "unknown"],
        ["", "unknown"],
        ["1.2.3.4, 5.6.7.8", "unknown"],
      ];
      for (const [ip, client] of same) assert.strictEqual(clientOf(ip), client, ip);
    });
  });
});

describe("the client's address", () => {
  const forged = (value: string): RequestOptions => ({ headers: { "x-forwarded-for": value } });

  it("[D34] without a proxy is the peer's, whatever X-Forwarded-For says", async () => {
    const api = await startTestApi({ search: true, env: { limits: limitsWith({ keyless: 3 }), trustedProxies: 0 } });
    try {
      for (let n = 0; n < 3; n += 1) {
        assert.strictEqual((await api.request("GET", "/api/v1/categories", forged(`192.0.2.${n}`))).status, 200);
      }
      assertError(await api.request("GET", "/api/v1/categories", forged("192.0.2.77")), 429, "rate_limit_exceeded");
    } finally {
      await api.close();
    }
  });

  it("[D34] behind one proxy is what that proxy has added, whatever the client has put before it", async () => {
    const api = await startTestApi({ search: true, env: { limits: limitsWith({ keyless: 3 }), trustedProxies: 1 } });
    try {
      for (let n = 0; n < 3; n += 1) {
        const options = forged(`198.51.100.${n}, 192.0.2.1`);
        assert.strictEqual((await api.request("GET", "/api/v1/categories", options)).status, 200);
      }
      const full = await api.request("GET", "/api/v1/categories", forged("198.51.100.99, 192.0.2.1"));
      assertError(full, 429, "rate_limit_exceeded");
      assert.strictEqual((await api.request("GET", "/api/v1/categories", forged("192.0.2.2"))).status, 200);
    } finally {
      await api.close();
    }
  });
});

describe("two APIs on one database", () => {
  const CLIENTS = 8;
  let apis: [TestApi, TestApi];

  before(async () => {
    const first = await startTestApi({ search: true, env: { limits: limitsWith() } });
    apis = [
      first,
      await startTestApi({
        search: true,
        env: { limits: limitsWith() },
        databaseName: first.container.connection.name,
      }),
    ];
  });
  after(async () => {
    await apis[1].stop();
    await apis[0].close();
  });

  /** Eight clients send calls one after the other, half of them to each API. Returns how many were admitted. */
  async function race(each: number, send: (api: TestApi) => Promise<Answer>): Promise<number> {
    const admitted = await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        let count = 0;
        for (let n = 0; n < each; n += 1) {
          const { status } = await send(apis[client % 2 === 0 ? 0 : 1]);
          if (status !== 429) count += 1;
        }
        return count;
      }),
    );
    return admitted.reduce((sum, count) => sum + count, 0);
  }

  it("[D34] never admit one call of a key more or fewer than its limit", async () => {
    const { apiKey: key } = await apis[0].registerAgent();
    const checkout = (api: TestApi) => api.request("POST", "/api/v1/checkout", { key, body: {} });
    const read = (api: TestApi) => api.request("GET", "/api/v1/services/lst_unknown", { key });
    assert.deepEqual([await race(5, checkout), await race(18, read)], [20, 100]);
  });

  it("[D34] never admit one call of a client more or fewer than its limit", async () => {
    const discover = (api: TestApi) => api.request("POST", "/api/v1/discover", { body: { query: "x" } });
    assert.strictEqual(await race(8, discover), 30);
  });
});

function rateOf({ headers }: Answer): (string | null)[] {
  return ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"].map((name) => headers.get(name));
}
