// Limits and budgets, raced by eight clients against two API processes with the machine's clock.
import { assert } from "chai";

import { CALL_CLASSES, RATE_LIMITS } from "../../../api/config/constants.ts";
import type { CallClass, RateClass } from "../../../api/config/constants.ts";
import { isClientClass } from "../../../api/http/admission.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import type { ApiProcess } from "../../fixtures/api-process.ts";
import { BUDGET_CALLS, RATE_CALLS } from "../../fixtures/class-calls.ts";
import type { ClassCall } from "../../fixtures/class-calls.ts";
import { until } from "../../fixtures/until.ts";

const CLIENTS = 8;
const RATE_CLASSES = Object.keys(RATE_LIMITS) as RateClass[];
/** Calls leave the window after 60 seconds. A race that took nearly as long proves nothing and is run again. */
const RACE_LIMIT_MS = 50_000;
const ATTEMPTS = 4;
const BUDGET = 12;
const MIDNIGHT_MARGIN_MS = 60_000;
const DAY_MS = 86_400_000;

/** Variables of the specification's limits, which the other tests raise, and of small budgets. */
const LIMIT_VARIABLES = Object.fromEntries(
  RATE_CLASSES.map((name) => [
    `RATE_LIMIT_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
    String(RATE_LIMITS[name]),
  ]),
);
const BUDGET_VARIABLES = Object.fromEntries(
  CALL_CLASSES.map((type) => [`BUDGET_${type.toUpperCase()}`, String(BUDGET)]),
);

/** An address of the documentation network, as the proxy adds it. */
const client = (number: number) => ({ "x-forwarded-for": `203.0.113.${number}` });

describe("two API processes", () => {
  /** Registers agents and keeps the search index. Its own limits are never reached. */
  let api: TestApi;
  const running: ApiProcess[] = [];

  before(async () => {
    api = await startTestApi({
      search: true,
      oneProcess: "only registers agents; the test starts two processes itself",
    });
  });
  after(async () => {
    await api.close();
  });

  async function startTwo(variables: Record<string, string>): Promise<void> {
    const { name } = api.container.connection;
    const start = () => startApiProcess(name, { TRUST_PROXY: "1", ...variables });
    running.push(...(await Promise.all([start(), start()])));
    // Without the index a search is refused and costs nothing.
    for (const { url } of running) {
      await until("the search index is read", async () => {
        const body = JSON.stringify({ query: "translate" });
        const headers = { "content-type": "application/json", ...client(250) };
        return (await fetch(`${url}/api/v1/discover`, { method: "POST", headers, body })).status === 200;
      });
    }
  }
  async function stopBoth(): Promise<void> {
    await Promise.all(running.splice(0).map((process) => process.stop()));
  }

  /**
   * Eight clients, half of them against each process, send `calls` calls in all, one after the other. Returns how many
   * were answered with each status.
   */
  async function race({ method, path, options }: ClassCall, calls: number, headers: Record<string, string>) {
    const payload = options.body === undefined ? undefined : JSON.stringify(options.body);
    const statuses = new Map<number, number>();
    let left = calls;
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, number) => {
        while (left > 0) {
          left -= 1;
          const answer = await fetch(`${running[number % running.length]?.url ?? ""}${path}`, {
            method,
            headers: { ...headers, ...(payload === undefined ? {} : { "content-type": "application/json" }) },
            ...(payload === undefined ? {} : { body: payload }),
          });
          await answer.arrayBuffer();
          for (const name of ["limit", "remaining", "reset"]) {
            assert.match(answer.headers.get(`x-ratelimit-${name}`) ?? "", /^\d+$/, `${answer.status}: ${name}`);
          }
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        }
      }),
    );
    return statuses;
  }

  describe("with the limits of the specification", () => {
    let clients = 0;
    before(() => startTwo(LIMIT_VARIABLES));
    after(stopBoth);

    for (const rateClass of RATE_CLASSES) {
      const sender = isClientClass(rateClass) ? "client" : "key";
      it(`[D34] admit ${RATE_LIMITS[rateClass]} calls of a ${sender} (${rateClass}), not one more or fewer`, async () => {
        const limit = RATE_LIMITS[rateClass];
        for (let attempt = 1; ; attempt += 1) {
          clients += 1;
          const key: Record<string, string> = isClientClass(rateClass)
            ? {}
            : { "x-api-key": (await api.registerAgent()).apiKey };
          const begun = performance.now();
          const statuses = await race(RATE_CALLS[rateClass], limit + CLIENTS, { ...key, ...client(clients) });
          if (performance.now() - begun > RACE_LIMIT_MS && attempt < ATTEMPTS) continue;
          assert.strictEqual(statuses.get(429), CLIENTS, JSON.stringify([...statuses]));
          return;
        }
      });
    }
  });

  describe("with small budgets", () => {
    before(() => startTwo(BUDGET_VARIABLES));
    after(stopBoth);

    for (const type of CALL_CLASSES) {
      it(`[D35] serve a key's budget \`${type}\` to its last call, and answer 402 from the next one on`, async () => {
        const { apiKey } = await untilFarFromMidnight(() => api.registerAgent());
        const statuses = await race(BUDGET_CALLS[type], BUDGET + CLIENTS, { "x-api-key": apiKey });
        assert.strictEqual(statuses.get(402), CLIENTS, JSON.stringify([...statuses]));
        for (const { url } of running) {
          const answer = await fetch(`${url}/api/v1/auth/usage`, { headers: { "x-api-key": apiKey } });
          const { data } = (await answer.json()) as { data: { budgets: Record<CallClass, { used: number }> } };
          const used = Object.fromEntries(CALL_CLASSES.map((name) => [name, data.budgets[name].used]));
          assert.deepEqual(used, { api: 0, message: 0, search: 0, transaction: 0, [type]: BUDGET });
        }
      });
    }
  });

  /** Budgets start again at midnight UTC, so no race begins in the minute before. */
  async function untilFarFromMidnight<T>(work: () => Promise<T>): Promise<T> {
    const isFar = () => Promise.resolve(DAY_MS - (Date.now() % DAY_MS) > MIDNIGHT_MARGIN_MS);
    await until("midnight is over", isFar, 2 * MIDNIGHT_MARGIN_MS);
    return work();
  }
});
