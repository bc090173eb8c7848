import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { assert } from "chai";

import {
  ApiError,
  collect,
  isTransient,
  Marketplace,
  NetworkError,
  RefusedError,
  TimeoutError,
} from "../../sdk/src/index.ts";
import type { Agent, RetryOptions } from "../../sdk/src/index.ts";
import { rejectionOf } from "../fixtures/rejection.ts";
import { startScriptedServer } from "../fixtures/scripted-server.ts";
import type { ScriptedAnswer, ScriptedServer } from "../fixtures/scripted-server.ts";

const KEY = `svc_${"0".repeat(64)}`;
const QUICK: RetryOptions = { baseDelayMs: 1, maxDelayMs: 2 };
const NEW_LISTING = { title: "T", description: "D", category: "research", price: 1, priceUnit: "flat" } as const;

const ok: ScriptedAnswer = { status: 200, body: { success: true, data: { id: "lst_1" } } };
const failure = (status: number, code: string, headers: Record<string, string> = {}): ScriptedAnswer => ({
  status,
  headers,
  body: { success: false, error: "Something", code, details: { a: 1 } },
});
const breakOff: ScriptedAnswer = (response) => response.destroy();

describe("a request of the client", () => {
  let server: ScriptedServer | undefined;
  afterEach(() => server?.close());

  const agentOn = async (answers: readonly ScriptedAnswer[], retry = QUICK, timeoutMs?: number): Promise<Agent> => {
    server = await startScriptedServer(...answers);
    return new Marketplace({ url: server.url, retry, timeoutMs }).agent({ apiKey: KEY });
  };
  const count = () => server?.seen.length;

  it("carries the key and JSON, and leaves undefined filters out", async () => {
    const agent = await agentOn([{ status: 200, body: { data: [], nextCursor: null } }]);
    assert.deepEqual(await collect(agent.listings.list({ category: "research", q: undefined })), []);
    const [seen] = server?.seen ?? [];
    assert.strictEqual(seen?.path, "/api/v1/services?category=research");
    assert.strictEqual(seen?.headers["x-api-key"], KEY);
    assert.strictEqual(seen?.headers["content-type"], undefined);
  });

  it("[D50] carries a bigint as text, at any depth", async () => {
    const agent = await agentOn([ok]);
    const body = { amountWei: 12345678901234567891n, list: [{ n: 1n }], price: 0.1, large: Number.MAX_SAFE_INTEGER };
    await agent.request({ method: "POST", path: "/api/v1/checkout", body });
    const sent = { amountWei: "12345678901234567891", list: [{ n: "1" }], price: 0.1, large: 9007199254740991 };
    assert.deepEqual(server?.seen[0]?.body, sent);
  });

  describe("isn't sent", () => {
    for (const [what, body, named] of [
      ["an integer beyond the safe ones", { a: [{ amountWei: 2 ** 60 }] }, "a.0.amountWei"],
      ["a negative one", { amountWei: -(2 ** 53) }, "amountWei"],
      ["an infinity, which JSON writes as null", { a: { b: Infinity } }, "a.b"],
      ["a number that isn't one", { list: [0, NaN] }, "list.1"],
    ] as const) {
      it(`[D50] with ${what}: the error says where it is`, async () => {
        const agent = await agentOn([ok]);
        const error = await rejectionOf(
          agent.request({ method: "POST", path: "/api/v1/checkout", body }),
          RefusedError,
        );
        assert.match(error.message, new RegExp(`^${named} is `));
        assert.strictEqual(count(), 0);
      });
    }
  });

  it("[D50] to import memory carries the lines as they are", async () => {
    const data = { created: 1, updated: 0, unchanged: 0, skipped: [] };
    const agent = await agentOn([{ status: 200, body: { success: true, data } }]);
    const lines = ['{"key":"a","value":9007199254740992}', '{"key":"b","value":0.10000000000000001}'];
    await agent.memory.import(`${lines.join("\n")}\n`);
    assert.strictEqual(server?.seen[0]?.text, `{"entries":[${lines.join(",")}]}`);
    assert.strictEqual(server?.seen[0]?.headers["content-type"], "application/json");
  });

  describe("is repeated", () => {
    for (const [what, answer] of [
      ["502", { status: 502 }],
      ["503", failure(503, "service_unavailable")],
      ["504", { status: 504 }],
      ["429", failure(429, "rate_limited")],
      ["a broken connection", breakOff],
    ] as const) {
      it(`after ${what} when it only reads`, async () => {
        const agent = await agentOn([answer, answer, ok]);
        await agent.listings.get("lst_1");
        assert.strictEqual(count(), 3);
      });
    }

    it("after 429 although it creates something, because nothing was done", async () => {
      const agent = await agentOn([failure(429, "rate_limited", { "retry-after": "0" }), ok]);
      await agent.listings.create(NEW_LISTING);
      assert.strictEqual(count(), 2);
    });

    for (const [what, answer] of [
      ["503 of the database", failure(503, "service_unavailable")],
      ["a broken connection", breakOff],
      ["409 because the first attempt is still running", failure(409, "request_in_progress", { "retry-after": "0" })],
    ] as const) {
      it(`[D43] after ${what} with the same idempotency key when it creates something`, async () => {
        const agent = await agentOn([answer, ok]);
        await agent.listings.create(NEW_LISTING);
        const [first, second] = (server?.seen ?? []).map(({ headers }) => headers["idempotency-key"]);
        assert.match(String(first), /^[0-9a-f-]{36}$/);
        assert.strictEqual(second, first);
      });
    }

    it("[D43] with the caller's own idempotency key", async () => {
      const agent = await agentOn([ok]);
      await agent.listings.create(NEW_LISTING, { idempotencyKey: "order 7" });
      assert.strictEqual(server?.seen[0]?.headers["idempotency-key"], "order 7");
    });

    it("after a 503 that names a dependency which is read before anything is written", async () => {
      const agent = await agentOn([failure(503, "chain_unavailable"), ok]);
      await agent.request({ method: "POST", path: "/api/v1/checkout", body: {} });
      assert.strictEqual(count(), 2);
    });

    it("four times at most", async () => {
      const agent = await agentOn([failure(503, "indexer_unavailable")]);
      await rejectionOf(agent.listings.get("lst_1"), ApiError);
      assert.strictEqual(count(), 4);
    });
  });

  describe("isn't repeated", () => {
    for (const [what, answer] of [
      ["503 of the database", failure(503, "service_unavailable")],
      ["502", { status: 502 }],
      ["a broken connection", breakOff],
    ] as const) {
      it(`after ${what} when it changes something and has no idempotency key: it may have been done`, async () => {
        const agent = await agentOn([answer, ok]);
        await rejectionOf(agent.request({ method: "POST", path: "/api/v1/checkout", body: {} }));
        assert.strictEqual(count(), 1);
      });
    }

    for (const status of [400, 401, 402, 404, 409, 500]) {
      it(`after ${status}`, async () => {
        const agent = await agentOn([failure(status, "some_code"), ok]);
        assert.strictEqual((await rejectionOf(agent.listings.get("lst_1"), ApiError)).status, status);
        assert.strictEqual(count(), 1);
      });
    }

    it("when Retry-After is longer than the client waits", async () => {
      const agent = await agentOn([failure(429, "rate_limited", { "retry-after": "3600" }), ok]);
      assert.strictEqual((await rejectionOf(agent.listings.get("lst_1"), ApiError)).retryAfterSeconds, 3_600);
      assert.strictEqual(count(), 1);
    });
  });

  describe("fails", () => {
    it("with what the API says", async () => {
      const agent = await agentOn([failure(409, "service_archived")]);
      const error = await rejectionOf(agent.listings.get("lst_1"), ApiError);
      assert.deepEqual([error.status, error.code, error.details], [409, "service_archived", { a: 1 }]);
      assert.strictEqual(error.message, "GET /api/v1/services/lst_1 answered 409 service_archived: Something");
      assert.isFalse(isTransient(error));
    });

    it("without a code when a CDN answers with a page", async () => {
      const page = (response: Parameters<Extract<ScriptedAnswer, (...args: never[]) => void>>[0]) =>
        response.writeHead(403, { "content-type": "text/html" }).end("<html>Checking your browser</html>");
      const agent = await agentOn([page]);
      const error = await rejectionOf(agent.listings.get("lst_1"), ApiError);
      assert.deepEqual([error.status, error.code, error.body], [403, undefined, "<html>Checking your browser</html>"]);
    });

    it("with the body of a spent budget, which has no code", async () => {
      const body = { error: "PAYMENT_REQUIRED", message: "Daily budget exhausted", payment: { price: "$0.01" } };
      const agent = await agentOn([{ status: 402, body }]);
      const error = await rejectionOf(agent.listings.get("lst_1"), ApiError);
      assert.deepEqual([error.code, error.body], [undefined, body]);
      assert.match(error.message, /PAYMENT_REQUIRED: Daily budget exhausted/);
    });

    it("with NetworkError when nobody listens", async () => {
      const probe = createServer().listen(0, "127.0.0.1");
      await new Promise((resolve) => probe.once("listening", resolve));
      const { port } = probe.address() as AddressInfo;
      await new Promise((resolve) => probe.close(resolve));
      const market = new Marketplace({ url: `http://127.0.0.1:${port}`, retry: QUICK });
      const error = await rejectionOf(market.categories(), NetworkError);
      assert.match(error.message, /^GET \/api\/v1\/categories got no answer: .*ECONNREFUSED/);
      assert.isTrue(isTransient(error));
    });

    it("with TimeoutError when an answer doesn't come", async () => {
      const agent = await agentOn([() => undefined], { maxAttempts: 1 }, 20);
      assert.strictEqual((await rejectionOf(agent.listings.get("lst_1"), TimeoutError)).timeoutMs, 20);
    });

    it("rather than follow a redirect, which would take the key elsewhere", async () => {
      const agent = await agentOn([{ status: 307, headers: { location: "http://127.0.0.1:1/" } }], { maxAttempts: 1 });
      await rejectionOf(agent.listings.get("lst_1"), NetworkError);
    });

    it("with the signal's reason when it is aborted", async () => {
      const abort = new AbortController();
      const reason = new Error("enough");
      const agent = await agentOn([
        () => {
          abort.abort(reason);
        },
      ]);
      assert.strictEqual(await rejectionOf(agent.listings.get("lst_1", { signal: abort.signal })), reason);
      assert.strictEqual(count(), 1);
    });

    it("with the signal's reason when it is aborted between two attempts", async () => {
      const abort = new AbortController();
      const agent = await agentOn([
        (response) => {
          response.writeHead(503, { "content-type": "application/json", "retry-after": "30" }).end("{}");
          response.once("close", () =>
            setImmediate(() => {
              abort.abort(new Error("enough"));
            }),
          );
        },
      ]);
      const error = await rejectionOf(agent.listings.get("lst_1", { signal: abort.signal }));
      assert.strictEqual(error.message, "enough");
    });
  });
});
