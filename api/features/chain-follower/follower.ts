import { setTimeout as sleep } from "node:timers/promises";

import type { Network } from "../../config/constants.ts";
import { isDuplicateKey } from "../../db/connection.ts";
import type { IndexedBlock, Indexer } from "../../indexer/indexer-client.ts";
import type { IndexedEscrow, IndexedEventWithEscrow } from "../../indexer/schemas.ts";
import type { Logger } from "../../lib/logger.ts";
import { CursorMovedError } from "./applier.ts";
import type { Batch, createApplier } from "./applier.ts";
import type { Lease } from "../../jobs/lease.ts";
import type { AppliedEventRecord, CursorRecord, FollowerModels } from "./model.ts";
import { moveKey, reconcile } from "./reconcile.ts";

/** Events of a block are numbered from `block * this` on (subgraph/schema.graphql). */
const ORDINALS_PER_BLOCK = 1_000_000n;
/** Events read at once: what graph-node gives at most. */
const PAGE_SIZE = 1_000;
/** Moves written in one database transaction, and escrows asked for at once. */
const BATCH_SIZE = 100;
/** A head below the last one is waited out this long before the chain itself is asked whether it has become shorter. */
const SHORTER_BRANCH_PATIENCE_MS = 60_000;
/** The cursor is written without news at most this often: lists say with it how fresh they are. */
const IDLE_CURSOR_MS = 1_000;
const LEADER_RETRY_MS = 500;
const FAILURE_BASE_MS = 250;
const FAILURE_MAX_MS = 5_000;

/** Settings and collaborators of the follower of one network. */
export interface FollowerOptions {
  network: Network;
  indexer: Indexer;
  /** Height of the chain by its own node: a subgraph that is behind is told from a chain that has become shorter. */
  chainHeight: () => Promise<number>;
  models: FollowerModels;
  applier: ReturnType<typeof createApplier>;
  lease: Lease;
  log: Logger;
  now: () => Date;
  /** Pause between two looks at the subgraph. */
  pollMs: number;
  /** Blocks that are read again when the chain's head does not continue the last one seen. */
  overlapBlocks: number;
  /** Called after each page with what was applied. */
  onStep?: (step: FollowerStep) => Promise<void>;
}

/** What one page of the subgraph's events brought. */
export interface FollowerStep {
  head: IndexedBlock;
  applied: number;
  withdrawn: number;
  /** Wallets whose deals have settled or lost their settlement. */
  settledWallets: string[];
  /** True while further pages wait: what the chain has up to `head` is not all applied. */
  hasMore: boolean;
}

/** Follows the events of one network into MongoDB. One leader at a time; see `run`. */
export interface Follower {
  /** Reads what is new and applies it, page by page to the end. For tests; gives what the last page brought. */
  step(): Promise<FollowerStep>;
  /** Looks again and again, while this process has the lease, until the signal. Errors are logged and waited out. */
  run(signal: AbortSignal): Promise<void>;
  /** Ends the present pause: something is known to have happened. */
  wake(): void;
}

const SETTLING = new Set(["EscrowReleased", "EscrowRefunded", "EscrowAbandoned", "EscrowResolved"]);

const ordinalAfter = (head: IndexedBlock): bigint => BigInt(head.number + 1) * ORDINALS_PER_BLOCK;

/** A reading of the overlap and of everything after it, between two of its pages. */
interface Pass {
  /** Where the next page begins. */
  nextOrdinal: bigint;
  /** First block whose applied moves have not been compared with the chain. */
  nextBlock: number;
  /** Head at the first page: what lies above it was read at another one. */
  startHead: IndexedBlock;
}

type Work = Pick<Batch, "fresh" | "moved" | "withdrawn" | "escrowsNow">;

/** Work in portions that one database transaction each can hold; at least one, so that the cursor moves. */
function portionsOf({ withdrawn, moved, fresh, escrowsNow }: Work): Work[] {
  const none: Work = { withdrawn: [], moved: [], fresh: [], escrowsNow };
  const portions = [
    ...chunksOf(withdrawn).map((part) => ({ ...none, withdrawn: part })),
    ...chunksOf(moved).map((part) => ({ ...none, moved: part })),
    ...chunksOf(fresh).map((part) => ({ ...none, fresh: part })),
  ];
  return portions.length === 0 ? [none] : portions;
}

function chunksOf<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / BATCH_SIZE) }, (_, index) =>
    items.slice(index * BATCH_SIZE, (index + 1) * BATCH_SIZE),
  );
}

/** Wallets whose deals have settled. */
function settledNow(fresh: Batch["fresh"]): string[] {
  return fresh.filter(({ event }) => SETTLING.has(event.type)).flatMap(({ event }) => [event.buyer, event.seller]);
}

/** Wallets whose settlements were withdrawn while the escrow itself stayed. */
function unsettledNow({ withdrawn, escrowsNow }: Pick<Batch, "withdrawn" | "escrowsNow">): string[] {
  return withdrawn
    .filter((record) => SETTLING.has(record.type))
    .flatMap((record) => escrowsNow.get(record.escrowId) ?? [])
    .flatMap((escrow) => [escrow.buyer, escrow.seller]);
}

/** A follower of one network; see design.md, "The two ways through the house". */
export function createFollower(options: FollowerOptions): Follower {
  const { network, indexer, models, applier, log } = options;
  /** The head after the last complete look; its hash tells whether the next head continues it. */
  let lastHead: IndexedBlock | undefined;
  let cursor: CursorRecord | undefined;
  let isCursorLoaded = false;
  let pass: Pass | undefined;
  let shorterSince: number | undefined;
  let wakeUp = new AbortController();

  async function loadCursor(): Promise<void> {
    cursor = (await models.cursors.findOne({ _id: network }).lean()) ?? undefined;
    isCursorLoaded = true;
  }

  function forget(): void {
    isCursorLoaded = false;
    lastHead = undefined;
    pass = undefined;
  }

  /** Applies a page in portions. The cursor passes the page with the last one: killed before, it is read again. */
  async function apply(work: Work, end: Batch["next"]): Promise<void> {
    const portions = portionsOf(work);
    for (const [index, portion] of portions.entries()) {
      const isLast = index === portions.length - 1;
      const { nextOrdinal, headNumber } = isLast ? end : (cursor ?? { nextOrdinal: "0", headNumber: 0 });
      const next = { nextOrdinal, headNumber };
      await applier.apply({ ...portion, cursor, next });
      const version = cursor === undefined ? 0 : cursor.version + 1;
      cursor = { _id: network, ...next, version, updatedAt: options.now() };
    }
  }

  const stepOf = (head: IndexedBlock, work: Work, hasMore: boolean): FollowerStep => ({
    head,
    applied: work.fresh.length,
    withdrawn: work.withdrawn.length,
    settledWallets: [...new Set([...settledNow(work.fresh), ...unsettledNow(work)])],
    hasMore,
  });

  /** Compares a page with what was applied, and with the moves of these escrows that were withdrawn before. */
  async function compare(events: IndexedEventWithEscrow[], blocks?: { from: number; to: number }) {
    const keys = events.map((event) => `${network}:${moveKey(event)}`);
    const [known, inBlocks] = await Promise.all([
      models.applied.find({ _id: { $in: keys } }).lean(),
      blocks === undefined
        ? []
        : // Nothing is applied above the cursor: these are the moves of the overlap at most, however many pages follow.
          models.applied
            .find({ network, live: true, blockNumber: { $gte: blocks.from, $lte: blocks.to } })
            .lean<AppliedEventRecord[]>(),
    ]);
    return reconcile(events, known, inBlocks);
  }

  /**
   * Which of the moves that a page lacks are no longer on chain, with their escrows as they are now. A move may be missing
   * because it was mined again further up: its escrow still has it then, and a later page brings it.
   */
  async function withdrawnOf(missing: AppliedEventRecord[], head: IndexedBlock) {
    const withdrawn: AppliedEventRecord[] = [];
    const escrowsNow = new Map<string, IndexedEscrow>();
    for (const part of chunksOf(missing)) {
      const ids = [...new Set(part.map(({ escrowId }) => escrowId))];
      const { escrows } = await indexer.escrows(ids, { minBlock: head.number });
      for (const [id, escrow] of escrows) escrowsNow.set(id, escrow);
      withdrawn.push(
        ...part.filter(({ escrowId, type }) => !escrows.get(escrowId)?.events.some((event) => event.type === type)),
      );
    }
    if (withdrawn.length > 0) log.warn({ network, withdrawn: withdrawn.map(({ _id }) => _id) }, "chain reorganised");
    return { withdrawn, escrowsNow };
  }

  /** The head continues the last one: only what is new was read, and nothing can have been withdrawn. */
  async function advance(head: IndexedBlock, events: IndexedEventWithEscrow[]): Promise<FollowerStep> {
    const { fresh, moved } = events.length === 0 ? { fresh: [], moved: [] } : await compare(events);
    const work = { fresh, moved, withdrawn: [], escrowsNow: new Map<string, IndexedEscrow>() };
    const cursorAgeMs = cursor === undefined ? Infinity : options.now().getTime() - cursor.updatedAt.getTime();
    if (events.length > 0 || cursorAgeMs >= IDLE_CURSOR_MS) {
      await apply(work, { nextOrdinal: ordinalAfter(head).toString(), headNumber: head.number });
    }
    lastHead = head;
    return stepOf(head, work, false);
  }

  /**
   * The head does not continue the last one (a start, a gap, another branch): the overlap is read again and compared
   * with what was applied, so that a block that was mined anew is noticed; then all that follows it. One page at a time,
   * each applied before the next is read, so that a database however far behind catches up with bounded memory.
   */
  async function readPage(): Promise<FollowerStep> {
    const firstBlock = cursor === undefined ? 0 : Math.max(0, cursor.headNumber - options.overlapBlocks);
    const start = pass ?? { nextOrdinal: BigInt(firstBlock) * ORDINALS_PER_BLOCK, nextBlock: firstBlock };
    const { block: head, events } = await indexer.eventsFrom(start.nextOrdinal, PAGE_SIZE);
    const startHead = pass?.startHead ?? head;
    // A branch that is still shorter, or a subgraph that is behind: what is missing may come in the next blocks.
    const height = pass?.startHead.number ?? cursor?.headNumber ?? 0;
    if (head.number < height && !(await isChainShorterThan(height))) {
      if (pass !== undefined) forget();
      return stepOf(head, { fresh: [], moved: [], withdrawn: [], escrowsNow: new Map() }, false);
    }
    shorterSince = undefined;
    lastHead = undefined;

    const next = events.length === PAGE_SIZE ? events.at(-1) : undefined;
    // The page's last block may go on in the next page, which compares it.
    const lastBlock = next === undefined ? Number.MAX_SAFE_INTEGER : next.blockNumber - 1;
    const { fresh, moved, missing } = await compare(events, { from: start.nextBlock, to: lastBlock });
    const work = { fresh, moved, ...(await withdrawnOf(missing, head)) };
    if (next !== undefined) {
      const nextOrdinal = next.ordinal + 1n;
      // Never past the head of the first page: a chain that is reorganised between two pages is read again from there.
      const headNumber = Math.max(cursor?.headNumber ?? 0, Math.min(lastBlock, startHead.number));
      await apply(work, { nextOrdinal: nextOrdinal.toString(), headNumber });
      pass = { nextOrdinal, nextBlock: next.blockNumber, startHead };
      return stepOf(head, work, true);
    }
    // Pages of two heads together are no picture of one chain: the next look compares them once more.
    const isSteady = pass === undefined || (head.hash !== null && head.hash === startHead.hash);
    const headNumber = isSteady ? head.number : Math.min(head.number, startHead.number);
    await apply(work, { nextOrdinal: ordinalAfter(head).toString(), headNumber });
    pass = undefined;
    lastHead = isSteady ? head : undefined;
    return stepOf(head, work, false);
  }

  /** A subgraph that indexes anew, or another indexer behind the same address, takes nothing back from the chain. */
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
    if (!isCursorLoaded) await loadCursor();
    if (pass !== undefined || cursor === undefined || lastHead === undefined) return readPage();
    const { block, events } = await indexer.eventsFrom(BigInt(cursor.nextOrdinal), PAGE_SIZE);
    const isSame = block.hash !== null && block.hash === lastHead.hash;
    const isNext = block.parentHash !== null && block.parentHash === lastHead.hash;
    return (isSame || isNext) && events.length < PAGE_SIZE ? advance(block, events) : readPage();
  }

  async function page(): Promise<FollowerStep> {
    try {
      const done = await look();
      await options.onStep?.(done);
      return done;
    } catch (error) {
      // Whatever went wrong, the next look begins with the cursor as it is stored.
      forget();
      throw error;
    }
  }

  async function pause(ms: number, signal: AbortSignal): Promise<void> {
    wakeUp = new AbortController();
    try {
      await sleep(ms, undefined, { signal: AbortSignal.any([signal, wakeUp.signal]) });
    } catch {
      // Woken early.
    }
  }

  return {
    async step() {
      let done = await page();
      while (done.hasMore) done = await page();
      return done;
    },
    wake() {
      wakeUp.abort();
    },
    async run(signal) {
      let failures = 0;
      while (!signal.aborted) {
        try {
          if (!(await options.lease.acquire())) {
            forget();
            await pause(LEADER_RETRY_MS, signal);
            continue;
          }
          const { hasMore } = await page();
          failures = 0;
          if (!hasMore) await pause(options.pollMs, signal);
        } catch (error) {
          failures += 1;
          const isRace = error instanceof CursorMovedError || isDuplicateKey(error);
          log[isRace ? "info" : "error"](
            { err: error, network },
            isRace ? "another follower was faster" : "follower step failed",
          );
          const bound = Math.min(FAILURE_MAX_MS, FAILURE_BASE_MS * 2 ** Math.min(failures, 8));
          await pause(Math.random() * bound, signal);
        }
      }
      await options.lease.release().catch((error: unknown) => {
        log.warn({ err: error, network }, "lease not released");
      });
    },
  };
}
