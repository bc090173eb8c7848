// Updates of an agent's access record, as aggregation pipelines. MongoDB runs each as one atomic step, with its own clock,
// so several processes count exactly. `scratch` holds values between the stages and isn't stored.

import { RATE_WINDOW_MS, SUSPENSION, TIERS } from "../../config/constants.ts";
import type { CallClass, RateClass } from "../../config/constants.ts";
import { fromNow, isFree } from "../../db/leases.ts";
import { byCallClass } from "./tiers.ts";

/** A stage of an update pipeline. */
export type Stage = Record<string, unknown>;

/** Reservations whose calls have ended. */
export interface Settled {
  /** Ids of calls that were served and count. */
  served: readonly string[];
  /** Ids of calls that don't count. */
  released: readonly string[];
}

/** A call that asks for admission. */
export interface AdmissionInput {
  callId: string;
  keyHash: string;
  /** Undefined if the call isn't limited by key. */
  window: { rateClass: RateClass; limit: number } | undefined;
  /** Undefined if the call draws on no budget; `base` is the budget before the multiplier. */
  budget: { type: CallClass; base: number } | undefined;
  settled: Settled;
  leaseMs: number;
  offsetMs: number;
}

/** The current time by the database's clock. Tests shift it by an offset. */
export function databaseNow(offsetMs: number): unknown {
  return offsetMs === 0 ? "$$NOW" : fromNow(offsetMs);
}

const filter = (input: unknown, condition: unknown) => ({ $filter: { input, as: "item", cond: condition } });
const count = (input: unknown, condition: unknown) => ({ $size: filter(input, condition) });
const all = (...conditions: unknown[]) => ({ $and: conditions });
const isOneOf = (ids: readonly string[]) => ({ $in: ["$$item.id", ids] });
const ofType = (type: CallClass) => ({ $eq: ["$$item.type", type] });
const isToday = { $eq: ["$$item.day", "$scratch.day"] };
const paidByBudget = { $not: [{ $or: ["$$item.prepaid", "$$item.exhausted"] }] };
const monthOf = (date: unknown) => ({ $dateTrunc: { date, unit: "month" } });
const later = (ms: number) => ({ $add: ["$scratch.now", ms] });
const within = (times: unknown, ms: number) => filter(times, { $gt: ["$$item", later(-ms)] });

/** Removes settled and expired reservations, and starts a new day at midnight UTC. */
function settle({ served, released }: Settled): Stage[] {
  const isNewDay = { $ne: ["$day", "$scratch.day"] };
  const isSameMonth = (date: unknown) => ({ $eq: [monthOf(date), monthOf("$scratch.day")] });
  const hasExpired = isFree("$item.until", "$scratch.now");
  const isOver = { $or: [hasExpired, isOneOf([...served, ...released])] };
  const unserved = all(isOver, { $not: [isOneOf(served)] });
  const reservations = "$scratch.before";
  const beyondBudget = "$beyondBudget";
  return [
    {
      $set: {
        "scratch.before": "$reservations",
        // If the clock goes back, the day doesn't: an earlier day's budget isn't restored.
        "scratch.day": { $max: ["$day", { $dateTrunc: { date: "$scratch.now", unit: "day" } }] },
        reservations: filter("$reservations", { $not: [isOver] }),
      },
    },
    {
      $set: {
        day: "$scratch.day",
        earlier: {
          $add: [
            {
              $cond: [
                isNewDay,
                {
                  $cond: [
                    isSameMonth("$day"),
                    { $add: ["$earlier", beyondBudget, ...Object.values(byCallClass((type) => `$used.${type}`))] },
                    0,
                  ],
                },
                "$earlier",
              ],
            },
            // A call that began before midnight counts for its own day.
            count(reservations, all(isOneOf(served), { $not: [isToday] }, isSameMonth("$$item.day"))),
          ],
        },
        used: byCallClass((type) => ({
          $add: [
            { $cond: [isNewDay, 0, `$used.${type}`] },
            count(reservations, all(isOneOf(served), ofType(type), paidByBudget, isToday)),
          ],
        })),
        beyondBudget: {
          $add: [
            { $cond: [isNewDay, 0, beyondBudget] },
            count(reservations, all(isOneOf(served), { $not: [paidByBudget] }, isToday)),
          ],
        },
        prepaid: byCallClass((type) => ({
          $add: [`$prepaid.${type}`, count(reservations, all("$$item.prepaid", ofType(type), unserved))],
        })),
      },
    },
  ];
}

/** Settles calls without admitting a new one. */
export function settlementUpdate(settled: Settled, offsetMs: number): Stage[] {
  return [{ $set: { "scratch.now": databaseNow(offsetMs) } }, ...settle(settled), { $unset: "scratch" }];
}

export const keyWith = (keyHash: string) => ({ $first: filter("$keys", { $eq: ["$$item.hash", keyHash] }) });
/** Whether a key has a mandate, or is a page's session, and so counts in the window that all these of its agent share. */
export const hasMandate = (key: string) => ({ $isArray: `${key}.scopes` });
const isEnded = all({ $ne: ["$scratch.key.expiresAt", null] }, { $lte: ["$scratch.key.expiresAt", "$scratch.now"] });
const isSuspended = all(
  { $ne: ["$scratch.key.suspendedUntil", null] },
  { $gt: ["$scratch.key.suspendedUntil", "$scratch.now"] },
);
const isLimited = { $eq: ["$scratch.outcome", "limited"] };
/** The key's refusals, with this call if it is refused. */
const refusals = {
  $cond: [
    isLimited,
    { $concatArrays: [within("$scratch.key.refusals", SUSPENSION.withinMs), ["$scratch.now"]] },
    "$scratch.key.refusals",
  ],
};
const isNowSuspended = all(isLimited, { $gte: [{ $size: "$scratch.refusals" }, SUSPENSION.refusals] });
/** Fields of the key that the refusals change. */
const refusedKey = {
  $cond: [isNowSuspended, { suspendedUntil: later(SUSPENSION.forMs), refusals: [] }, { refusals: "$scratch.refusals" }],
};
/** Stores the key. A suspension raises the version that open streams watch. */
const withKey = (keyHash: string) => ({
  keysVersion: { $add: ["$keysVersion", { $cond: [isNowSuspended, 1, 0] }] },
  keys: {
    $map: {
      input: "$keys",
      as: "item",
      in: { $cond: [{ $eq: ["$$item.hash", keyHash] }, "$scratch.key", "$$item"] },
    },
  },
});

/** Counts an answer of 429 towards the suspension of a key that neither has expired nor is suspended. */
export function refusalUpdate(keyHash: string, offsetMs: number): Stage[] {
  return [
    { $set: { "scratch.now": databaseNow(offsetMs), "scratch.key": keyWith(keyHash) } },
    { $set: { "scratch.outcome": { $cond: [{ $or: [isEnded, isSuspended] }, "ended", "limited"] } } },
    { $set: { "scratch.refusals": refusals } },
    { $set: { "scratch.key": { $mergeObjects: ["$scratch.key", refusedKey] } } },
    { $set: withKey(keyHash) },
    { $unset: "scratch" },
  ];
}

/** The budget, multiplied by the tier of the agent's score. */
export function budgetLimit(base: number): unknown {
  const branches = TIERS.filter(({ minScore }) => Number.isFinite(minScore)).map(({ minScore, multiplier }) => ({
    case: { $gte: ["$score", minScore] },
    then: base * multiplier,
  }));
  return { $switch: { branches, default: base } };
}

/** What the call has used of its window and its budget, and the bound. */
function measured({ window, budget }: AdmissionInput): Stage {
  return {
    "scratch.window": window === undefined ? [] : within({ $ifNull: [windowOf(window), []] }, RATE_WINDOW_MS),
    "scratch.limit": budget === undefined ? 0 : budgetLimit(budget.base),
    "scratch.used":
      budget === undefined
        ? 0
        : {
            $add: [`$used.${budget.type}`, count("$reservations", all(ofType(budget.type), paidByBudget, isToday))],
          },
  };
}

const windowOf = ({ rateClass }: NonNullable<AdmissionInput["window"]>) => ({
  $cond: [hasMandate("$scratch.key"), `$sharedWindows.${rateClass}`, `$scratch.key.windows.${rateClass}`],
});

function decision({ window, budget }: AdmissionInput): unknown {
  const withBudget = (type: CallClass) => [
    { case: { $lt: ["$scratch.used", "$scratch.limit"] }, then: "reserved" },
    { case: { $gt: [`$prepaid.${type}`, 0] }, then: "prepaid" },
    { case: true, then: "exhausted" },
  ];
  const branches = [
    { case: isEnded, then: "ended" },
    { case: isSuspended, then: "suspended" },
    ...(window === undefined
      ? []
      : [{ case: { $gte: [{ $size: "$scratch.window" }, window.limit] }, then: "limited" }]),
    ...(budget === undefined ? [] : withBudget(budget.type)),
  ];
  return { $switch: { branches, default: "free" } };
}

/** The fields that a reservation changes. */
function reservation(callId: string, type: CallClass, leaseMs: number): Stage {
  const isPrepaid = { $eq: ["$scratch.outcome", "prepaid"] };
  const reserved = {
    id: callId,
    type,
    day: "$scratch.day",
    until: later(leaseMs),
    prepaid: isPrepaid,
    exhausted: { $eq: ["$scratch.outcome", "exhausted"] },
  };
  const isReserved = { $in: ["$scratch.outcome", ["reserved", "prepaid", "exhausted"]] };
  return {
    [`prepaid.${type}`]: { $subtract: [`$prepaid.${type}`, { $cond: [isPrepaid, 1, 0] }] },
    reservations: { $cond: [isReserved, { $concatArrays: ["$reservations", [reserved]] }, "$reservations"] },
  };
}

/** The decision as it is stored. */
const callRecord = (callId: string): Stage => ({
  id: callId,
  keyId: "$scratch.key.id",
  outcome: "$scratch.outcome",
  at: "$scratch.now",
  counted: { $size: "$scratch.window" },
  first: { $ifNull: [{ $first: "$scratch.window" }, null] },
  last: { $ifNull: [{ $last: "$scratch.window" }, null] },
  used: "$scratch.used",
  limit: "$scratch.limit",
  day: "$scratch.day",
  suspendedUntil: "$scratch.key.suspendedUntil",
});

/** Decides about a call, counts it and stores the decision in `call`. */
export function admissionUpdate(input: AdmissionInput): Stage[] {
  const { callId, keyHash, window, budget, settled, leaseMs, offsetMs } = input;
  const isAdmitted = { $not: [{ $in: ["$scratch.outcome", ["limited", "ended", "suspended"]] }] };
  const nextWindow =
    window === undefined
      ? []
      : { $cond: [isAdmitted, { $concatArrays: ["$scratch.window", ["$scratch.now"]] }, "$scratch.window"] };
  const withWindow = (windows: string) => ({
    $cond: [
      { $eq: [hasMandate("$scratch.key"), windows === "$sharedWindows"] },
      { $mergeObjects: [windows, window === undefined ? {} : { [window.rateClass]: "$scratch.window" }] },
      windows,
    ],
  });
  const changedWindows = window === undefined ? [] : [{ windows: withWindow("$scratch.key.windows") }];
  return [
    { $set: { "scratch.now": databaseNow(offsetMs), "scratch.key": keyWith(keyHash) } },
    ...settle(settled),
    { $set: measured(input) },
    { $set: { "scratch.outcome": decision(input) } },
    { $set: { "scratch.window": nextWindow, "scratch.refusals": refusals } },
    { $set: { "scratch.key": { $mergeObjects: ["$scratch.key", ...changedWindows, refusedKey] } } },
    ...(window === undefined ? [] : [{ $set: { sharedWindows: withWindow("$sharedWindows") } }]),
    {
      $set: {
        ...withKey(keyHash),
        ...(budget === undefined ? {} : reservation(callId, budget.type, leaseMs)),
        call: callRecord(callId),
      },
    },
    { $unset: "scratch" },
  ];
}
