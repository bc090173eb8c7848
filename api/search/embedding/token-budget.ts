import { LRUCache } from "lru-cache";
import type { Model } from "mongoose";

import { isDuplicateKey } from "../../db/connection.ts";
import { sha256Hex } from "../../lib/ids.ts";
import type { Logger } from "../../lib/logger.ts";
import type { EmbeddingSpendingRecord } from "./model.ts";

/** Tokens that are set aside for a request. */
export interface Reservation {
  /** Replaces them by what the request has cost, 0 if nothing. Without the call they stay spent. */
  settle(tokens: number): Promise<void>;
}

/** The use of tokens: `first` are queries and new listings, which a part of each day is kept for. */
export type TokenUse = "first" | "later";

/** Share of a day's tokens that one agent's listings and entries may cost, and as much again for its queries of its memory. */
const AGENT_SHARE = 0.05;
/** Share of a day's tokens that agents' private documents, and texts that another model has embedded, can't spend. */
const KEPT_SHARE = 0.2;
/** How long a day's sum is kept, for operators, and an agent's. */
const KEPT_MS = 40 * 24 * 3_600_000;
const SHARE_KEPT_MS = 2 * 24 * 3_600_000;
/** How long a refusal holds in this process without asking the database again. */
const REFUSED_MS = 5_000;
/** Refusals of agents that are remembered; beyond it, the oldest are forgotten. */
const MOST_REFUSALS = 10_000;

interface Refusal {
  tokens: number;
  /** By `performance.now()`. */
  until: number;
}

/**
 * The tokens of a UTC day, for all processes together. What a request may cost at most is reserved before it is sent, so the sum
 * never exceeds the budget, however many processes send. A process that dies before it settles leaves its reservation spent.
 */
export class TokenBudget {
  readonly #spending: Model<EmbeddingSpendingRecord>;
  readonly #dailyTokens: number;
  readonly #limits: Readonly<Record<TokenUse | "share", number>>;
  readonly #now: () => Date;
  readonly #log: Logger;
  /** By the id of the record that refused them, and for the day by the use. */
  readonly #refusals = new LRUCache<string, Refusal>({ max: MOST_REFUSALS });
  readonly #loggedDays = { first: "", later: "" };

  constructor({
    spending,
    dailyTokens,
    longestText,
    now,
    log,
  }: {
    spending: Model<EmbeddingSpendingRecord>;
    dailyTokens: number;
    /** Tokens that are reserved for the longest text: no share is smaller. */
    longestText: number;
    now: () => Date;
    log: Logger;
  }) {
    const atLeastOneText = (tokens: number) => Math.min(dailyTokens, Math.max(Math.floor(tokens), longestText));
    this.#spending = spending;
    this.#dailyTokens = dailyTokens;
    this.#limits = {
      first: dailyTokens,
      later: atLeastOneText(dailyTokens * (1 - KEPT_SHARE)),
      share: atLeastOneText(dailyTokens * AGENT_SHARE),
    };
    this.#now = now;
    this.#log = log;
  }

  /** Sets tokens aside; undefined if the day doesn't have them any more. */
  async reserve(tokens: number, use: TokenUse): Promise<Reservation | undefined> {
    const day = this.#today();
    const key = `${day}|${use}`;
    if (this.#isRefused(key, tokens)) return undefined;
    const expiresAt = new Date(Date.parse(day) + KEPT_MS);
    if (await this.#take(day, tokens, this.#limits[use], expiresAt)) return this.#createReservation(day, tokens);
    this.#noteRefusal(key, tokens);
    const what =
      use === "first" ? "the day's tokens for embedding" : "the day's tokens for memory and for texts of another model";
    if (this.#loggedDays[use] !== day) this.#log.warn({ dailyTokens: this.#dailyTokens, day }, `${what} are spent`);
    this.#loggedDays[use] = day;
    return undefined;
  }

  /**
   * Sets tokens of a payer's share of the day aside; undefined if it doesn't have them any more.
   * @param payer an agent's id, or `<agent id>|query`
   */
  async reserveShare(payer: string, tokens: number): Promise<Reservation | undefined> {
    const day = this.#today();
    const _id = shareId(day, payer);
    if (this.#isRefused(_id, tokens)) return undefined;
    const expiresAt = new Date(Date.parse(day) + SHARE_KEPT_MS);
    if (await this.#take(_id, tokens, this.#limits.share, expiresAt)) return this.#createReservation(_id, tokens);
    this.#noteRefusal(_id, tokens);
    return undefined;
  }

  /** Whether this process was refused so many tokens of the payer's share a moment ago. */
  isShareSpent(payer: string, tokens: number): boolean {
    return this.#isRefused(shareId(this.#today(), payer), tokens);
  }

  /** Tokens spent and reserved on this UTC day. */
  async spentToday(): Promise<number> {
    return (await this.#spending.findById(this.#today()).lean())?.tokens ?? 0;
  }

  #today(): string {
    return this.#now().toISOString().slice(0, "2026-11-23".length);
  }

  #isRefused(key: string, tokens: number): boolean {
    const refusal = this.#refusals.get(key);
    return refusal !== undefined && tokens >= refusal.tokens && performance.now() < refusal.until;
  }

  #noteRefusal(key: string, tokens: number): void {
    const at = performance.now();
    const known = this.#refusals.get(key);
    // The smallest refused amount counts: refusing a larger one doesn't free it.
    const least = known === undefined || known.until < at ? tokens : Math.min(known.tokens, tokens);
    this.#refusals.set(key, { tokens: least, until: at + REFUSED_MS });
  }

  /** Adds to a sum that must not exceed a limit. */
  async #take(_id: string, tokens: number, limit: number, expiresAt: Date): Promise<boolean> {
    if (tokens > limit) return false;
    const filter = { _id, tokens: { $lte: limit - tokens } };
    try {
      const change = { $inc: { tokens }, $setOnInsert: { expiresAt } };
      const { matchedCount, upsertedCount } = await this.#spending.updateOne(filter, change, { upsert: true });
      return matchedCount + upsertedCount === 1;
    } catch (error) {
      // The day has a record: without enough tokens, or since another process has opened the day.
      if (!isDuplicateKey(error)) throw error;
      const { matchedCount } = await this.#spending.updateOne(filter, { $inc: { tokens } });
      return matchedCount === 1;
    }
  }

  #createReservation(_id: string, tokens: number): Reservation {
    return {
      settle: async (cost) => {
        if (cost !== tokens) await this.#spending.updateOne({ _id }, { $inc: { tokens: cost - tokens } });
      },
    };
  }
}

/** As a hash, because nothing beside the vectors tells who has stored or searched what. */
function shareId(day: string, payer: string): string {
  return `${day}|${sha256Hex(payer)}`;
}
