import { RATE_WINDOW_MS } from "../../config/constants.ts";
import type { CallClass, RateClass } from "../../config/constants.ts";
import type { AccessRecord, StoredKey } from "./access-model.ts";
import { budgetLimit, databaseNow, hasMandate, keyWith } from "./access-update.ts";
import type { AdmissionInput, Stage } from "./access-update.ts";
import { resetAfter, tierOf } from "./tiers.ts";

/** A call for {@link commonAdmission}: one that is limited by key. */
export type CommonAdmissionInput = AdmissionInput & {
  window: { rateClass: RateClass; limit: number };
  /** Midnight UTC of today, by this process's clock. */
  day: Date;
  /** Class of the served calls that this update also settles. All of them began today and count towards the budget. */
  servedType: CallClass | undefined;
};

/** Fields of the record that a common admission returns. */
export type CommonRecord = Pick<AccessRecord, "_id" | "walletAddress" | "score" | "used"> & {
  keys: (Pick<StoredKey, "id" | "hash" | "windows" | "scopes" | "session"> & Partial<Pick<StoredKey, "expiresAt">>)[];
  sharedWindows?: AccessRecord["sharedWindows"];
  reservations: Pick<AccessRecord["reservations"][number], "type" | "day" | "prepaid" | "exhausted">[];
};

/**
 * Admits a call in the common case, for a fraction of the cost of `admissionUpdate`: the key neither has expired nor was
 * suspended, its window and the day's budget have room, the day hasn't changed and no reservation has expired. The filter
 * checks all that by the database's clock, in the same atomic step. If it can't decide, it matches nothing, and
 * `admissionUpdate` decides. Only that one refuses calls.
 */
export function commonAdmission(input: CommonAdmissionInput) {
  const { keyHash, window, budget, offsetMs, day } = input;
  const path = `windows.${window.rateClass}`;
  // The earliest time at which a reservation or the key expires, or the day ends. A missing time counts as none.
  const nextChange = { $min: { $concatArrays: ["$reservations.until", [resetAfter(day), "$$key.expiresAt"]] } };
  const isUnchanged = { $lt: [databaseNow(offsetMs), nextChange] };
  // Counts every reservation, also those of other classes and of ended calls, so it never counts too few.
  const hasBudget = budget && {
    $lt: [{ $add: [`$used.${budget.type}`, { $size: "$reservations" }] }, budgetLimit(budget.base)],
  };
  const sharedCalls = { $size: { $ifNull: [`$sharedWindows.${window.rateClass}`, []] } };
  const hasRoom = { $or: [{ $not: [hasMandate("$$key")] }, { $lt: [sharedCalls, window.limit] }] };
  const isAdmissible = { $and: [isUnchanged, hasRoom, ...(hasBudget === undefined ? [] : [hasBudget])] };
  return {
    filter: {
      keys: {
        $elemMatch: {
          hash: keyHash,
          suspendedUntil: null,
          // Counts also calls that have left the window, so it never counts too few.
          [`${path}.${window.limit - 1}`]: { $exists: false },
        },
      },
      day,
      $expr: { $let: { vars: { key: keyWith(keyHash) }, in: isAdmissible } },
    },
    update: [{ $set: { ...countedCall(input), ...settledAndReserved(input) } }] as Stage[],
    projection: {
      walletAddress: 1,
      "keys.id": 1,
      "keys.hash": 1,
      "keys.scopes": 1,
      [`sharedWindows.${window.rateClass}`]: 1,
      [`keys.${path}`]: 1,
      ...(budget === undefined
        ? {}
        : {
            score: 1,
            used: 1,
            "reservations.type": 1,
            "reservations.day": 1,
            "reservations.prepaid": 1,
            "reservations.exhausted": 1,
          }),
    },
  };
}

/** The keys and their shared windows, with the call added to the window that its key counts in. */
function countedCall({ keyHash, window: { rateClass }, offsetMs }: CommonAdmissionInput) {
  const now = databaseNow(offsetMs);
  const withCall = (windows: string) => {
    const recent = {
      $filter: {
        input: { $ifNull: [`${windows}.${rateClass}`, []] },
        as: "time",
        cond: { $gt: ["$$time", { $subtract: [now, RATE_WINDOW_MS] }] },
      },
    };
    return { $mergeObjects: [windows, { [rateClass]: { $concatArrays: [recent, [now]] } }] };
  };
  const counted = { $mergeObjects: ["$$key", { windows: withCall("$$key.windows") }] };
  const isCounted = { $and: [{ $eq: ["$$key.hash", keyHash] }, { $not: [hasMandate("$$key")] }] };
  const sharedWindows = {
    $let: {
      vars: { key: keyWith(keyHash) },
      in: { $cond: [hasMandate("$$key"), withCall("$sharedWindows"), "$sharedWindows"] },
    },
  };
  return {
    keys: { $map: { input: "$keys", as: "key", in: { $cond: [isCounted, counted, "$$key"] } } },
    sharedWindows,
  };
}

/** Replaces the reservations of served calls with that of this call, and counts the served calls as used. */
function settledAndReserved({ callId, budget, settled, leaseMs, offsetMs, day, servedType }: CommonAdmissionInput) {
  const { served } = settled;
  const open =
    served.length === 0
      ? "$reservations"
      : { $filter: { input: "$reservations", as: "item", cond: { $not: [{ $in: ["$$item.id", served] }] } } };
  const until = { $add: [databaseNow(offsetMs), leaseMs] };
  const reserved = budget && { id: callId, type: budget.type, day, until, prepaid: false };
  return {
    ...(servedType === undefined
      ? {}
      : {
          // A missing reservation has expired, and its call doesn't count.
          [`used.${servedType}`]: {
            $add: [`$used.${servedType}`, { $subtract: [{ $size: "$reservations" }, { $size: open }] }],
          },
        }),
    ...(reserved === undefined && served.length === 0
      ? {}
      : { reservations: reserved === undefined ? open : { $concatArrays: [open, [reserved]] } }),
  };
}

/** Calls used of the day's budget, without the admitted one, and the budget itself. */
export function budgetOfRecord(
  { used, reservations, score }: CommonRecord,
  { type, base }: NonNullable<AdmissionInput["budget"]>,
  day: Date,
): { used: number; limit: number } {
  const open = reservations.filter(
    (item) => item.type === type && !item.prepaid && item.exhausted !== true && item.day.getTime() === day.getTime(),
  );
  return { used: used[type] + open.length - 1, limit: base * tierOf(score).multiplier };
}
