import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { insertPlain } from "../../db/plain-writes.ts";
import type { AtBlock, Indexer } from "../../indexer/indexer-client.ts";
import type { PaidSettlement } from "../../indexer/schemas.ts";
import { sha256Hex } from "../../lib/ids.ts";
import type { Logger } from "../../lib/logger.ts";
import type { SettlementLine, StatementModels, StatementRecord, StatementTerms } from "./model.ts";
import { monthAfter, monthAt, monthNamed } from "./months.ts";
import type { Month } from "./months.ts";
import { hashSettlements, hashStatement, toLine, rebateOn, volumeIn, windowOf } from "./rebate.ts";
import { tierOf } from "./tiers.ts";

/** Dependencies of the writer of statements. */
export interface StatementWriterDeps {
  connection: Connection;
  models: StatementModels;
  chain: Pick<ChainClient, "network" | "head" | "block" | "deployment">;
  indexer: Pick<Indexer, "sellerVolumes" | "paidSettlements" | "firstPaidSettlement">;
  now: () => Date;
  /** Blocks that must follow the block of the read, so that no reorganisation changes a statement. */
  confirmations: number;
}

/** Thrown if the subgraph contradicts itself: no statement may rest on it. */
export class InconsistentVolumeError extends Error {
  override readonly name = "InconsistentVolumeError";

  constructor(wallet: string, month: string, ofDays: bigint, ofSettlements: bigint) {
    super(`${wallet} in ${month}: the days add up to ${ofDays} USD units, the settlements to ${ofSettlements}`);
  }
}

/** What a statement is about. */
interface Subject {
  wallet: `0x${string}`;
  volumeUsd: bigint;
  month: Month;
  block: AtBlock;
  token: PaidSettlement["token"];
}

const PAGE = 1_000;
const SECONDS_PER_DAY = 86_400;
const POSITION_DIGITS = 8;

/** The id of a wallet's statement. */
export function statementIdOf(network: string, month: string, wallet: string, token: string): string {
  const key = [network, month, wallet.toLowerCase(), token.toLowerCase()].join("|");
  return `reb_${sha256Hex(key).slice(0, 32)}`;
}

/**
 * Writes the statements of the mainnet's finished months. A statement is written in one transaction with
 * its settlements and never changed. Two writers do no harm, because both read what no reorganisation changes any more,
 * and the first one's statement stays.
 */
export class StatementWriter {
  readonly #deps: StatementWriterDeps;

  constructor(deps: StatementWriterDeps) {
    this.#deps = deps;
  }

  /**
   * Writes the statements of every finished month that has none. A month is finished once a block that enough others
   * follow comes after its end; the chain's clock decides, as for settlements.
   * @returns the months that were written
   * @throws IndexerUnavailableError, IndexerBehindError, ChainUnavailableError, InconsistentVolumeError
   */
  async writeDue(log: Logger, signal?: AbortSignal): Promise<string[]> {
    const { chain, confirmations } = this.#deps;
    const { network } = chain;
    const head = await chain.head();
    const read = await chain.block(Math.max(0, head.number - confirmations));
    // Before the deployment there is nothing to read, and the subgraph refuses such a block.
    if (read === null || read.number < chain.deployment.startBlock) return [];
    const block: AtBlock = { number: read.number, hash: read.hash };
    const written: string[] = [];
    for (
      let month = await this.#firstUnwritten(block);
      month !== undefined && month.end <= read.timestamp;
      month = monthAfter(month)
    ) {
      signal?.throwIfAborted();
      const count = await this.#writeMonth(month, block, signal);
      log.info({ network, month: month.name, statements: count, block: block.number }, "rebate statements are written");
      written.push(month.name);
    }
    return written;
  }

  /** The first month that has no statements yet; undefined before the first settlement. */
  async #firstUnwritten(block: AtBlock): Promise<Month | undefined> {
    const { models, chain, indexer } = this.#deps;
    const last = await models.months.findOne({ network: chain.network }).sort({ month: -1 }).lean();
    if (last !== null) return monthAfter(monthNamed(last.month));
    const settledAt = await indexer.firstPaidSettlement(block);
    return settledAt === undefined ? undefined : monthAt(settledAt);
  }

  /** The volumes of all wallets that were paid as sellers in a span of days, by lower-case wallet. */
  async #readVolumes(month: Month, block: AtBlock): Promise<Map<string, bigint>> {
    const volumes = new Map<string, bigint>();
    const windowDay = month.windowStart / SECONDS_PER_DAY;
    const days = { from: Math.min(month.start, month.windowStart) / SECONDS_PER_DAY, to: month.end / SECONDS_PER_DAY };
    for (let after = "0x"; ;) {
      const page = await this.#deps.indexer.sellerVolumes(days, after, PAGE, block);
      for (const { agent, day, soldUsd } of page) {
        volumes.set(agent, (volumes.get(agent) ?? 0n) + (day >= windowDay ? soldUsd : 0n));
      }
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return volumes;
      after = last.id;
    }
  }

  /** The settlements that paid a seller in the month and in its window, oldest first. */
  async #readSettlements(wallet: string, month: Month, block: AtBlock): Promise<PaidSettlement[]> {
    const found: PaidSettlement[] = [];
    const span = { from: Math.min(month.start, month.windowStart), to: month.end };
    for (;;) {
      const page = await this.#deps.indexer.paidSettlements(wallet, span, found.at(-1), PAGE, block);
      found.push(...page);
      if (page.length < PAGE) return found;
    }
  }

  /** Writes a seller's statements, one for each token. @returns how many it has */
  async #writeFor(wallet: `0x${string}`, volumeUsd: bigint, month: Month, block: AtBlock): Promise<number> {
    const settlements = await this.#readSettlements(wallet, month, block);
    const ofSettlements = volumeIn(month, settlements);
    if (ofSettlements !== volumeUsd) throw new InconsistentVolumeError(wallet, month.name, volumeUsd, ofSettlements);
    // One that was paid in the days before a short month only has a volume and no statement.
    const paidInMonth = settlements.filter(({ settledAt }) => settledAt >= month.start);
    const tokens = new Map(paidInMonth.map(({ token }) => [token.id, token]));
    for (const token of tokens.values()) {
      const listed = settlements.filter((paid) => paid.token.id === token.id).map((paid) => toLine(paid, month));
      await this.#store(this.#statement({ wallet, volumeUsd, month, block, token }, listed), listed);
    }
    return tokens.size;
  }

  #statement({ wallet, volumeUsd, month, block, token }: Subject, listed: readonly SettlementLine[]): StatementRecord {
    const { network } = this.#deps.chain;
    const { tier, effectiveRateBps } = tierOf(volumeUsd);
    const fee = listed.reduce((sum, line) => sum + BigInt(line.countedFee), 0n);
    const rebate = rebateOn(fee, effectiveRateBps);
    const terms = {
      network,
      month: month.name,
      wallet,
      token: token.id,
      tier,
      effectiveRateBps,
      ...windowOf(month),
      settledVolumeUsdUnits: String(volumeUsd),
      block,
      settlementCount: listed.length,
      settlementsHash: hashSettlements(listed),
      fee: String(fee),
      rebate: String(rebate),
    } satisfies StatementTerms;
    return {
      _id: statementIdOf(network, month.name, wallet, token.id),
      ...terms,
      tokenSymbol: token.symbol,
      tokenDecimals: token.decimals,
      hash: hashStatement(terms),
      isPayable: rebate > 0n,
      createdAt: this.#deps.now(),
    };
  }

  /** Stores a statement with its lines, unless it is there. */
  async #store(record: StatementRecord, listed: readonly SettlementLine[]): Promise<void> {
    const { connection, models } = this.#deps;
    const statementId = record._id;
    if ((await models.statements.exists({ _id: statementId })) !== null) return;
    const lines = listed.map((line, position) => ({
      _id: `${statementId}|${String(position).padStart(POSITION_DIGITS, "0")}`,
      statementId,
      position,
      ...line,
    }));
    try {
      await withTransaction(connection, async (session) => {
        await models.statements.create([record], { session });
        for (let from = 0; from < lines.length; from += PAGE) {
          await insertPlain(models.lines, lines.slice(from, from + PAGE), session);
        }
      });
    } catch (error) {
      // Another worker has written the same statement.
      if (!isDuplicateKey(error)) throw error;
    }
  }

  async #writeMonth(month: Month, block: AtBlock, signal: AbortSignal | undefined): Promise<number> {
    const { models, chain, now } = this.#deps;
    let written = 0;
    for (const [wallet, volumeUsd] of await this.#readVolumes(month, block)) {
      signal?.throwIfAborted();
      written += await this.#writeFor(wallet as `0x${string}`, volumeUsd, month, block);
    }
    const { network } = chain;
    const record = { network, month: month.name, statements: written, writtenAt: now() };
    await models.months.updateOne({ _id: `${network}|${month.name}` }, { $setOnInsert: record }, { upsert: true });
    return written;
  }
}
