import type { ClientSession, Connection } from "mongoose";

import type { Network } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import { dayOf, resetAfter } from "../limits/tiers.ts";
import { approvalModel, liveApprovals } from "./approval-model.ts";
import type { ApprovalRecord } from "./approval-model.ts";
import { mandateModel } from "./model.ts";
import type { MandateCount, MandateRecord } from "./model.ts";
import { usdText } from "./usd.ts";

/** A purchase under a mandate. */
export interface Spending {
  /** 10⁻⁶ US dollars. */
  usd: bigint;
  network: Network;
  /** Undefined for a payment to the service, which has no seller. */
  deal?: { category: string; seller: string; hasCriteria: boolean };
}

/** The amounts of a mandate, which an approval lifts. */
const AMOUNT_BOUNDS = ["perDealUsd", "totalUsd", "perDayUsd"] as const;
type AmountBound = (typeof AMOUNT_BOUNDS)[number];

/**
 * What refuses a purchase: a field of the mandate; `closed` after a late funding; `ended` once the key is revoked or over;
 * `declined` after the wallet has said no.
 */
type MandateBound =
  Exclude<keyof MandateRecord["terms"], "scopes" | "notAfter" | "onExceeded"> | "closed" | "ended" | "declined";

/** A checkout as an approval knows it. */
export interface ApprovableOrder {
  /** SHA-256 of the canonical JSON of the request. */
  requestHash: `0x${string}`;
  /** The deal that it makes. */
  transactionId: string;
}

/** Thrown for a checkout that is above an amount of its mandate and that the wallet may approve. */
export class ApprovalNeededError extends Error {
  constructor() {
    super("the mandate's wallet has to approve this checkout");
    this.name = "ApprovalNeededError";
  }
}

/** What a mandate has left. Amounts are 10⁻⁶ US dollars. */
export interface Remainder {
  perDealUsd: bigint;
  todayUsd: bigint;
  totalUsd: bigint;
  /** Midnight UTC, when the day's amount is whole again. */
  dayEndsAt: Date;
}

type State = Pick<MandateRecord, "spentUsd" | "day" | "spentTodayUsd">;

const atLeastZero = (amount: bigint): bigint => (amount > 0n ? amount : 0n);
const least = (...amounts: readonly bigint[]): bigint => amounts.reduce((one, other) => (other < one ? other : one));

/** The mandate's day and what was spent on it: that of the clock, or a later one that another process has begun. */
function today({ day, spentTodayUsd }: State, now: Date): { day: Date; spent: bigint } {
  const current = dayOf(now);
  return current > day ? { day: current, spent: 0n } : { day, spent: BigInt(spentTodayUsd) };
}

/** What a mandate has left. */
export function remainderOf({ terms, ...state }: Pick<MandateRecord, "terms"> & State, now: Date): Remainder {
  const { day, spent } = today(state, now);
  const totalUsd = atLeastZero(BigInt(terms.totalUsd) - BigInt(state.spentUsd));
  const todayUsd = least(totalUsd, atLeastZero(BigInt(terms.perDayUsd) - spent));
  return { perDealUsd: least(todayUsd, BigInt(terms.perDealUsd)), todayUsd, totalUsd, dayEndsAt: resetAfter(day) };
}

/** The first bound that a purchase breaks; undefined if it breaks none. */
function brokenBound(mandate: MandateRecord, { usd, network, deal }: Spending, now: Date): MandateBound | undefined {
  const { terms, closedAt, endedAt } = mandate;
  if (endedAt !== null || terms.notAfter <= now) return "ended";
  if (closedAt !== null) return "closed";
  const allows = <T>(list: readonly T[], value: T) => list.length === 0 || list.includes(value);
  if (!allows<string>(terms.networks, network)) return "networks";
  if (deal !== undefined) {
    if (!allows(terms.categories, deal.category)) return "categories";
    if (!allows<string>(terms.sellers, deal.seller.toLowerCase())) return "sellers";
    if (terms.requireCriteria && !deal.hasCriteria) return "requireCriteria";
  }
  if (usd > BigInt(terms.perDealUsd)) return "perDealUsd";
  if (usd + BigInt(mandate.spentUsd) > BigInt(terms.totalUsd)) return "totalUsd";
  return usd + today(mandate, now).spent > BigInt(terms.perDayUsd) ? "perDayUsd" : undefined;
}

/** The refusal of a purchase. */
export function exceeded(mandate: MandateRecord, bound: MandateBound, { usd }: Spending, now: Date): ApiError {
  const { perDealUsd, todayUsd, totalUsd, dayEndsAt } = remainderOf(mandate, now);
  return new ApiError("mandate_exceeded", {
    details: {
      bound,
      askedUsd: usdText(usd),
      left: { perDealUsd: usdText(perDealUsd), todayUsd: usdText(todayUsd), totalUsd: usdText(totalUsd) },
      dayEndsAt: dayEndsAt.toISOString(),
      notAfter: mandate.terms.notAfter.toISOString(),
    },
  });
}

/**
 * The amount of its mandate that a checkout is above; undefined if it is above none.
 * @throws ApiError `mandate_exceeded` for what no approval lifts
 */
export function approvableBound(mandate: MandateRecord, spending: Spending, now: Date): AmountBound | undefined {
  const bound = brokenBound(mandate, spending, now);
  if (bound === undefined) return undefined;
  const amount = AMOUNT_BOUNDS.find((one) => one === bound);
  if (amount === undefined || mandate.terms.onExceeded !== "approval") throw exceeded(mandate, bound, spending, now);
  return amount;
}

/** Whether an approval lets a checkout of this value through. */
export function covers({ status, maxUsd }: Pick<ApprovalRecord, "status" | "maxUsd">, usd: bigint): boolean {
  return status === "granted" && maxUsd !== null && usd <= BigInt(maxUsd);
}

/**
 * Counts what is bought under mandates. Each function runs in the database transaction that stores what it counts. Two
 * transactions that count against the same mandate conflict, and the driver repeats one of them: what it then reads has
 * the other's amount.
 */
export function createMandateLedger(connection: Connection) {
  const mandates = mandateModel(connection);
  const approvals = approvalModel(connection);

  const read = (id: string, session?: ClientSession) => mandates.findById(id, null, { session }).lean().orFail();

  async function write({ _id }: Pick<MandateRecord, "_id">, change: object, session: ClientSession): Promise<void> {
    await mandates.updateOne({ _id }, { $set: change }, { session });
  }

  async function add(mandate: MandateRecord, usd: bigint, now: Date, session: ClientSession, also: object = {}) {
    const { day, spent } = today(mandate, now);
    const spentUsd = String(BigInt(mandate.spentUsd) + usd);
    await write(mandate, { spentUsd, day, spentTodayUsd: String(spent + usd), ...also }, session);
    return day;
  }

  /**
   * Uses the approval of a checkout, if it has one. A later repeat of the checkout needs a new one.
   * @throws ApprovalNeededError without a sufficient one for a checkout above an amount
   */
  async function useApproval(
    { agentId, _id: keyId }: MandateRecord,
    { requestHash, transactionId }: ApprovableOrder,
    { usd, isAbove, now }: { usd: bigint; isAbove: boolean; now: Date },
    session: ClientSession,
  ): Promise<void> {
    const approval = await approvals
      .findOne(liveApprovals({ agentId, keyId, requestHash }, now), null, { session })
      .lean();
    if (isAbove && (approval === null || !covers(approval, usd))) throw new ApprovalNeededError();
    // What fits into the mandate is bought without it; then nobody needs to decide any more.
    if (approval === null || approval.status === "declined") return;
    const used = { $set: { status: "used", transactionId }, $unset: { live: 1 } } as const;
    await approvals.updateOne({ _id: approval._id, agentId }, used, { session });
  }

  return {
    /** @throws ApiError `mandate_exceeded` if the purchase breaks a bound now. Counts nothing. */
    async requireRoom(id: string, spending: Spending, now: Date): Promise<void> {
      const mandate = await read(id);
      const bound = brokenBound(mandate, spending, now);
      if (bound !== undefined) throw exceeded(mandate, bound, spending, now);
    },

    /**
     * Counts a purchase. A checkout that its wallet has approved may be above the amounts, and uses the approval.
     * @param order undefined for what can't be approved
     * @throws ApiError `mandate_exceeded`; ApprovalNeededError for a checkout that may be approved
     */
    async reserve(
      id: string,
      spending: Spending,
      now: Date,
      session: ClientSession,
      order?: ApprovableOrder,
    ): Promise<MandateCount> {
      const mandate = await read(id, session);
      if (order === undefined) {
        const bound = brokenBound(mandate, spending, now);
        if (bound !== undefined) throw exceeded(mandate, bound, spending, now);
      } else {
        const isAbove = approvableBound(mandate, spending, now) !== undefined;
        if (mandate.terms.onExceeded === "approval") {
          await useApproval(mandate, order, { usd: spending.usd, isAbove, now }, session);
        }
      }
      const day = await add(mandate, spending.usd, now, session);
      return { id, usd: String(spending.usd), day, counted: true };
    },

    /** Takes back what a purchase counted that will never be paid. */
    async release({ id, usd, day }: MandateCount, session: ClientSession): Promise<void> {
      const mandate = await read(id, session);
      const isToday = mandate.day.getTime() === day.getTime();
      await write(
        mandate,
        {
          spentUsd: String(atLeastZero(BigInt(mandate.spentUsd) - BigInt(usd))),
          ...(isToday ? { spentTodayUsd: String(atLeastZero(BigInt(mandate.spentTodayUsd) - BigInt(usd))) } : {}),
        },
        session,
      );
    },

    /**
     * Counts again what was released and is paid all the same, whatever the bounds.
     * @param closes whether nothing new is bought under the mandate from now on
     */
    async recount(
      { id, usd }: MandateCount,
      { closes, now }: { closes: boolean; now: Date },
      session: ClientSession,
    ): Promise<MandateCount> {
      const mandate = await read(id, session);
      const closing = closes && mandate.closedAt === null ? { closedAt: now } : {};
      const day = await add(mandate, BigInt(usd), now, session, closing);
      return { id, usd, day, counted: true };
    },
  };
}

/** Counts what is bought under mandates. */
export type MandateLedger = ReturnType<typeof createMandateLedger>;
