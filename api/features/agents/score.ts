import {
  FULL_DISCOVERY_SCORE,
  FULL_WEIGHT_COUNTERPARTIES,
  JOB_VALUE_CAPS,
  MAINNET_GRADUATION_SCORE,
} from "../../config/constants.ts";

/** `min(1.0, onChainScore / 100)` (specification 2.5); 0 for a negative score (decision 20). */
export function discoveryScoreOf(onChainScore: number): number {
  return Math.max(0, Math.min(1, onChainScore / FULL_DISCOVERY_SCORE));
}

/**
 * Least whole on-chain score whose discoveryScore reaches a bound from 0 to 1; null when every score does, the negative
 * ones too. `bound * 100` alone will not do: 0.55 * 100 is 55.00000000000001.
 */
export function leastOnChainScoreOf(minDiscoveryScore: number): number | null {
  if (minDiscoveryScore <= 0) return null;
  const nearest = Math.round(minDiscoveryScore * FULL_DISCOVERY_SCORE);
  return discoveryScoreOf(nearest) >= minDiscoveryScore ? nearest : nearest + 1;
}

/** Whether a testnet score opens mainnet checkout (specification 3.4). */
export function isGraduated(testnetScore: number): boolean {
  return testnetScore >= MAINNET_GRADUATION_SCORE;
}

/** Largest job in whole US dollars that a score allows; null for unlimited (decision 11). */
export function maxJobValueUsdOf(onChainScore: number): number | null {
  const band = JOB_VALUE_CAPS.find(({ minScore }) => onChainScore >= minScore);
  // The last band begins at minus infinity, so one is always found.
  return band?.capUsd ?? null;
}

/** What the ranking knows of a seller besides the score. */
export interface TradingHistory {
  score: number;
  distinctCounterparties: number;
  topCounterpartyCount: number;
  settledCount: number;
}

/**
 * The discovery score as the ranking weighs it (decision 23): with few counterparties, or with one that makes up most of
 * the deals, it counts less, so that two wallets trading with each other do not climb.
 */
export function rankingTrustOf(history: TradingHistory): number {
  const { score, distinctCounterparties, topCounterpartyCount, settledCount } = history;
  const topCounterpartyShare = settledCount === 0 ? 0 : topCounterpartyCount / settledCount;
  const breadth = Math.min(1, distinctCounterparties / FULL_WEIGHT_COUNTERPARTIES);
  return discoveryScoreOf(score) * breadth * (1 - topCounterpartyShare / 2);
}
