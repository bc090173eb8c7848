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
 * accounts for more than half of its deals: two wallets can't climb by trading with each other. It also counts less for a seller that
 * declines jobs, most of all after their deadline.
 */
export function rankingTrustOf(history: TradingHistory): number {
  const declineWeight = lateDeclineWeightOf(history) * earlyDeclineWeightOf(history);
  return discoveryScoreOf(history.score) * counterpartyWeightOf(history) * declineWeight;
}

/** A wallet with fewer deals may have all of them with one other. */
const LEAST_DEALS_TO_COMPARE = 5;

/**
 * How many of a pair's deals count for one of the two: at most half of all its deals, once it has five. What is beyond is
 * taken for wash trading, by the ranking and by the market's figures.
 */
export function countedDealsOf(ofPair: number, ofParty: number): number {
  return ofParty < LEAST_DEALS_TO_COMPARE ? ofPair : Math.min(ofPair, Math.floor(ofParty / 2));
}

/**
 * From 0 for a wallet that has settled nothing to 1 for one with many counterparties, with none of them more than half
 * of its deals: the breadth, times the share of the deals that count.
 */
export function counterpartyWeightOf(history: Counterparties): number {
  const { distinctCounterparties, topCounterpartyCount, settledCount } = history;
  if (settledCount === 0) return 0;
  const breadth = Math.min(1, distinctCounterparties / FULL_WEIGHT_COUNTERPARTIES);
  const leftOut = topCounterpartyCount - countedDealsOf(topCounterpartyCount, settledCount);
  return breadth * (1 - leftOut / settledCount);
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
