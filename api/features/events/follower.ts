import { setTimeout as sleep } from "node:timers/promises";

import type { Network } from "../../config/constants.ts";
import { isDuplicateKey } from "../../db/connection.ts";
import type { IndexedBlock, Indexer } from "../../indexer/indexer-client.ts";
import type { IndexedEscrow, IndexedEventWithEscrow } from "../../indexer/schemas.ts";
import type { Logger } from "../../lib/logger.ts";
import { CursorMovedError } from "./applier.ts";
import type { Batch, createApplier } from "./applier.ts";
import type { Lease } from "./lease.ts";
import type { CursorRecord, EventModels } from "./model.ts";
import { moveKey, reconcile } from "./reconcile.ts";

/** Events of a block are numbered from `block * this` on (subgraph/schema.graphql). */
const ORDINALS_PER_BLOCK = 1_000_000n;
/** Events read at once: what graph-node gives at most. */
const PAGE_SIZE = 1_000;
/** Moves written in one database transaction. */
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
  models: Pick<EventModels, "applied" | "cursors">;
  applier: ReturnType<typeof createApplier>;
  lease: Lease;
  log: Logger;
  now: () => Date;
  /** Pause between two looks at the subgraph. */
  pollMs: number;
  /** Blocks that are read again when the chain's head does not continue the last one seen. */
  overlapBlocks: number;
  /** Called after each look with what was applied. */
  onStep?: (step: FollowerStep) => Promise<void>;
}

/** What one look at the subgraph brought. */
export interface FollowerStep {
  head: IndexedBlock;
  applied: number;
  withdrawn: number;
  /** Wallets whose deals have settled or lost their settlement. */
  settledWallets: string[];
}

/** Follows the events of one network into MongoDB. One leader at a time; see `run`. */
export interface Follower {
  /** One look: reads what is new and applies it. For the leader, and for tests. */
  step(): Promise<FollowerStep>;
  /** Looks again and again, while this process has the lease, until the signal. Errors are logged and waited out. */
  run(signal: AbortSignal): Promise<void>;
  /** Ends the present pause: something is known to have happened. */
  wake(): void;
}

const SETTLING = new Set(["EscrowReleased", "EscrowRefunded", "EscrowAbandoned", "EscrowResolved"]);

const ordinalAfter = (head: IndexedBlock): bigint => BigInt(head.number + 1) * ORDINALS_PER_BLOCK;

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
  let shorterSince: number | undefined;
  let wakeUp = new AbortController();

  async function loadCursor(): Promise<void> {
    cursor = (await models.cursors.findOne({ _id: network }).lean()) ?? undefined;
    isCursorLoaded = true;
  }

  function forget(): void {
    isCursorLoaded = false;
    lastHead = undefined;
  }

  /** Applies a batch in portions; the cursor passes each with its last event, and the head with the last portion. */
  async function apply(
    work: Pick<Batch, "fresh" | "moved" | "withdrawn" | "escrowsNow">,
    head: IndexedBlock,
    nextOrdinal: bigint,
  ): Promise<void> {
    const headTimestamp = head.timestamp ?? cursor?.headTimestamp ?? 0;
    const portions = Math.max(1, Math.ceil(work.fresh.length / BATCH_SIZE));
    for (let portion = 0; portion < portions; portion += 1) {
      const isFirst = portion === 0;
      const isLast = portion === portions - 1;
      const fresh = work.fresh.slice(portion * BATCH_SIZE, (portion + 1) * BATCH_SIZE);
      const lastEvent = fresh.at(-1);
      const next = isLast
        ? { nextOrdinal: nextOrdinal.toString(), headNumber: head.number, headTimestamp }
        : {
            nextOrdinal: ((lastEvent?.event.ordinal ?? 0n) + 1n).toString(),
            headNumber: lastEvent?.event.blockNumber ?? 0,
            headTimestamp: lastEvent?.event.timestamp ?? 0,
          };
      await applier.apply({
        fresh,
        moved: isFirst ? work.moved : [],
        withdrawn: isFirst ? work.withdrawn : [],
        escrowsNow: work.escrowsNow,
        cursor,
        next,
      });
      cursor = {
        _id: network,
        ...next,
        version: cursor === undefined ? 0 : cursor.version + 1,
        updatedAt: options.now(),
      };
    }
  }

  const stepOf = (head: IndexedBlock, work: Pick<Batch, "fresh" | "withdrawn" | "escrowsNow">): FollowerStep => ({
    head,
    applied: work.fresh.length,
    withdrawn: work.withdrawn.length,
    settledWallets: [...new Set([...settledNow(work.fresh), ...unsettledNow(work)])],
  });

  /** Compares with what was applied and with the moves of these escrows that were withdrawn before. */
  async function compare(events: IndexedEventWithEscrow[], windowStart: number) {
    const keys = events.map((event) => `${network}:${moveKey(event)}`);
    const inWindow = Number.isFinite(windowStart) ? [{ network, live: true, blockNumber: { $gte: windowStart } }] : [];
    const known = await models.applied.find({ $or: [{ _id: { $in: keys } }, ...inWindow] }).lean();
    return reconcile(events, known, windowStart);
  }

  /** The head continues the last one: only what is new was read, and nothing can have been withdrawn. */
  async function advance(head: IndexedBlock, events: IndexedEventWithEscrow[]): Promise<FollowerStep> {
    const found =
      events.length === 0 ? { fresh: [], moved: [], withdrawn: [] } : await compare(events, Number.POSITIVE_INFINITY);
    const work = { ...found, escrowsNow: new Map<string, IndexedEscrow>() };
    const cursorAgeMs = cursor === undefined ? Infinity : options.now().getTime() - cursor.updatedAt.getTime();
    if (events.length > 0 || cursorAgeMs >= IDLE_CURSOR_MS) await apply(work, head, ordinalAfter(head));
    lastHead = head;
    return stepOf(head, work);
  }

  /** Every event from a block on; `isStable` when the head stood still between the first page and the last. */
  async function readFrom(firstBlock: number) {
    const first = await indexer.eventsFrom(BigInt(firstBlock) * ORDINALS_PER_BLOCK, PAGE_SIZE);
    const events = [...first.events];
    let page = first;
    while (page.events.length === PAGE_SIZE) {
      page = await indexer.eventsFrom((events.at(-1)?.ordinal ?? 0n) + 1n, PAGE_SIZE);
      events.push(...page.events);
    }
    return { head: page.block, events, isStable: page === first || page.block.hash === first.block.hash };
  }

  /**
   * The head does not continue the last one (a start, a gap, another branch): the overlap is read again and compared
   * with what was applied, so that a block that was mined anew is noticed.
   */
  async function overlap(): Promise<FollowerStep> {
    const firstBlock = cursor === undefined ? 0 : Math.max(0, cursor.headNumber - options.overlapBlocks);
    const { head, events, isStable } = await readFrom(firstBlock);
    const nothing = { fresh: [], moved: [], withdrawn: [], escrowsNow: new Map<string, IndexedEscrow>() };
    // A branch that is still shorter, or a subgraph that is behind: what is missing may come in the next blocks.
    if (cursor !== undefined && head.number < cursor.headNumber && !(await isChainShorterThan(cursor.headNumber))) {
      return stepOf(head, nothing);
    }
    shorterSince = undefined;

    const found = await compare(events, firstBlock);
    // Pages of two heads together are no picture of one chain: what is missing is judged by the next look.
    const withdrawn = isStable ? found.withdrawn : [];
    const escrowIds = withdrawn.map((record) => record.escrowId);
    const escrowsNow =
      escrowIds.length === 0
        ? nothing.escrowsNow
        : (await indexer.escrows(escrowIds, { minBlock: head.number })).escrows;
    if (withdrawn.length > 0) log.warn({ network, withdrawn: withdrawn.map(({ _id }) => _id) }, "chain reorganised");
    const work = { ...found, withdrawn, escrowsNow };
    await apply(work, head, ordinalAfter(head));
    lastHead = isStable ? head : undefined;
    return stepOf(head, work);
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
    if (cursor === undefined || lastHead === undefined) return overlap();
    const { block, events } = await indexer.eventsFrom(BigInt(cursor.nextOrdinal), PAGE_SIZE);
    const isSame = block.hash !== null && block.hash === lastHead.hash;
    const isNext = block.parentHash !== null && block.parentHash === lastHead.hash;
    return (isSame || isNext) && events.length < PAGE_SIZE ? advance(block, events) : overlap();
  }

  async function step(): Promise<FollowerStep> {
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
    step,
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
          await step();
          failures = 0;
          await pause(options.pollMs, signal);
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
