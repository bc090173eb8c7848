import {
  FULL_DISCOVERY_SCORE,
  FULL_WEIGHT_COUNTERPARTIES,
  JOB_VALUE_CAPS,
  MAINNET_GRADUATION_SCORE,
} from "../../config/constants.ts";

/** `min(1.0, onChainScore / 100)`; 0 for a negative score. */
export function discoveryScoreOf(onChainScore: number): number {
  return Math.max(0, Math.min(1, onChainScore / FULL_DISCOVERY_SCORE));
}

/**
 * Lowest integer on-chain score whose discoveryScore reaches a bound from 0 to 1; null if every score does, even a
 * negative one. Rounding `bound * 100` up isn't enough: 0.55 * 100 is 55.00000000000001.
 */
export function leastOnChainScoreOf(minDiscoveryScore: number): number | null {
  if (minDiscoveryScore <= 0) return null;
  const nearest = Math.round(minDiscoveryScore * FULL_DISCOVERY_SCORE);
  return discoveryScoreOf(nearest) >= minDiscoveryScore ? nearest : nearest + 1;
}

/** Whether a testnet score allows mainnet checkout. */
export function isGraduated(testnetScore: number): boolean {
  return testnetScore >= MAINNET_GRADUATION_SCORE;
}

/** Largest job in whole US dollars that a score allows; null for unlimited. */
export function maxJobValueUsdOf(onChainScore: number): number | null {
  const band = JOB_VALUE_CAPS.find(({ minScore }) => onChainScore >= minScore);
  // The last band starts at minus infinity, so every score has one.
  return band?.capUsd ?? null;
}

/** With whom a wallet has settled Released escrows, in either role. */
export interface Counterparties {
  distinctCounterparties: number;
  topCounterpartyCount: number;
  settledCount: number;
}

/** How the escrows of a wallet as seller ended. */
export interface SellerRecord {
  /** Released escrows. */
  released: number;
  /** Escrows that it refunded after the deadline. */
  lateDeclines: number;
  /** Share of the escrows from a checkout that it refunded up to the deadline; 0 if they are of fewer than three buyers. */
  earlyDeclineShare: number;
}

/** A seller's score, counterparties and record, for the ranking. */
export interface TradingHistory extends Counterparties, SellerRecord {
  score: number;
}

/**
 * The discovery score weighted for ranking. It counts less for a seller with few counterparties, or with one that
 * accounts for most deals: two wallets can't climb by trading with each other. It also counts less for a seller that
 * declines jobs, most of all after their deadline.
 */
export function rankingTrustOf(history: TradingHistory): number {
  const declineWeight = lateDeclineWeightOf(history) * earlyDeclineWeightOf(history);
  return discoveryScoreOf(history.score) * counterpartyWeightOf(history) * declineWeight;
}

/** From 0 for a wallet that has settled nothing to 1 for one with many counterparties, none of them large. */
export function counterpartyWeightOf(history: Counterparties): number {
  const breadth = Math.min(1, history.distinctCounterparties / FULL_WEIGHT_COUNTERPARTIES);
  return breadth * (1 - topCounterpartyShareOf(history) / 2);
}

/**
 * 1 less the share of late declines among a seller's released and late-declined escrows: 1 without a late decline,
 * 0 for a seller that has done nothing else.
 */
export function lateDeclineWeightOf({
  released,
  lateDeclines,
}: Pick<SellerRecord, "released" | "lateDeclines">): number {
  return lateDeclines === 0 ? 1 : released / (released + lateDeclines);
}

/**
 * From 1 for a seller that takes every order of a checkout to a half for one that declines them all in time.
 * Its buyers get their time back, but not their fee.
 */
export function earlyDeclineWeightOf({ earlyDeclineShare }: Pick<SellerRecord, "earlyDeclineShare">): number {
  return 1 - earlyDeclineShare / 2;
}

/** Share of the settled deals that were with the most frequent counterparty, from 0 to 1. */
export function topCounterpartyShareOf(history: Omit<Counterparties, "distinctCounterparties">): number {
  return history.settledCount === 0 ? 0 : history.topCounterpartyCount / history.settledCount;
}
