import { FEE_TIERS, FEE_WINDOW_DAYS, USD_DECIMALS } from "../../config/constants.ts";
import type { FeeTier } from "../../config/constants.ts";
import { rebateOn } from "./rebate.ts";

const SECONDS_PER_DAY = 86_400;
const ONE_USD = 10n ** BigInt(USD_DECIMALS);

/** A seller's settled deals of one UTC day (days since 1970). USD values have 6 decimals. */
export interface SettledDay {
  day: number;
  /** Value of the deposits by the share that the seller was paid. */
  soldUsd: bigint;
  /** The fee's part of it. */
  soldFeeUsd: bigint;
}

/** The 30 UTC days that end with today. */
export interface FeeWindow {
  /** First day of the window, and the first day of this month: days since 1970. */
  firstDay: number;
  monthFirstDay: number;
  start: Date;
  /** Exclusive: the next midnight UTC. */
  end: Date;
}

/** A seller's tier with its figures. USD values have 6 decimals. */
export interface FeeStanding {
  tier: FeeTier;
  /** The tier above; undefined at the top. */
  next: FeeTier | undefined;
  settledVolumeUsd: bigint;
  rebateAccruedUsd: bigint;
}

/** The window at a moment. */
export function feeWindowAt(unixSeconds: number): FeeWindow {
  const today = Math.floor(unixSeconds / SECONDS_PER_DAY);
  const firstDay = today - (FEE_WINDOW_DAYS - 1);
  const monthFirstDay = today - (startOfDay(today).getUTCDate() - 1);
  return { firstDay, monthFirstDay, start: startOfDay(firstDay), end: startOfDay(today + 1) };
}

/**
 * The tier by the volume of the window, and the rebate on this month's fees so far if that tier holds at the month's
 * end: `floor(fees * (200 - rateBps) / 200)`.
 */
export function computeFeeStanding(days: readonly SettledDay[], window: FeeWindow): FeeStanding {
  const settledVolumeUsd = sum(days.filter(({ day }) => day >= window.firstDay).map(({ soldUsd }) => soldUsd));
  const monthFeesUsd = sum(days.filter(({ day }) => day >= window.monthFirstDay).map(({ soldFeeUsd }) => soldFeeUsd));
  const tier = tierOf(settledVolumeUsd);
  return {
    tier,
    next: FEE_TIERS[FEE_TIERS.indexOf(tier) + 1],
    settledVolumeUsd,
    rebateAccruedUsd: rebateOn(monthFeesUsd, tier.effectiveRateBps),
  };
}

/** The tier of a volume in USD units. */
export function tierOf(volumeUsd: bigint): FeeTier {
  // The first tier starts at 0, so every volume has one.
  return FEE_TIERS.findLast(({ fromUsd }) => volumeUsd >= BigInt(fromUsd) * ONE_USD) ?? FEE_TIERS[0];
}

function startOfDay(day: number): Date {
  return new Date(day * SECONDS_PER_DAY * 1_000);
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}
