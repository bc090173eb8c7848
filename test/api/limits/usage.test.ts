// What an agent has used (section 4, row 19), with a moved clock.
import { isDeepStrictEqual } from "node:util";

import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { limitsWith, movedClock } from "../../fixtures/limits.ts";
import { until } from "../../fixtures/until.ts";

const NOON = new Date("2026-05-14T12:00:00Z");

describe("the usage of an agent", () => {
  const clock = movedClock(NOON);
  let api: TestApi;

  before(async () => {
    // The clock stands still while the usage is polled, so the minute of the limit never passes.
    api = await startTestApi({ clock, env: { limits: limitsWith({ general: 100_000 }, { search: 2 }) } });
  });
  after(() => api.close());

  it("[S4.207] [D35] counts calls whatever pays for them, and none that was answered 402", async () => {
    const agent = await api.registerAgent({ message: { issuedAt: clock.now() } });
    const { access } = api.container.features.limits.models;
    await access.collection.updateOne({ _id: agent.agentId as never }, { $inc: { "prepaid.search": 2 } });
    /** A served call isn't shown while its write is under way. */
    const shows = (...expected: [used: number, daily: number, monthly: number]) =>
      until(`the usage shows ${expected.join(", ")}`, async () => {
        const answer = await api.request("GET", "/api/v1/auth/usage", { key: agent.apiKey });
        const { budgets, abuse } = answer.body.data;
        return isDeepStrictEqual([budgets.search.used, abuse.dailyUsage, abuse.monthlyUsage], expected);
      });
    const admit = () =>
      api.container.admissionControl.admit({
        auth: "apiKey",
        rateClass: "general",
        budget: "search",
        ip: "192.0.2.1",
        headers: { "x-api-key": [agent.apiKey] },
      });
    const callBy = async (served: boolean) => {
      const admission = await admit();
      await admission.settle(served);
      return admission.budget?.exhausted;
    };
    await callBy(true);
    await callBy(true);
    await shows(2, 2, 2);
    await callBy(true);
    await callBy(false);
    await shows(2, 3, 3);
    const underWay = await admit();
    await shows(2, 4, 4);
    await underWay.settle(true);
    assert.isTrue(await callBy(false));
    await shows(2, 4, 4);
    assert.isTrue(await callBy(true));
    await shows(2, 5, 5);
    assert.isTrue(await callBy(false));
    clock.set(new Date("2026-05-14T23:59:30Z"));
    const late = await admit();
    clock.set(new Date("2026-05-15T00:00:10Z"));
    await shows(0, 0, 5);
    await late.settle(true);
    await shows(0, 0, 6);
    await callBy(true);
    await shows(1, 1, 7);
    clock.set(new Date("2026-06-01T00:00:00Z"));
    await shows(0, 0, 0);
    await until("no call is held any more", async () => {
      const found = await access.collection.findOne({ _id: agent.agentId as never });
      return (found?.["reservations"] as unknown[] | undefined)?.length === 0;
    });
  });
});
