import type { Network } from "../../config/constants.ts";
import type { IndexedBlock, Indexer } from "../../indexer/indexer-client.ts";
import type { ReadEvent } from "../../indexer/schemas.ts";
import { repeat } from "../../jobs/background-loop.ts";
import type { RepeatedLoop } from "../../jobs/background-loop.ts";
import type { Lease } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import type { TransactionModel } from "../transactions/model.ts";
import type { Applied, Applier, CursorPosition } from "./applier.ts";
import { confirmedOf, isUnconfirmed, waitingMoves } from "./confirmations.ts";
import type { Confirmed } from "./confirmations.ts";
import { anchorOf, continuationOf, findFork } from "./continuity.ts";
import type { AppliedEventRecord, CursorRecord, FollowerModels, NewcomerRecord } from "./model.ts";
import { payloadSizes, portionsOf } from "./portions.ts";
import { CursorMovedError, isPoison, retryAfter, storedError } from "./quarantine.ts";

/** Events per read: graph-node's maximum. */
const PAGE_SIZE = 1_000;
const ORDINALS_PER_BLOCK = 1_000_000;
/** How long to wait for a shorter head to recover before checking the chain itself. */
const SHORTER_BRANCH_PATIENCE_MS = 60_000;
/** Minimum pause between writes of the cursor without news. Lists use the cursor to show how current they are. */
const IDLE_CURSOR_MS = 1_000;
/** Maximum number of quarantined escrows that one step tries again. */
const RELEASES_PER_LOOK = 5;
/** Pause after a newcomer couldn't be given its moves. */
const NEWCOMER_RETRY_MS = 60_000;
const LEADER_RETRY_MS = 500;
/** After a wake, the subgraph may need some seconds to index what has happened: it is read more often for a while. */
const WOKEN_POLL_MS = 250;
const WOKEN_FOR_MS = 15_000;
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
  /** Pause between reads of the subgraph, in milliseconds. */
  pollMs: number;
  /** How many blocks must follow a move's block before the move is applied and announced. */
  confirmations: number;
  /** Called after each page with what was applied. */
  onStep?: (step: FollowerStep) => Promise<void>;
}

/** The result of one page of the subgraph's events. */
export interface FollowerStep {
  head: IndexedBlock;
  /** Unix seconds up to which everything has been applied, unless `hasMore`; null if that isn't known. */
  appliedTime: number | null;
  applied: number;
  withdrawn: number;
  /** Wallets whose deals have settled or lost their settlement. */
  settledWallets: string[];
  /** True if there are more pages, so that not everything up to `head` has been applied. */
  hasMore: boolean;
}

/** Follows the events of one network into MongoDB, while this process has the lease. */
export interface Follower extends RepeatedLoop {
  /** Reads and applies everything new, page by page. For tests; returns the result of the last page. */
  step(): Promise<FollowerStep>;
}

const NO_POSITION: CursorPosition = { anchor: null, headNumber: 0, height: 0, epoch: 0, forkOrdinal: null };

/** A follower of one network; see docs/inside/architecture.md, "The two ways through". */
export function createFollower(options: FollowerOptions): Follower {
  const { network, indexer, models, applier, log } = options;
  let cursor: CursorRecord | undefined;
  let isCursorLoaded = false;
  /** Whether the previous step left pages to read. */
  let isCatchingUp = false;
  let shorterSince: number | undefined;
  let wokenUntil = 0;

  function forget(): void {
    isCursorLoaded = false;
  }

  /** The position of the cursor with some fields changed. */
  function position(fields: Partial<CursorPosition> = {}): CursorPosition {
    const { anchor, headNumber, height, epoch, forkOrdinal } = cursor ?? NO_POSITION;
    return { anchor, headNumber, height, epoch, forkOrdinal, ...fields };
  }

  function stepOf(
    head: IndexedBlock,
    hasMore: boolean,
    done: readonly Applied[] = [],
    appliedTime: number | null = null,
  ): FollowerStep {
    return {
      head,
      appliedTime,
      applied: done.reduce((sum, { freshCount }) => sum + freshCount, 0),
      withdrawn: done.reduce((sum, { withdrawnCount }) => sum + withdrawnCount, 0),
      settledWallets: [...new Set(done.flatMap(({ settledWallets }) => [...settledWallets]))],
      hasMore,
    };
  }

  /** Quarantines an escrow: its moves wait, and those of all others continue. */
  async function quarantine(escrowId: string, error: unknown, next: CursorPosition): Promise<void> {
    log.error({ err: error, network, escrowId }, "escrow quarantined: one of its moves can't be applied");
    cursor = await applier.quarantine({ cursor, next }, escrowId, error);
  }

  /**
   * Applies events in chain order. If one of them fails, it applies smaller and smaller parts until it finds that
   * event.
   */
  async function applyEvents(events: readonly ReadEvent[], end: CursorPosition): Promise<Applied[]> {
    try {
      const done = await applier.apply({ cursor, next: end }, events);
      cursor = done.cursor;
      return [done];
    } catch (error) {
      const [first] = events;
      if (first === undefined || !isPoison(error)) throw error;
      if (events.length === 1) {
        await quarantine(first.escrowId, error, end);
        return [];
      }
      const half = Math.ceil(events.length / 2);
      const earlier = await applyEvents(events.slice(0, half), afterEvent(events[half - 1] ?? first, end.height));
      return [...earlier, ...(await applyEvents(events.slice(half), end))];
    }
  }

  /** The position after an event whose block may have further events. */
  function afterEvent(event: ReadEvent, height: number): CursorPosition {
    const headNumber = Math.max(position().headNumber, event.blockNumber - 1);
    return position({ anchor: anchorOf(event), headNumber, height });
  }

  async function applyPage(events: readonly ReadEvent[], end: CursorPosition): Promise<Applied[]> {
    const sizes = await payloadSizes(options.transactions, network, events);
    const portions = portionsOf(events, (event) => sizes.weightOf(event));
    const done: Applied[] = [];
    for (const [index, portion] of portions.entries()) {
      const last = portion.at(-1);
      if (last === undefined) continue;
      done.push(...(await applyEvents(portion, index === portions.length - 1 ? end : afterEvent(last, end.height))));
    }
    return done;
  }

  /**
   * Goes back to the last applied move that is still on chain. The moves above it are missing until a page has them.
   */
  async function rewind(from: CursorRecord, head: IndexedBlock): Promise<void> {
    const fork = await findFork({ network, indexer, applied: models.applied }, from);
    const forkBlock = fork === null ? 0 : Math.floor(fork.ordinal / ORDINALS_PER_BLOCK);
    log.warn({ network, head: head.number, readTo: from.headNumber, forkBlock }, "chain reorganised");
    cursor = await applier.rewind({
      cursor,
      next: position({
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
  async function withdrawMissing(done: Applied[], confirmed: Confirmed): Promise<boolean> {
    const { forkOrdinal, epoch } = position();
    if (forkOrdinal === null) return true;
    const missing = await models.applied
      .find({ network, live: true, ordinal: { $gt: forkOrdinal }, epoch: { $lt: epoch } })
      .sort({ ordinal: -1 })
      .limit(PAGE_SIZE)
      .lean<AppliedEventRecord[]>();
    const minedAgain = waitingMoves(network, confirmed);
    const gone = missing.filter(({ _id }) => !minedAgain.has(_id));
    for (const portion of portionsOf(gone, () => 0)) done.push(...(await withdrawPart(portion)));
    if (gone.length > 0) log.warn({ network, withdrawn: gone.length }, "moves withdrawn");
    if (missing.length === PAGE_SIZE && gone.length > 0) return false;
    if (gone.length < missing.length) return true;
    cursor = await applier.pass({ cursor, next: position({ forkOrdinal: null }) });
    return true;
  }

  async function withdrawPart(missing: readonly AppliedEventRecord[]): Promise<Applied[]> {
    try {
      const done = await applier.withdraw({ cursor, next: position() }, missing);
      cursor = done.cursor;
      return [done];
    } catch (error) {
      const [first] = missing;
      if (first === undefined || !isPoison(error)) throw error;
      if (missing.length === 1) {
        await quarantine(first.escrowId, error, position());
        // Tried again, now without the move, which waits until the quarantine ends.
        return withdrawPart(missing);
      }
      const half = Math.ceil(missing.length / 2);
      return [...(await withdrawPart(missing.slice(0, half))), ...(await withdrawPart(missing.slice(half)))];
    }
  }

  /** Retries quarantined escrows. Everything up to the head must have been read. */
  async function releaseQuarantined(head: IndexedBlock, confirmed: Confirmed): Promise<Applied[]> {
    const now = options.now();
    const due = await models.quarantine
      .find({ network, retryAt: { $lte: now } })
      .sort({ retryAt: 1 })
      .limit(RELEASES_PER_LOOK)
      .lean();
    const done: Applied[] = [];
    for (const { _id, escrowId, attempts } of due) {
      try {
        const { block, escrows } = await indexer.escrows([escrowId], { minBlock: head.number });
        // A read at another head may include moves that haven't been read yet: the next step tries again.
        if (block.hash === null || block.hash !== head.hash) break;
        const escrow = escrows.get(escrowId);
        if (isUnconfirmed(escrow, confirmed)) continue;
        const released = await applier.release({ cursor, next: position() }, escrowId, escrow);
        cursor = released.cursor;
        done.push(released);
        log.info({ network, escrowId, attempts }, "escrow released from quarantine");
      } catch (error) {
        if (error instanceof CursorMovedError) throw error;
        log.warn({ err: error, network, escrowId, attempts: attempts + 1 }, "escrow stays in quarantine");
        await models.quarantine.updateOne(
          { _id },
          { $set: { error: storedError(error), attempts: attempts + 1, retryAt: retryAfter(attempts + 1, now) } },
        );
      }
    }
    return done;
  }

  /** Gives the next newcomer some of its moves; true if there may be more. */
  async function welcomeNext(): Promise<boolean> {
    const now = options.now();
    const newcomer = await models.newcomers
      .findOne({ network, dueAt: { $lte: now } })
      .sort({ dueAt: 1 })
      .lean<NewcomerRecord | null>();
    if (newcomer === null || cursor === undefined) return false;
    try {
      const welcomed = await applier.welcome({ cursor, next: position() }, newcomer);
      cursor = welcomed.cursor;
      return welcomed.hasMore;
    } catch (error) {
      if (!isPoison(error)) throw error;
      log.error({ err: error, network, agentId: newcomer.agentId }, "earlier moves of a new agent can't be announced");
      const dueAt = new Date(now.getTime() + NEWCOMER_RETRY_MS);
      await models.newcomers.updateOne({ _id: newcomer._id }, { $set: { dueAt } });
      return false;
    }
  }

  /** Distinguishes a shortened chain from a subgraph that indexes again, or another indexer at the same address. */
  async function isChainShorterThan(height: number): Promise<boolean> {
    const now = options.now().getTime();
    shorterSince ??= now;
    if (now - shorterSince <= SHORTER_BRANCH_PATIENCE_MS) return false;
    shorterSince = now;
    const chainHeight = await options.chainHeight();
    if (chainHeight < height) return true;
    log.warn({ network, chainHeight, appliedTo: height }, "the subgraph is behind what was applied");
    return false;
  }

  async function look(): Promise<FollowerStep> {
    if (!isCursorLoaded) {
      cursor = (await models.cursors.findOne({ _id: network }).lean<CursorRecord | null>()) ?? undefined;
      isCursorLoaded = true;
    }
    const { anchor, height } = position();
    const { block: head, events } = await indexer.eventsFrom(BigInt(anchor?.ordinal ?? 0), PAGE_SIZE);
    if (head.number < height && !(await isChainShorterThan(height))) return stepOf(head, false);
    shorterSince = undefined;

    const fresh = continuationOf(anchor, events);
    if (fresh === undefined) {
      if (cursor !== undefined) await rewind(cursor, head);
      return stepOf(head, true);
    }
    const confirmed = confirmedOf(fresh, head, options.confirmations);
    const last = confirmed.events.at(-1);
    const isFull = events.length === PAGE_SIZE;
    if (isFull && confirmed.waiting.length === 0 && last !== undefined) {
      const done = await applyPage(confirmed.events, afterEvent(last, head.number));
      isCatchingUp = true;
      return stepOf(head, true, done);
    }
    const end = position({
      anchor: last === undefined ? anchor : anchorOf(last),
      headNumber: confirmed.block,
      height: head.number,
    });
    const done = await applyPage(confirmed.events, end);
    if (confirmed.events.length === 0 && isCursorDue()) cursor = await applier.pass({ cursor, next: end });
    isCatchingUp = false;
    // A full page may lack moves of the new branch that wait behind it.
    const isWithdrawn = isFull || (await withdrawMissing(done, confirmed));
    if (!isWithdrawn) return stepOf(head, true, done);
    done.push(...(await releaseQuarantined(head, confirmed)));
    return stepOf(head, await welcomeNext(), done, confirmed.timestamp);
  }

  function isCursorDue(): boolean {
    if (cursor === undefined || isCatchingUp || cursor.forkOrdinal !== null) return true;
    return options.now().getTime() - cursor.updatedAt.getTime() >= IDLE_CURSOR_MS;
  }

  async function page(): Promise<FollowerStep> {
    try {
      const done = await look();
      await options.onStep?.(done);
      return done;
    } catch (error) {
      // After any error, the next step starts from the stored cursor.
      forget();
      throw error;
    }
  }

  const following = repeat({
    name: `chain-follower.follow-${network}`,
    async step() {
      if (!(await options.lease.acquire())) {
        forget();
        return LEADER_RETRY_MS;
      }
      try {
        const { hasMore } = await page();
        if (hasMore) return 0;
        return performance.now() < wokenUntil ? Math.min(WOKEN_POLL_MS, options.pollMs) : options.pollMs;
      } catch (error) {
        if (!(error instanceof CursorMovedError)) throw error;
        log.info({ err: error, network }, "another follower was faster");
        return Math.random() * LEADER_RETRY_MS;
      }
    },
    retry: FAILURE_PAUSE,
    failed: "follower step failed",
    // Another worker may have its own way to the subgraph.
    lease: options.lease,
    log: log.child({ network }),
  });

  return {
    name: following.name,
    run: (signal) => following.run(signal),
    wake() {
      wokenUntil = performance.now() + WOKEN_FOR_MS;
      following.wake();
    },
    async step() {
      let done = await page();
      while (done.hasMore) done = await page();
      return done;
    },
  };
}
