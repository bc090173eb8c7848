// The cases that a common admission leaves to the full one, by the database's clock alone: that of the process may differ.
import { assert } from "chai";

import type { AccessRecord } from "../../../api/features/limits/access-model.ts";
import { commonAdmission } from "../../../api/features/limits/common-admission.ts";
import { dayOf } from "../../../api/features/limits/tiers.ts";
import { hashApiKey } from "../../../api/http/authenticate.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith, movedClock } from "../../fixtures/limits.ts";

const DAY_MS = 86_400_000;
const SECOND = 1_000;
const USAGE = "/api/v1/auth/usage";

describe("a common admission", () => {
  const clock = movedClock();
  let api: TestApi;
  let agent: TestAgent;
  before(async () => {
    api = await startTestApi({ clock, env: { limits: limitsWith({ keyless: 1_000 }) } });
  });
  after(() => api.close());
  beforeEach(async () => {
    agent = await api.registerAgent({ message: { issuedAt: clock.now() } });
  });

  const access = () => api.container.features.limits.models.access.collection;
  const set = (fields: Partial<AccessRecord>) => access().updateOne({ _id: agent.agentId as never }, { $set: fields });

  /** Asks for a call of the budget `api` as a process whose day is this one. */
  async function isAdmitted(day: Date): Promise<boolean> {
    const { filter, update } = commonAdmission({
      callId: "call",
      keyHash: hashApiKey(agent.apiKey),
      day,
      servedType: undefined,
      window: { rateClass: "general", limit: 2 },
      budget: { type: "api", base: 2 },
      settled: { served: [], released: [] },
      leaseMs: 60 * SECOND,
      offsetMs: 0,
    });
    return (await access().findOneAndUpdate(filter, update)) !== null;
  }

  it("admits until the window or the budget may be full", async () => {
    const today = dayOf(new Date());
    await set({ day: today });
    assert.deepEqual([await isAdmitted(today), await isAdmitted(today), await isAdmitted(today)], [true, true, false]);
  });

  it("doesn't decide for a process whose clock hasn't reached the database's day", async () => {
    const yesterday = dayOf(new Date(Date.now() - DAY_MS));
    await set({ day: yesterday });
    assert.isFalse(await isAdmitted(yesterday));
  });

  it("doesn't decide for a process whose day the database hasn't reached", async () => {
    await set({ day: dayOf(new Date()) });
    assert.isFalse(await isAdmitted(dayOf(new Date(Date.now() + DAY_MS))));
  });

  it("doesn't decide once a reservation has expired", async () => {
    const today = dayOf(new Date());
    const reservation = { id: "killed", type: "api", day: today, prepaid: false } as const;
    await set({ day: today, reservations: [{ ...reservation, until: new Date(Date.now() - SECOND) }] });
    assert.isFalse(await isAdmitted(today));
    await set({ day: today, reservations: [{ ...reservation, until: new Date(Date.now() + 600 * SECOND) }] });
    assert.isTrue(await isAdmitted(today));
  });

  it("drops calls from the window once they are 60 seconds old, in the headers too", async () => {
    const remaining = async () => {
      const { headers } = await api.request("GET", USAGE, { key: agent.apiKey });
      return Number(headers.get("x-ratelimit-remaining"));
    };
    const first = await remaining();
    assert.strictEqual(await remaining(), first - 1);
    clock.pass(90 * SECOND);
    assert.strictEqual(await remaining(), first);
  });
});
