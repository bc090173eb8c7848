import type { Model } from "mongoose";

import { isDuplicateKey } from "../../../db/connection.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { EmbeddingSpendingRecord } from "./model.ts";

/** Tokens that are set aside for a request. */
export interface Reservation {
  /** Replaces them by what the request has cost, 0 if nothing. Without the call they stay spent. */
  settle(tokens: number): Promise<void>;
}

/** The tokens of a UTC day, for all processes together. */
export interface TokenBudget {
  /** Sets tokens aside; undefined if the day doesn't have them any more. */
  reserve(tokens: number): Promise<Reservation | undefined>;
  /** What this day's requests have cost and may still cost. */
  spentToday(): Promise<number>;
}

/** How long a day's sum is kept, for operators. */
const KEPT_MS = 40 * 24 * 3_600_000;
/** How long a refusal holds in this process without asking the database again. */
const REFUSED_MS = 5_000;

/**
 * A daily budget in the database. What a request may cost at most is reserved before it is sent, so the sum never exceeds the
 * budget, however many processes send. A process that dies before it settles leaves its reservation spent.
 */
export function createTokenBudget({
  spending,
  dailyTokens,
  now,
  log,
}: {
  spending: Model<EmbeddingSpendingRecord>;
  dailyTokens: number;
  now: () => Date;
  log: Logger;
}): TokenBudget {
  let refused = { day: "", tokens: Infinity, until: 0 };
  let loggedDay = "";
  const today = () => now().toISOString().slice(0, "2026-11-23".length);

  async function take(day: string, tokens: number): Promise<boolean> {
    const filter = { _id: day, tokens: { $lte: dailyTokens - tokens } };
    const expiresAt = new Date(Date.parse(day) + KEPT_MS);
    try {
      const change = { $inc: { tokens }, $setOnInsert: { expiresAt } };
      const { matchedCount, upsertedCount } = await spending.updateOne(filter, change, { upsert: true });
      return matchedCount + upsertedCount === 1;
    } catch (error) {
      // The day has a record: without enough tokens, or since another process has opened the day.
      if (!isDuplicateKey(error)) throw error;
      const { matchedCount } = await spending.updateOne(filter, { $inc: { tokens } });
      return matchedCount === 1;
    }
  }

  return {
    async reserve(tokens) {
      const day = today();
      if (refused.day === day && tokens >= refused.tokens && performance.now() < refused.until) return undefined;
      if (tokens <= dailyTokens && (await take(day, tokens))) {
        return {
          async settle(cost) {
            if (cost !== tokens) await spending.updateOne({ _id: day }, { $inc: { tokens: cost - tokens } });
          },
        };
      }
      refused = { day, tokens, until: performance.now() + REFUSED_MS };
      if (loggedDay !== day) log.warn({ dailyTokens, day }, "the day's tokens for embedding are spent");
      loggedDay = day;
      return undefined;
    },
    async spentToday() {
      return (await spending.findById(today()).lean<EmbeddingSpendingRecord | null>())?.tokens ?? 0;
    },
  };
}
