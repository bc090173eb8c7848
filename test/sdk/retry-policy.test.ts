import { assert } from "chai";

import { ApiError, NetworkError } from "../../sdk/src/index.ts";
import { parseRetryAfter, RetryPolicy } from "../../sdk/src/retry.ts";

const refusal = (status: number, retryAfterSeconds?: number, code = "some_code") =>
  new ApiError({ method: "GET", path: "/", status, body: { error: "no", code }, retryAfterSeconds });

describe("the pause before another attempt", () => {
  const policy = new RetryPolicy({ maxAttempts: 4, baseDelayMs: 100, maxDelayMs: 300, maxRetryAfterMs: 60_000 });

  it("is random up to a bound that doubles, and never above the longest", () => {
    const bounds = [1, 2, 3].map((attempt) => policy.delayMs(refusal(503), attempt, true, 1));
    assert.deepEqual(bounds, [100, 200, 300]);
    assert.strictEqual(policy.delayMs(refusal(503), 3, true, 0), 0);
    assert.strictEqual(policy.delayMs(refusal(503), 2, true, 0.5), 100);
  });

  it("is at least Retry-After, with the random part on top", () => {
    assert.strictEqual(policy.delayMs(refusal(429, 7), 1, true, 0), 7_000);
    assert.strictEqual(policy.delayMs(refusal(429, 7), 1, false, 1), 7_100);
  });

  it("doesn't exist after the last attempt, nor for errors that stay", () => {
    assert.isUndefined(policy.delayMs(refusal(503), 4, true));
    assert.isUndefined(policy.delayMs(refusal(404), 1, true));
    assert.isUndefined(policy.delayMs(refusal(429, 61), 1, true));
    assert.isUndefined(policy.delayMs(new NetworkError("gone"), 1, false));
  });

  it("reads Retry-After in seconds and as a date", () => {
    const now = Date.parse("2026-03-01T00:00:00Z");
    assert.strictEqual(parseRetryAfter("120", now), 120);
    assert.strictEqual(parseRetryAfter("Sun, 01 Mar 2026 00:00:30 GMT", now), 30);
    assert.strictEqual(parseRetryAfter("Sun, 01 Mar 2026 00:00:00 GMT", now + 5_000), 0);
    assert.isUndefined(parseRetryAfter("soon", now));
    assert.isUndefined(parseRetryAfter(null, now));
  });
});
