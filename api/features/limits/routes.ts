import { z } from "zod";

import { TIERS } from "../../config/constants.ts";
import { dataOf, timestampOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { byCallClass } from "./tiers.ts";
import type { BudgetUse, ReadUsage } from "./usage.ts";

/** Dependencies of the route that reads the usage. */
export interface LimitDeps {
  readUsage: ReadUsage;
}

const calls = z.number().int();
const budgetOutput = z
  .object({
    used: calls.meta({ description: "Calls that count today, including those under way" }),
    limit: calls.meta({ description: "Calls a day, multiplied by the tier" }),
    remaining: calls,
    resetsAt: timestampOutput.meta({ description: "Midnight UTC" }),
  })
  .meta({ id: "Budget" });

const usageOutput = z
  .object({
    agentId: z.string(),
    agentName: z.string(),
    tier: z.enum(TIERS.map(({ tier }) => tier)),
    onChainScore: z.number().int(),
    budgets: z.object(byCallClass(() => budgetOutput)),
    abuse: z.object({
      dailyUsage: calls.meta({ description: "Calls of this UTC day that count towards a budget" }),
      monthlyUsage: calls.meta({ description: "The same of this UTC month" }),
      dailyLimit: calls.meta({ description: "Sum of the daily budgets" }),
      monthlyLimit: calls.meta({ description: "30 times the daily limit" }),
    }),
    prepaid: z.object(byCallClass(() => calls)).meta({ description: "Prepaid calls that are left" }),
  })
  .meta({ id: "Usage" });

const readUsage = defineRoute({
  name: "usage.read",
  scope: "read",
  method: "GET",
  path: "/api/v1/auth/usage",
  tag: "Agents",
  summary: "The caller's budgets and what is used of them",
  description: "Free of charge: the call counts towards no budget.",
  auth: "apiKey",
  limitClass: "general",
  budget: "none",
  responses: { 200: dataOf(usageOutput) },
}).handle(async ({ caller }, deps: LimitDeps) => {
  const { budgets, ...usage } = await deps.readUsage(caller.agentId);
  const present = ({ resetsAt, ...use }: BudgetUse) => ({ ...use, resetsAt: resetsAt.toISOString() });
  const data = { ...usage, budgets: byCallClass((type) => present(budgets[type])) };
  return { status: 200, body: { success: true, data } };
});

export const limitRoutes = [readUsage];
