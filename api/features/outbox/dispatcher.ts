import { setTimeout as sleep } from "node:timers/promises";

import { repeat } from "../../jobs/background-loop.ts";
import type { RepeatedLoop } from "../../jobs/background-loop.ts";
import type { Logger } from "../../lib/logger.ts";
import { untilAborted } from "../../lib/stopping.ts";
import { FULL_WIDTH, NARROW_WIDTH } from "./lanes.ts";
import type { Lanes } from "./lanes.ts";
import type { AttemptResult, DispatchRecord, LaneRecord } from "./model.ts";
import type { Outbox } from "./outbox.ts";
import { countSlots } from "./slots.ts";
import type { SlotLimits } from "./slots.ts";

/** Makes one attempt. A receiver's failure is a result, not an error. */
export type Send = (dispatch: DispatchRecord, signal: AbortSignal) => Promise<AttemptResult>;

/** Settings and dependencies of the dispatcher. */
export interface DispatcherOptions {
  outbox: Outbox;
  lanes: Lanes;
  send: Send;
  log: Logger;
  /** Milliseconds of a monotonic clock. */
  elapsedMs: () => number;
  /** Identifies this process in leases. */
  owner: string;
  /** Pause between checks of an empty outbox, in milliseconds. */
  pollMs: number;
  slots: SlotLimits;
}

/** Sends the contents of the outbox. Several dispatchers may run at once, in one process or in many. */
export interface Dispatcher extends RepeatedLoop {
  /** Sends everything that is due now and waits for the results. Returns the number of attempts. For tests. */
  drain(): Promise<number>;
  /** Sends due dispatches until the signal aborts. Then waits for running attempts and returns unfinished ones. */
  run(signal: AbortSignal): Promise<void>;
}

/** A lane while this process serves it. */
interface Turn {
  agentId: string;
  holder: string;
  isSlow: boolean;
  width: number;
  /** Whether any answer of this turn was prompt, and whether any was slow. */
  wasPrompt: boolean;
  hasHung: boolean;
  /** Whether its lane is empty, except for later arrivals. */
  isEmpty: boolean;
  /**
   * Rises whenever the lane may have new dispatches, so that a check that started earlier doesn't report it as empty.
   */
  changes: number;
  /** Time of the latest arrival in the lane that this turn knows of. */
  arrivedAt: number;
  /** When the turn last checked the lane. */
  lookedAt: number;
  startedAt: number;
  running: Map<Promise<void>, { dispatch: DispatchRecord; startedAt: number }>;
  startTimes: Iterable<number>;
  /** Resolved when the lane may have new dispatches, to end the turn's wait. */
  more: PromiseWithResolvers<void>;
}

const RETRY = { minMs: 1_000, maxMs: 1_000 };
/** Maximum number of lanes claimed at once. */
const CLAIMS_PER_LOOK = 64;
/** How long a turn starts attempts, in milliseconds. With the time of an attempt, it is well within a lane's lease. */
const TURN_MS = 10_000;
/** Interval at which a turn with running attempts checks for newly due dispatches, in milliseconds. */
const LOOK_AGAIN_MS = 1_000;
/** How long a stopping worker waits for running attempts, and then for their return to the database, in milliseconds. */
const STOP_PATIENCE_MS = 3_000;
const HAND_BACK_PATIENCE_MS = 2_000;

/** Creates the worker side of the outbox. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { outbox, lanes, log, elapsedMs, owner } = options;
  const turns = new Map<Turn, Promise<void>>();
  let turnCount = 0;
  let sent = 0;
  let isStopping = false;
  /** Whether lanes may wait for a slot. */
  let isCrowded = false;
  let breakOff = new AbortController();

  const slots = () => countSlots(turns.keys(), options.slots, elapsedMs());
  const newHolder = () => `${owner}#${++turnCount}`;

  function change(turn: Turn): void {
    turn.changes += 1;
    turn.isEmpty = false;
  }

  /** Records whether an answer was prompt or slow. */
  function judge(turn: Turn, tookMs: number): void {
    if (tookMs > options.slots.promptMs) {
      turn.hasHung = true;
      turn.isSlow = true;
      turn.width = NARROW_WIDTH;
    } else {
      turn.wasPrompt = true;
      if (!turn.hasHung) turn.width = Math.min(FULL_WIDTH, turn.width * 2);
    }
  }

  async function attempt(dispatch: DispatchRecord, turn: Turn): Promise<void> {
    const { signal } = breakOff;
    try {
      // Before the attempt, so that the backup is scheduled even if the worker dies during it.
      if (await outbox.scheduleBackup(dispatch)) change(turn);
      const sentAt = elapsedMs();
      const result = await options.send(dispatch, signal);
      // An aborted attempt is returned to the outbox and has no outcome.
      if (signal.aborted) return;
      judge(turn, elapsedMs() - sentAt);
      const status = await outbox.finish(dispatch, result);
      // The next dispatch of its chain may now be due.
      if (status === "pending" || dispatch.durable) change(turn);
      const { _id, eventType, kind } = dispatch;
      const { outcome, statusCode, error, latencyMs } = result;
      log.info({ dispatch: _id, event: eventType, kind, outcome, statusCode, error, latencyMs }, "webhook");
    } catch (error) {
      // The lease expires, and then the dispatch is retried.
      change(turn);
      log.error({ err: error, dispatch: dispatch._id }, "webhook attempt failed");
    }
  }

  function begin(turn: Turn, dispatch: DispatchRecord): void {
    sent += 1;
    const work = attempt(dispatch, turn).finally(() => turn.running.delete(work));
    turn.running.set(work, { dispatch, startedAt: elapsedMs() });
  }

  /** Starts attempts until nothing is due in the lane or the turn has no room for more. */
  async function fill(turn: Turn): Promise<void> {
    while (!turn.isEmpty && !isStopping && elapsedMs() - turn.startedAt < TURN_MS) {
      const room = slots().roomOf(turn);
      if (room === 0) return;
      const { changes } = turn;
      turn.lookedAt = elapsedMs();
      const { dispatches, hasMore } = await outbox.take(turn.agentId, turn.holder, room);
      turn.isEmpty = !hasMore && turn.changes === changes;
      for (const dispatch of dispatches) begin(turn, dispatch);
      if (dispatches.length < room) return;
    }
  }

  async function serve(turn: Turn): Promise<void> {
    const { agentId, holder } = turn;
    try {
      await fill(turn);
      while (turn.running.size > 0) {
        await Promise.race([...turn.running.keys(), turn.more.promise]);
        turn.more = Promise.withResolvers();
        await fill(turn);
      }
      if (breakOff.signal.aborted) return;
      const { width, isEmpty } = turn;
      const isSlow = turn.hasHung || (turn.isSlow && !turn.wasPrompt);
      await lanes.release(agentId, holder, { isSlow, width, isEmpty });
    } catch (error) {
      // The lane's lease expires.
      log.error({ err: error, agentId }, "a turn of the outbox failed");
      await Promise.all(turn.running.keys());
    }
  }

  function beginTurn({ _id, holder, isSlow, width }: LaneRecord): void {
    const running: Turn["running"] = new Map();
    const turn: Turn = {
      agentId: _id,
      holder: holder ?? "",
      isSlow,
      width,
      running,
      wasPrompt: false,
      hasHung: false,
      isEmpty: false,
      changes: 0,
      arrivedAt: 0,
      startedAt: elapsedMs(),
      lookedAt: elapsedMs(),
      startTimes: { [Symbol.iterator]: () => running.values().map(({ startedAt }) => startedAt) },
      more: Promise.withResolvers(),
    };
    const work = serve(turn).finally(() => {
      turns.delete(turn);
      if (isCrowded) looking.wake();
    });
    turns.set(turn, work);
  }

  /** Wakes turns that wait for slow answers, if their lanes may have new dispatches. */
  async function lookAgain(): Promise<void> {
    const arrivals = await lanes.arrivals([...turns.keys()]);
    for (const turn of turns.keys()) {
      const arrivedAt = arrivals.get(turn.holder) ?? 0;
      const hasArrived = arrivedAt > turn.arrivedAt;
      if (hasArrived) change(turn);
      turn.arrivedAt = Math.max(turn.arrivedAt, arrivedAt);
      const mayBeDue = !turn.isEmpty && elapsedMs() - turn.lookedAt >= LOOK_AGAIN_MS;
      if (hasArrived || mayBeDue) turn.more.resolve();
    }
  }

  /** Checks the outbox once: gives turns to waiting lanes while there are slots. Returns the number of new turns. */
  async function look(): Promise<number> {
    await lanes.admit();
    await lookAgain();
    let begun = 0;
    isCrowded = false;
    for (const isSlow of [false, true]) {
      const limit = Math.min(CLAIMS_PER_LOOK, slots().free(isSlow));
      const claimed = await lanes.claim(isSlow, limit, newHolder);
      isCrowded ||= claimed.length === limit;
      for (const lane of claimed) beginTurn(lane);
      begun += claimed.length;
    }
    return begun;
  }

  /**
   * Waits for running attempts, then aborts the rest and returns them, so that the next worker can take them immediately.
   */
  async function stop(): Promise<void> {
    isStopping = true;
    await Promise.race([Promise.all(turns.values()), sleep(STOP_PATIENCE_MS, undefined, { ref: false })]);
    const open = [...turns.keys()];
    if (open.length === 0) return;
    const dispatches = open.flatMap(({ running }) => [...running.values()].map(({ dispatch }) => dispatch));
    breakOff.abort();
    log.info({ lanes: open.length, attempts: dispatches.length }, "attempts aborted");
    const handedBack = outbox.handBack(dispatches).then(() =>
      lanes.handBack(
        open.map(({ holder }) => holder),
        open.map(({ agentId }) => agentId),
      ),
    );
    await Promise.race([handedBack, sleep(HAND_BACK_PATIENCE_MS, undefined, { ref: false })]).catch(
      (error: unknown) => {
        // The leases expire.
        log.error({ err: error }, "couldn't return attempts");
      },
    );
  }

  const looking = repeat({
    name: "outbox.dispatch",
    // A database that doesn't answer must not delay the stop. A look that still succeeds starts no attempt.
    async step(signal) {
      const begun = await untilAborted(look(), signal);
      // The look reached its limit, so more lanes may be waiting.
      return begun >= CLAIMS_PER_LOOK ? 0 : options.pollMs;
    },
    retry: RETRY,
    failed: "can't read the outbox",
    log,
  });

  return {
    name: looking.name,
    wake: () => {
      looking.wake();
    },
    async drain() {
      const before = sent;
      for (let begun = await look(); begun > 0 || turns.size > 0; begun = await look()) {
        await Promise.all(turns.values());
      }
      return sent - before;
    },
    async run(signal) {
      isStopping = false;
      breakOff = new AbortController();
      await looking.run(signal);
      await stop();
    },
  };
}
