import type { Network } from "../../config/constants.ts";
import type { IndexedBlock, Indexer } from "../../indexer/indexer-client.ts";
import type { ReadEvent } from "../../indexer/schemas.ts";
import { repeat } from "../../jobs/background-loop.ts";
import type { RepeatedLoop } from "../../jobs/background-loop.ts";
import type { Lease } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import type { TransactionModel } from "../transactions/model.ts";
import type { Applied, Applier, CursorPosition } from "./applier.ts";
import { splitConfirmed, isUnconfirmed, waitingMoves } from "./confirmations.ts";
import type { Confirmed } from "./confirmations.ts";
import { anchorOf, findContinuation, findFork } from "./continuity.ts";
import type { AppliedEventRecord, CursorRecord, FollowerModels } from "./model.ts";
import { readPayloadSizes, toBatches } from "./batches.ts";
import { CursorMovedError, isPoison, retryAfter, storedError } from "./quarantine.ts";
import { toStep } from "./step.ts";
import type { FollowerStep } from "./step.ts";

/** Events per read: graph-node's maximum. */
const PAGE_SIZE = 1_000;
const ORDINALS_PER_BLOCK = 1_000_000;
/** How long to wait for a shorter head to recover before checking the chain itself. */
const SHORTER_BRANCH_PATIENCE_MS = 60_000;
/** Minimum pause between writes of the cursor without news. Lists use the cursor to show how current they are. */
const IDLE_CURSOR_MS = 2_000;
/** How often quarantined escrows and newcomers are looked for while nothing happens and nobody asks for it. */
const UPKEEP_EVERY_MS = 5_000;
/** Maximum number of quarantined escrows that one step tries again. */
const RELEASES_PER_LOOK = 5;
/** Pause after a newcomer couldn't be given its moves. */
const NEWCOMER_RETRY_MS = 60_000;
const LEADER_RETRY_MS = 500;
/**
 * After a move, the next one is often near; after a wake, the subgraph may need some seconds to index what has happened. For a
 * while, it is read at least this often.
 */
const BUSY_POLL_MS = 250;
const BUSY_FOR_MS = 15_000;
/** Later it is read this many times less often, but once a second unless `pollMs` is longer. */
const IDLE_FACTOR = 10;
const IDLE_POLL_MS = 1_000;
const FAILURE_PAUSE = { minMs: 250, maxMs: 5_000 };

/** Settings and dependencies of a network's follower. */
export interface FollowerOptions {
  network: Network;
  indexer: Indexer;
  /** The chain's height according to its node: distinguishes a subgraph that is behind from a shortened chain. */
  chainHeight: () => Promise<number>;
  transactions: TransactionModel;
  models: FollowerModels;
  applier: Applier;
  lease: Lease;
  log: Logger;
  now: () => Date;
  /** Pause between reads of the subgraph while moves come, in milliseconds. */
  pollMs: number;
  /** How many blocks must follow a move's block before the move is applied and announced. */
  confirmations: number;
  /** Called after each page with what was applied. */
  onStep?: (step: FollowerStep) => Promise<void>;
}

const NO_POSITION: CursorPosition = { anchor: null, headNumber: 0, height: 0, epoch: 0, forkOrdinal: null };

/** A follower of one network; see docs/inside/architecture.md, "The two ways through". */
export class Follower implements RepeatedLoop {
  readonly #deps: FollowerOptions;
  #cursor: CursorRecord | undefined;
  #isCursorLoaded = false;
  /** Whether the previous step left pages to read. */
  #isCatchingUp = false;
  #shorterSince: number | undefined;
  #busyUntil = 0;
  #upkeepAt = 0;
  readonly #following: RepeatedLoop;
  readonly name: string;

  constructor(deps: FollowerOptions) {
    this.#deps = deps;
    this.#following = repeat({
      name: `chain-follower.follow-${deps.network}`,
      step: () => this.#follow(),
      retry: FAILURE_PAUSE,
      failed: "follower step failed",
      // Another worker may have its own way to the subgraph.
      lease: deps.lease,
      log: deps.log.child({ network: deps.network }),
    });
    this.name = this.#following.name;
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#following.run(signal);
  }

  /** Ends the current pause and shortens the next ones, because something is known to have happened. */
  wake(): void {
    this.#busyUntil = performance.now() + BUSY_FOR_MS;
    this.#following.wake();
  }

  /** Looks for quarantined escrows and newcomers now. */
  wakeForUpkeep(): void {
    this.#upkeepAt = 0;
    this.#following.wake();
  }

  /** Reads and applies everything new, page by page. For tests; returns the result of the last page. */
  async step(): Promise<FollowerStep> {
    let done = await this.#page();
    while (done.hasMore) done = await this.#page();
    return done;
  }

  /** One page, if this process has the lease. @returns the pause after it, in milliseconds */
  async #follow(): Promise<number> {
    const { lease, log, network, pollMs } = this.#deps;
    if (!(await lease.acquire())) {
      this.#isCursorLoaded = false;
      return LEADER_RETRY_MS;
    }
    try {
      const { hasMore, applied, withdrawn } = await this.#page(performance.now() >= this.#upkeepAt);
      if (applied + withdrawn > 0) this.#busyUntil = performance.now() + BUSY_FOR_MS;
      if (hasMore) return 0;
      if (performance.now() < this.#busyUntil) return Math.min(BUSY_POLL_MS, pollMs);
      return Math.max(pollMs, Math.min(IDLE_POLL_MS, IDLE_FACTOR * pollMs));
    } catch (error) {
      if (!(error instanceof CursorMovedError)) throw error;
      log.info({ err: error, network }, "another follower was faster");
      return Math.random() * LEADER_RETRY_MS;
    }
  }

  /** The position of the cursor with some fields changed. */
  #position(fields: Partial<CursorPosition> = {}): CursorPosition {
    const { anchor, headNumber, height, epoch, forkOrdinal } = this.#cursor ?? NO_POSITION;
    return { anchor, headNumber, height, epoch, forkOrdinal, ...fields };
  }

  /** Quarantines an escrow: its moves wait, and those of all others continue. */
  async #quarantine(escrowId: string, error: unknown, next: CursorPosition): Promise<void> {
    this.#deps.log.error(
      { err: error, network: this.#deps.network, escrowId },
      "escrow quarantined: one of its moves can't be applied",
    );
    this.#cursor = await this.#deps.applier.quarantine({ cursor: this.#cursor, next }, escrowId, error);
  }

  /**
   * Applies events in chain order. If one of them fails, it applies smaller and smaller parts until it finds that
   * event.
   */
  async #applyEvents(events: readonly ReadEvent[], end: CursorPosition): Promise<Applied[]> {
    try {
      const done = await this.#deps.applier.apply({ cursor: this.#cursor, next: end }, events);
      this.#cursor = done.cursor;
      return [done];
    } catch (error) {
      const [first] = events;
      if (first === undefined || !isPoison(error)) throw error;
      if (events.length === 1) {
        await this.#quarantine(first.escrowId, error, end);
        return [];
      }
      const half = Math.ceil(events.length / 2);
      const earlier = await this.#applyEvents(
        events.slice(0, half),
        this.#afterEvent(events[half - 1] ?? first, end.height),
      );
      return [...earlier, ...(await this.#applyEvents(events.slice(half), end))];
    }
  }

  /** The position after an event whose block may have further events. */
  #afterEvent(event: ReadEvent, height: number): CursorPosition {
    const headNumber = Math.max(this.#position().headNumber, event.blockNumber - 1);
    return this.#position({ anchor: anchorOf(event), headNumber, height });
  }

  async #applyPage(events: readonly ReadEvent[], end: CursorPosition): Promise<Applied[]> {
    const sizes = await readPayloadSizes(this.#deps.transactions, this.#deps.network, events);
    const batches = toBatches(events, (event) => sizes.weightOf(event));
    const done: Applied[] = [];
    for (const [index, batch] of batches.entries()) {
      const last = batch.at(-1);
      if (last === undefined) continue;
      done.push(
        ...(await this.#applyEvents(batch, index === batches.length - 1 ? end : this.#afterEvent(last, end.height))),
      );
    }
    return done;
  }

  /**
   * Goes back to the last applied move that is still on chain. The moves above it are missing until a page has them.
   */
  async #rewind(from: CursorRecord, head: IndexedBlock): Promise<void> {
    const fork = await findFork(
      { network: this.#deps.network, indexer: this.#deps.indexer, applied: this.#deps.models.applied },
      from,
    );
    const forkBlock = fork === null ? 0 : Math.floor(fork.ordinal / ORDINALS_PER_BLOCK);
    this.#deps.log.warn(
      { network: this.#deps.network, head: head.number, readTo: from.headNumber, forkBlock },
      "chain reorganised",
    );
    this.#cursor = await this.#deps.applier.rewind({
      cursor: this.#cursor,
      next: this.#position({
        anchor: fork,
        headNumber: Math.min(from.headNumber, forkBlock),
        height: head.number,
        epoch: from.epoch + 1,
        forkOrdinal: fork?.ordinal ?? -1,
      }),
    });
  }

  /**
   * Withdraws the moves that a fully read new branch lacks; false if more are missing than fit in one step. Moves that
   * were mined again and wait for confirmations are compared once they have them.
   */
  async #withdrawMissing(done: Applied[], confirmed: Confirmed): Promise<boolean> {
    const { forkOrdinal, epoch } = this.#position();
    if (forkOrdinal === null) return true;
    const missing = await this.#deps.models.applied
      .find({ network: this.#deps.network, live: true, ordinal: { $gt: forkOrdinal }, epoch: { $lt: epoch } })
      .sort({ ordinal: -1 })
      .limit(PAGE_SIZE)
      .lean();
    const minedAgain = waitingMoves(this.#deps.network, confirmed);
    const gone = missing.filter(({ _id }) => !minedAgain.has(_id));
    for (const batch of toBatches(gone, () => 0)) done.push(...(await this.#withdrawPart(batch)));
    if (gone.length > 0)
      this.#deps.log.warn({ network: this.#deps.network, withdrawn: gone.length }, "moves withdrawn");
    if (missing.length === PAGE_SIZE && gone.length > 0) return false;
    if (gone.length < missing.length) return true;
    this.#cursor = await this.#deps.applier.pass({ cursor: this.#cursor, next: this.#position({ forkOrdinal: null }) });
    return true;
  }

  async #withdrawPart(missing: readonly AppliedEventRecord[]): Promise<Applied[]> {
    try {
      const done = await this.#deps.applier.withdraw({ cursor: this.#cursor, next: this.#position() }, missing);
      this.#cursor = done.cursor;
      return [done];
    } catch (error) {
      const [first] = missing;
      if (first === undefined || !isPoison(error)) throw error;
      if (missing.length === 1) {
        await this.#quarantine(first.escrowId, error, this.#position());
        // Tried again, now without the move, which waits until the quarantine ends.
        return this.#withdrawPart(missing);
      }
      const half = Math.ceil(missing.length / 2);
      return [
        ...(await this.#withdrawPart(missing.slice(0, half))),
        ...(await this.#withdrawPart(missing.slice(half))),
      ];
    }
  }

  /** Retries quarantined escrows. Everything up to the head must have been read. */
  async #releaseQuarantined(head: IndexedBlock, confirmed: Confirmed): Promise<Applied[]> {
    const now = this.#deps.now();
    const due = await this.#deps.models.quarantine
      .find({ network: this.#deps.network, retryAt: { $lte: now } })
      .sort({ retryAt: 1 })
      .limit(RELEASES_PER_LOOK)
      .lean();
    const done: Applied[] = [];
    for (const { _id, escrowId, attempts } of due) {
      try {
        const { block, escrows } = await this.#deps.indexer.escrows([escrowId], { minBlock: head.number });
        // A read at another head may include moves that haven't been read yet: the next step tries again.
        if (block.hash === null || block.hash !== head.hash) break;
        const escrow = escrows.get(escrowId);
        if (isUnconfirmed(escrow, confirmed)) continue;
        const released = await this.#deps.applier.release(
          { cursor: this.#cursor, next: this.#position() },
          escrowId,
          escrow,
        );
        this.#cursor = released.cursor;
        done.push(released);
        this.#deps.log.info({ network: this.#deps.network, escrowId, attempts }, "escrow released from quarantine");
      } catch (error) {
        if (error instanceof CursorMovedError) throw error;
        this.#deps.log.warn(
          { err: error, network: this.#deps.network, escrowId, attempts: attempts + 1 },
          "escrow stays in quarantine",
        );
        await this.#deps.models.quarantine.updateOne(
          { _id },
          { $set: { error: storedError(error), attempts: attempts + 1, retryAt: retryAfter(attempts + 1, now) } },
        );
      }
    }
    return done;
  }

  /** Gives the next newcomer some of its moves; true if there may be more. */
  async #adoptNext(): Promise<boolean> {
    const now = this.#deps.now();
    const newcomer = await this.#deps.models.newcomers
      .findOne({ network: this.#deps.network, dueAt: { $lte: now } })
      .sort({ dueAt: 1 })
      .lean();
    if (newcomer === null || this.#cursor === undefined) return false;
    try {
      const adopted = await this.#deps.applier.adopt({ cursor: this.#cursor, next: this.#position() }, newcomer);
      this.#cursor = adopted.cursor;
      return adopted.hasMore;
    } catch (error) {
      if (!isPoison(error)) throw error;
      this.#deps.log.error(
        { err: error, network: this.#deps.network, agentId: newcomer.agentId },
        "earlier moves of a new agent can't be announced",
      );
      const dueAt = new Date(now.getTime() + NEWCOMER_RETRY_MS);
      await this.#deps.models.newcomers.updateOne({ _id: newcomer._id }, { $set: { dueAt } });
      return false;
    }
  }

  /** Distinguishes a shortened chain from a subgraph that indexes again, or another indexer at the same address. */
  async #isChainShorterThan(height: number): Promise<boolean> {
    const now = this.#deps.now().getTime();
    this.#shorterSince ??= now;
    if (now - this.#shorterSince <= SHORTER_BRANCH_PATIENCE_MS) return false;
    this.#shorterSince = now;
    const chainHeight = await this.#deps.chainHeight();
    if (chainHeight < height) return true;
    this.#deps.log.warn(
      { network: this.#deps.network, chainHeight, appliedTo: height },
      "the subgraph is behind what was applied",
    );
    return false;
  }

  /** @param withUpkeep whether to look for quarantined escrows and newcomers, also if nothing was applied */
  async #look(withUpkeep: boolean): Promise<FollowerStep> {
    if (!this.#isCursorLoaded) {
      this.#cursor = (await this.#deps.models.cursors.findOne({ _id: this.#deps.network }).lean()) ?? undefined;
      this.#isCursorLoaded = true;
    }
    const { anchor, height } = this.#position();
    const { block: head, events } = await this.#deps.indexer.eventsFrom(BigInt(anchor?.ordinal ?? 0), PAGE_SIZE);
    if (head.number < height && !(await this.#isChainShorterThan(height))) return toStep(head, false);
    this.#shorterSince = undefined;

    const fresh = findContinuation(anchor, events);
    if (fresh === undefined) {
      if (this.#cursor !== undefined) await this.#rewind(this.#cursor, head);
      return toStep(head, true);
    }
    const confirmed = splitConfirmed(fresh, head, this.#deps.confirmations);
    const last = confirmed.events.at(-1);
    const isFull = events.length === PAGE_SIZE;
    if (isFull && confirmed.waiting.length === 0 && last !== undefined) {
      const done = await this.#applyPage(confirmed.events, this.#afterEvent(last, head.number));
      this.#isCatchingUp = true;
      return toStep(head, true, done);
    }
    const end = this.#position({
      anchor: last === undefined ? anchor : anchorOf(last),
      headNumber: confirmed.block,
      height: head.number,
    });
    const done = await this.#applyPage(confirmed.events, end);
    if (confirmed.events.length === 0 && this.#isCursorDue())
      this.#cursor = await this.#deps.applier.pass({ cursor: this.#cursor, next: end });
    this.#isCatchingUp = false;
    // A full page may lack moves of the new branch that wait behind it.
    const isWithdrawn = isFull || (await this.#withdrawMissing(done, confirmed));
    if (!isWithdrawn) return toStep(head, true, done);
    if (!withUpkeep && done.length === 0) return toStep(head, false, done, confirmed.timestamp);
    done.push(...(await this.#releaseQuarantined(head, confirmed)));
    const hasMore = await this.#adoptNext();
    this.#upkeepAt = hasMore ? 0 : performance.now() + UPKEEP_EVERY_MS;
    return toStep(head, hasMore, done, confirmed.timestamp);
  }

  #isCursorDue(): boolean {
    if (this.#cursor === undefined || this.#isCatchingUp || this.#cursor.forkOrdinal !== null) return true;
    return this.#deps.now().getTime() - this.#cursor.updatedAt.getTime() >= IDLE_CURSOR_MS;
  }

  async #page(withUpkeep = true): Promise<FollowerStep> {
    try {
      const done = await this.#look(withUpkeep);
      await this.#deps.onStep?.(done);
      return done;
    } catch (error) {
      // After any error, the next step starts from the stored cursor.
      this.#isCursorLoaded = false;
      throw error;
    }
  }
}
