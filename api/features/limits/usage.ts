import { CALL_CLASSES } from "../../config/constants.ts";
import type { CallClass, Tier } from "../../config/constants.ts";
import type { AgentModels } from "../agents/model.ts";
import type { Limits } from "../../config/limits.ts";
import type { AccessModels } from "./access-model.ts";
import { byCallClass, dayOf, resetAfter, tierOf } from "./tiers.ts";

/** The use of a daily budget, in calls. */
export interface BudgetUse {
  used: number;
  limit: number;
  remaining: number;
  resetsAt: Date;
}

/** An agent's budgets and use. */
export interface Usage {
  agentId: string;
  agentName: string;
  tier: Tier;
  onChainScore: number;
  budgets: Record<CallClass, BudgetUse>;
  /** All calls of this UTC day and month, prepaid and paid ones included, and the calls that the budgets allow. */
  abuse: { dailyUsage: number; monthlyUsage: number; dailyLimit: number; monthlyLimit: number };
  /** Remaining prepaid calls. */
  prepaid: Record<CallClass, number>;
}

/** Reads an agent's usage. @throws Error if the agent has no access record */
export type ReadUsage = (agentId: string) => Promise<Usage>;

/** A month's limit counts 30 days. */
const DAYS_A_MONTH = 30;

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** Creates a reader of the usage in the database, calls under way included. */
export function createUsageReader(
  models: Pick<AccessModels, "access"> & Pick<AgentModels, "agents">,
  limits: Pick<Limits, "budgets">,
  now: () => Date,
): ReadUsage {
  return async (agentId) => {
    const [found, agent] = await Promise.all([
      // One member acknowledges writes of counters, so only a local read of the primary returns the latest.
      models.access.findById(agentId).read("primary").readConcern("local").lean(),
      models.agents.findById(agentId).lean(),
    ]);
    if (found === null || agent === null) throw new Error(`The agent ${agentId} has no access record`);
    const { tier, multiplier } = tierOf(found.score);
    const at = now();
    const today = new Date(Math.max(dayOf(at).getTime(), found.day.getTime()));
    const isToday = found.day.getTime() === today.getTime();
    const isThisMonth = found.day.toISOString().slice(0, 7) === today.toISOString().slice(0, 7);
    const underWay = found.reservations.filter(
      (held) => held.exhausted !== true && held.until > at && held.day.getTime() === today.getTime(),
    );
    const prepaidUnderWay = underWay.filter((held) => held.prepaid).length;
    const beyondBudget = found.beyondBudget;
    const settled = [beyondBudget, ...CALL_CLASSES.map((type) => found.used[type])];
    const budgets = byCallClass((type) => {
      const drawn = underWay.filter((held) => held.type === type && !held.prepaid).length;
      const used = (isToday ? found.used[type] : 0) + drawn;
      const limit = limits.budgets[type] * multiplier;
      return { used, limit, remaining: Math.max(0, limit - used), resetsAt: resetAfter(today) };
    });
    const drawn = sum(CALL_CLASSES.map((type) => budgets[type].used));
    const dailyUsage = drawn + (isToday ? beyondBudget : 0) + prepaidUnderWay;
    const earlier = isThisMonth ? found.earlier + (isToday ? 0 : sum(settled)) : 0;
    const dailyLimit = sum(CALL_CLASSES.map((type) => budgets[type].limit));
    return {
      agentId,
      agentName: agent.agentName,
      tier,
      onChainScore: found.score,
      budgets,
      abuse: { dailyUsage, monthlyUsage: earlier + dailyUsage, dailyLimit, monthlyLimit: DAYS_A_MONTH * dailyLimit },
      prepaid: found.prepaid,
    };
  };
}
