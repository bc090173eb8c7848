import { z } from "zod";

import { DAILY_BUDGETS, RATE_LIMITS } from "./constants.ts";
import type { CallClass, RateClass } from "./constants.ts";

/** Limits per minute and budgets per day, for every class. */
export interface Limits {
  /** Calls in 60 seconds. */
  rateLimits: Readonly<Record<RateClass, number>>;
  /** Calls in a UTC day, before the multiplier of the agent's tier. */
  budgets: Readonly<Record<CallClass, number>>;
}

const MAX_LIMIT = 1_000_000;

const count = (preset: number) =>
  z
    .string()
    .regex(/^\d+$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().min(1, "must be at least 1").max(MAX_LIMIT, `must be at most ${MAX_LIMIT}`))
    .default(preset);

/** The variables of limits and budgets. */
export const limitVariables = {
  RATE_LIMIT_DEVELOPER_ACCESS: count(RATE_LIMITS.developerAccess),
  RATE_LIMIT_DISCOVER: count(RATE_LIMITS.discover),
  RATE_LIMIT_KEYLESS: count(RATE_LIMITS.keyless),
  RATE_LIMIT_REGISTRATION: count(RATE_LIMITS.registration),
  RATE_LIMIT_CHECKOUT: count(RATE_LIMITS.checkout),
  RATE_LIMIT_FUND: count(RATE_LIMITS.fund),
  RATE_LIMIT_DELIVER: count(RATE_LIMITS.deliver),
  RATE_LIMIT_CONFIRM: count(RATE_LIMITS.confirm),
  RATE_LIMIT_GENERAL: count(RATE_LIMITS.general),
  RATE_LIMIT_MESSAGE_SEND: count(RATE_LIMITS.messageSend),
  RATE_LIMIT_SEARCH: count(RATE_LIMITS.search),
  RATE_LIMIT_MEMORY_WRITE: count(RATE_LIMITS.memoryWrite),
  RATE_LIMIT_MEMORY_READ: count(RATE_LIMITS.memoryRead),
  RATE_LIMIT_MEMORY_SEARCH: count(RATE_LIMITS.memorySearch),
  RATE_LIMIT_INBOX_READ: count(RATE_LIMITS.inboxRead),
  RATE_LIMIT_MESSAGE_WEBHOOK: count(RATE_LIMITS.messageWebhook),
  RATE_LIMIT_DISPUTE: count(RATE_LIMITS.dispute),
  BUDGET_API: count(DAILY_BUDGETS.api),
  BUDGET_MESSAGE: count(DAILY_BUDGETS.message),
  BUDGET_SEARCH: count(DAILY_BUDGETS.search),
  BUDGET_TRANSACTION: count(DAILY_BUDGETS.transaction),
};

/** Orders the variables by class. */
export function limitsOf(env: Readonly<Record<keyof typeof limitVariables, number>>): Limits {
  return {
    rateLimits: {
      developerAccess: env.RATE_LIMIT_DEVELOPER_ACCESS,
      discover: env.RATE_LIMIT_DISCOVER,
      keyless: env.RATE_LIMIT_KEYLESS,
      registration: env.RATE_LIMIT_REGISTRATION,
      checkout: env.RATE_LIMIT_CHECKOUT,
      fund: env.RATE_LIMIT_FUND,
      deliver: env.RATE_LIMIT_DELIVER,
      confirm: env.RATE_LIMIT_CONFIRM,
      general: env.RATE_LIMIT_GENERAL,
      messageSend: env.RATE_LIMIT_MESSAGE_SEND,
      search: env.RATE_LIMIT_SEARCH,
      memoryWrite: env.RATE_LIMIT_MEMORY_WRITE,
      memoryRead: env.RATE_LIMIT_MEMORY_READ,
      memorySearch: env.RATE_LIMIT_MEMORY_SEARCH,
      inboxRead: env.RATE_LIMIT_INBOX_READ,
      messageWebhook: env.RATE_LIMIT_MESSAGE_WEBHOOK,
      dispute: env.RATE_LIMIT_DISPUTE,
    },
    budgets: {
      api: env.BUDGET_API,
      message: env.BUDGET_MESSAGE,
      search: env.BUDGET_SEARCH,
      transaction: env.BUDGET_TRANSACTION,
    },
  };
}
