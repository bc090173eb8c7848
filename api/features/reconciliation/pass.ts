import { randomBytes } from "node:crypto";

import type { Model } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import type { Network } from "../../config/constants.ts";
import type { StoredState } from "../../db/stored-state.ts";
import type { Logger } from "../../lib/logger.ts";
import type { StandingRecord } from "../agents/model.ts";
import { CLOSED_STATUSES, OPEN_STATUSES, OPEN_TRANSACTIONS_INDEX } from "../transactions/model.ts";
import type { TransactionModel } from "../transactions/model.ts";
import type { Reached } from "../transactions/ports.ts";
import type { Differences } from "./differences.ts";
import { PASS_STAGES } from "./model.ts";
import type { PassCounts, PassProgress } from "./model.ts";
import { OLDEST_STATE_BLOCKS } from "./sources.ts";
import type { ComparedBlock, Comparison, Sources } from "./sources.ts";

/** Durations of the reconciliation, in milliseconds. Tests shorten them. */
export interface ReconciliationTimings {
  /** From the start of a comparison to the start of the next one. */
  reconcileEveryMs: number;
  /** Pause before a difference is checked again. */
  recheckAfterMs: number;
}

export const RECONCILIATION_TIMINGS: ReconciliationTimings = {
  reconcileEveryMs: 86_400_000,
  recheckAfterMs: 60_000,
};

/** Dependencies of the daily comparison of one network. */
export interface PassDeps {
  network: Network;
  progress: StoredState<PassProgress>;
  transactions: TransactionModel;
  standings: Model<StandingRecord>;
  chain: Pick<ChainClient, "head">;
  reached: () => Promise<Reached>;
  sources: Sources;
  differences: Differences;
  now: () => Date;
  timings: ReconciliationTimings;
}

/** Copies per read, and thus calls per request to the chain. */
const PAGE_SIZE = 50;
/** Maximum number of pages in one run of the job; the next run continues. */
const PAGES_PER_RUN = 200;
/** Number of samples of closed escrows, each one page from a random id. */
const CLOSED_STRETCHES = 20;
const ESCROW_ID_BYTES = 32;
const BY_ESCROW_ID = { network: 1, escrowId: 1, unsolicited: 1 } as const;

type Running = NonNullable<PassProgress["running"]>;
/** The progress as it was read or written last. */
type Pass = PassProgress & { version: number };

/** A page of comparisons, and the start of the next page; without `next` the stage is over. */
interface Page {
  comparisons: Comparison[];
  next?: Pick<Running, "after" | "pagesLeft">;
}

/** Compares the copies of one network with its contracts once a day, page by page, in any of several processes. */
export class DailyPass {
  readonly #deps: PassDeps;

  constructor(deps: PassDeps) {
    this.#deps = deps;
  }

  /**
   * Checks known differences again, then continues the day's comparison, or starts it once it is due.
   * @throws ChainUnavailableError, IndexerUnavailableError; the next run continues where this one stopped
   */
  async run(log: Logger, signal?: AbortSignal): Promise<void> {
    const { network, differences } = this.#deps;
    const known = await this.#comparedBlock(log);
    if (known === undefined) return;
    await differences.lookAgainAtDue(known, log, signal);
    let pass = await this.#begin(await this.#load());
    for (let page = 0; page < PAGES_PER_RUN && pass !== undefined && pass.running !== null; page += 1) {
      if (signal?.aborted === true) return;
      // Before the copies are read, so that each is at least as new as the block.
      const block = await this.#comparedBlock(log);
      if (block === undefined) return;
      const { running } = pass;
      const compared = await this.#page(running, block);
      await differences.suspect(compared.comparisons.filter(({ fields }) => fields.length > 0));
      pass = await this.#write(pass, this.#after(running, compared));
      if (pass !== undefined && pass.running === null) {
        log.info({ network, ...pass.finished }, "copies compared with the contracts");
      }
    }
  }

  /** The block to compare at; undefined if the follower lags so far that a server may lack the state of its block. */
  async #comparedBlock(log: Logger): Promise<ComparedBlock | undefined> {
    const { network, chain, reached: readReached } = this.#deps;
    const [{ number: head }, reached] = await Promise.all([chain.head(), readReached()]);
    const number = reached.get(network);
    if (number === undefined || number < 0) return undefined;
    if (head - number <= OLDEST_STATE_BLOCKS) return { number: Math.min(number, head), head };
    log.warn({ network, head, reached: number }, "nothing is compared with the contracts: the follower is behind");
    return undefined;
  }

  async #openPage({ after, pagesLeft }: Running, block: ComparedBlock): Promise<Page> {
    const { network, transactions, sources } = this.#deps;
    const records = await transactions
      .find({ network, status: { $in: [...OPEN_STATUSES] }, _id: { $gt: after } })
      .sort({ _id: 1 })
      .limit(PAGE_SIZE)
      .hint(OPEN_TRANSACTIONS_INDEX)
      .lean();
    const comparisons = await sources.escrows(records, block);
    const last = records.at(-1);
    if (last === undefined || records.length < PAGE_SIZE) return { comparisons };
    return { comparisons, next: { after: last._id, pagesLeft } };
  }

  #closedFrom(escrowId: string, limit: number) {
    const { network, transactions } = this.#deps;
    return transactions
      .find({ network, escrowId: { $gte: escrowId as `0x${string}` }, status: { $in: [...CLOSED_STATUSES] } })
      .sort({ escrowId: 1 })
      .limit(limit)
      .hint(BY_ESCROW_ID)
      .lean();
  }

  /** A page of closed escrows from a random id on, which wraps around at the highest id. */
  async #closedPage({ after, pagesLeft }: Running, block: ComparedBlock): Promise<Page> {
    const start = `0x${randomBytes(ESCROW_ID_BYTES).toString("hex")}`;
    const found = await this.#closedFrom(start, PAGE_SIZE);
    if (found.length < PAGE_SIZE) found.push(...(await this.#closedFrom("0x", PAGE_SIZE - found.length)));
    const records = [...new Map(found.map((record) => [record._id, record])).values()];
    const comparisons = await this.#deps.sources.escrows(records, block);
    // A page that isn't full contains all closed escrows.
    if (pagesLeft <= 1 || records.length < PAGE_SIZE) return { comparisons };
    return { comparisons, next: { after, pagesLeft: pagesLeft - 1 } };
  }

  async #scoresPage({ after, pagesLeft }: Running, block: ComparedBlock): Promise<Page> {
    const { network, standings, sources } = this.#deps;
    // The ids of a network are `<network>:<wallet>`.
    const records = await standings
      .find({ _id: { $gt: `${network}:${after}`, $lt: `${network};` } })
      .sort({ _id: 1 })
      .limit(PAGE_SIZE)
      .lean();
    const comparisons = await sources.scores(records, block);
    const last = records.at(-1);
    if (last === undefined || records.length < PAGE_SIZE) return { comparisons };
    return { comparisons, next: { after: last.walletKey, pagesLeft } };
  }

  #page(running: Running, block: ComparedBlock): Promise<Page> {
    if (running.stage === "scores") return this.#scoresPage(running, block);
    return running.stage === "open" ? this.#openPage(running, block) : this.#closedPage(running, block);
  }

  /** Stores the comparison's progress; undefined if another process has continued it since. */
  async #write({ version, ...pass }: Pass, fields: Partial<PassProgress>): Promise<Pass | undefined> {
    const next = { ...pass, ...fields };
    return (await this.#deps.progress.write(next, version)) ? { ...next, version: version + 1 } : undefined;
  }

  async #load(): Promise<Pass> {
    const { value, version } = await this.#deps.progress.read();
    return { running: null, finished: null, ...value, version };
  }

  /** Continues or starts a comparison; undefined if none is due or another process has started it. */
  async #begin(pass: Pass): Promise<Pass | undefined> {
    if (pass.running !== null) return pass;
    const { now, timings } = this.#deps;
    const startedAt = now();
    const isDue =
      pass.finished === null || startedAt.getTime() - pass.finished.startedAt.getTime() >= timings.reconcileEveryMs;
    if (!isDue) return undefined;
    const running = { startedAt, stage: "open", after: "", pagesLeft: CLOSED_STRETCHES } as const;
    return this.#write(pass, { running: { ...running, escrows: 0, scores: 0, skipped: 0 } });
  }

  /** The fields to store after a page: the next position, or the end of the comparison. */
  #after(running: Running, { comparisons, next }: Page): Partial<PassProgress> {
    const counts = counted(running, comparisons);
    if (next !== undefined) return { running: { ...running, ...counts, ...next } };
    const stage = PASS_STAGES[PASS_STAGES.indexOf(running.stage) + 1];
    if (stage !== undefined) return { running: { ...running, ...counts, stage, after: "" } };
    return { running: null, finished: { ...counts, startedAt: running.startedAt, finishedAt: this.#deps.now() } };
  }
}

/** Adds the counts of a page. */
function counted({ escrows, scores, skipped }: PassCounts, comparisons: readonly Comparison[]): PassCounts {
  const compared = comparisons.filter(({ isSkipped }) => !isSkipped);
  const ofKind = (kind: Comparison["kind"]) => compared.filter((comparison) => comparison.kind === kind).length;
  return {
    escrows: escrows + ofKind("escrow"),
    scores: scores + ofKind("score"),
    skipped: skipped + comparisons.length - compared.length,
  };
}
