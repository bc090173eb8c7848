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
import type { SlotLimits, Slots } from "./slots.ts";

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

/** A lane while this process serves it. */
interface Turn {
  agentId: string;
  holder: string;
  isSlow: boolean;
  width: number;
  /** Whether any answer of this turn was prompt, and whether any was slow. */
  wasPrompt: boolean;
  sawSlowAnswer: boolean;
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
/** How long arrivals in the outbox gather before a look, in milliseconds. */
const WAKE_DELAY_MS = 20;
/** Interval at which a turn with running attempts checks for newly due dispatches, in milliseconds. */
const LOOK_AGAIN_MS = 1_000;
/** How long a stopping worker waits for running attempts, and then for their return to the database, in milliseconds. */
const STOP_PATIENCE_MS = 3_000;
const REQUEUE_PATIENCE_MS = 2_000;

/** Sends the contents of the outbox. Several dispatchers may run at once, in one process or in many. */
export class Dispatcher implements RepeatedLoop {
  readonly #deps: DispatcherOptions;
  readonly #turns = new Map<Turn, Promise<void>>();
  #turnCount = 0;
  #sent = 0;
  #isStopping = false;
  /** Whether lanes may wait for a slot. */
  #isCrowded = false;
  #waking: NodeJS.Timeout | undefined;
  #breakOff = new AbortController();
  readonly #looking: RepeatedLoop;
  readonly name: string;

  constructor(deps: DispatcherOptions) {
    this.#deps = deps;
    this.#looking = repeat({
      name: "outbox.dispatch",
      // A database that doesn't answer must not delay the stop. A look that still succeeds starts no attempt.
      step: async (signal) => {
        const begun = await untilAborted(this.#look(), signal);
        // The look reached its limit, so more lanes may be waiting.
        return begun >= CLAIMS_PER_LOOK ? 0 : deps.pollMs;
      },
      retry: RETRY,
      failed: "can't read the outbox",
      log: deps.log,
    });
    this.name = this.#looking.name;
  }

  /** Ends the current pause, for example after a dispatch was put into the outbox. */
  wake(): void {
    this.#looking.wake();
  }

  /** Ends the current pause a moment later, so that many arrivals cost few looks. */
  wakeSoon(): void {
    if (this.#waking !== undefined) return;
    this.#waking = setTimeout(() => {
      this.#waking = undefined;
      this.wake();
    }, WAKE_DELAY_MS).unref();
  }

  /** Sends everything that is due now and waits for the results. Returns the number of attempts. For tests. */
  async drain(): Promise<number> {
    const before = this.#sent;
    for (let begun = await this.#look(); begun > 0 || this.#turns.size > 0; begun = await this.#look()) {
      await Promise.all(this.#turns.values());
    }
    return this.#sent - before;
  }

  /** Sends due dispatches until the signal aborts. Then waits for running attempts and returns unfinished ones. */
  async run(signal: AbortSignal): Promise<void> {
    this.#isStopping = false;
    this.#breakOff = new AbortController();
    await this.#looking.run(signal);
    await this.#stop();
  }

  #slots(): Slots {
    return countSlots(this.#turns.keys(), this.#deps.slots, this.#deps.elapsedMs());
  }

  #newHolder(): string {
    return `${this.#deps.owner}#${++this.#turnCount}`;
  }

  #change(turn: Turn): void {
    turn.changes += 1;
    turn.isEmpty = false;
  }

  /** A lane sends more at once while its receiver answers promptly, and little after a slow answer. */
  #adjustWidth(turn: Turn, tookMs: number): void {
    if (tookMs > this.#deps.slots.promptMs) {
      turn.sawSlowAnswer = true;
      turn.isSlow = true;
      turn.width = NARROW_WIDTH;
    } else {
      turn.wasPrompt = true;
      if (!turn.sawSlowAnswer) turn.width = Math.min(FULL_WIDTH, turn.width * 2);
    }
  }

  async #attempt(dispatch: DispatchRecord, turn: Turn): Promise<void> {
    const { signal } = this.#breakOff;
    try {
      // Before the attempt, so that the backup is scheduled even if the worker dies during it.
      if (await this.#deps.outbox.scheduleBackup(dispatch)) this.#change(turn);
      const sentAt = this.#deps.elapsedMs();
      const result = await this.#deps.send(dispatch, signal);
      // An aborted attempt is returned to the outbox and has no outcome.
      if (signal.aborted) return;
      this.#adjustWidth(turn, this.#deps.elapsedMs() - sentAt);
      const status = await this.#deps.outbox.finish(dispatch, result);
      // The next dispatch of its chain may now be due.
      if (status === "pending" || dispatch.durable) this.#change(turn);
      const { _id, eventType, kind } = dispatch;
      const { outcome, statusCode, error, latencyMs } = result;
      this.#deps.log.info({ dispatch: _id, event: eventType, kind, outcome, statusCode, error, latencyMs }, "webhook");
    } catch (error) {
      // The lease expires, and then the dispatch is retried.
      this.#change(turn);
      this.#deps.log.error({ err: error, dispatch: dispatch._id }, "webhook attempt failed");
    }
  }

  #begin(turn: Turn, dispatch: DispatchRecord): void {
    this.#sent += 1;
    const work = this.#attempt(dispatch, turn).finally(() => turn.running.delete(work));
    turn.running.set(work, { dispatch, startedAt: this.#deps.elapsedMs() });
  }

  /** Starts attempts until nothing is due in the lane or the turn has no room for more. */
  async #fill(turn: Turn): Promise<void> {
    while (!turn.isEmpty && !this.#isStopping && this.#deps.elapsedMs() - turn.startedAt < TURN_MS) {
      const room = this.#slots().roomOf(turn);
      if (room === 0) return;
      const { changes } = turn;
      turn.lookedAt = this.#deps.elapsedMs();
      const { dispatches, hasMore } = await this.#deps.outbox.take(turn.agentId, turn.holder, room);
      turn.isEmpty = !hasMore && turn.changes === changes;
      for (const dispatch of dispatches) this.#begin(turn, dispatch);
      if (dispatches.length < room) return;
    }
  }

  async #serve(turn: Turn): Promise<void> {
    const { agentId, holder } = turn;
    try {
      await this.#fill(turn);
      while (turn.running.size > 0) {
        await Promise.race([...turn.running.keys(), turn.more.promise]);
        turn.more = Promise.withResolvers();
        await this.#fill(turn);
      }
      if (this.#breakOff.signal.aborted) return;
      const { width, isEmpty } = turn;
      const isSlow = turn.sawSlowAnswer || (turn.isSlow && !turn.wasPrompt);
      await this.#deps.lanes.release(agentId, holder, { isSlow, width, isEmpty });
    } catch (error) {
      // The lane's lease expires.
      this.#deps.log.error({ err: error, agentId }, "a turn of the outbox failed");
      await Promise.all(turn.running.keys());
    }
  }

  #beginTurn({ _id, holder, isSlow, width }: LaneRecord): void {
    const running: Turn["running"] = new Map();
    const turn: Turn = {
      agentId: _id,
      holder: holder ?? "",
      isSlow,
      width,
      running,
      wasPrompt: false,
      sawSlowAnswer: false,
      isEmpty: false,
      changes: 0,
      arrivedAt: 0,
      startedAt: this.#deps.elapsedMs(),
      lookedAt: this.#deps.elapsedMs(),
      startTimes: { [Symbol.iterator]: () => running.values().map(({ startedAt }) => startedAt) },
      more: Promise.withResolvers(),
    };
    const work = this.#serve(turn).finally(() => {
      this.#turns.delete(turn);
      if (this.#isCrowded) this.#looking.wake();
    });
    this.#turns.set(turn, work);
  }

  /** Wakes turns that wait for slow answers, if their lanes may have new dispatches. */
  async #lookAgain(): Promise<void> {
    const arrivals = await this.#deps.lanes.arrivals([...this.#turns.keys()]);
    for (const turn of this.#turns.keys()) {
      const arrivedAt = arrivals.get(turn.holder) ?? 0;
      const hasArrived = arrivedAt > turn.arrivedAt;
      if (hasArrived) this.#change(turn);
      turn.arrivedAt = Math.max(turn.arrivedAt, arrivedAt);
      const mayBeDue = !turn.isEmpty && this.#deps.elapsedMs() - turn.lookedAt >= LOOK_AGAIN_MS;
      if (hasArrived || mayBeDue) turn.more.resolve();
    }
  }

  /** Checks the outbox once: gives turns to waiting lanes while there are slots. Returns the number of new turns. */
  async #look(): Promise<number> {
    await this.#deps.lanes.admit();
    await this.#lookAgain();
    let begun = 0;
    this.#isCrowded = false;
    for (const isSlow of [false, true]) {
      const limit = Math.min(CLAIMS_PER_LOOK, this.#slots().free(isSlow));
      const claimed = await this.#deps.lanes.claim(isSlow, limit, () => this.#newHolder());
      this.#isCrowded ||= claimed.length === limit;
      for (const lane of claimed) this.#beginTurn(lane);
      begun += claimed.length;
    }
    return begun;
  }

  /**
   * Waits for running attempts, then aborts the rest and returns them, so that the next worker can take them immediately.
   */
  async #stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.race([Promise.all(this.#turns.values()), sleep(STOP_PATIENCE_MS, undefined, { ref: false })]);
    const open = [...this.#turns.keys()];
    if (open.length === 0) return;
    const dispatches = open.flatMap(({ running }) => [...running.values()].map(({ dispatch }) => dispatch));
    this.#breakOff.abort();
    this.#deps.log.info({ lanes: open.length, attempts: dispatches.length }, "attempts aborted");
    const requeued = this.#deps.outbox.requeue(dispatches).then(() =>
      this.#deps.lanes.requeue(
        open.map(({ holder }) => holder),
        open.map(({ agentId }) => agentId),
      ),
    );
    await Promise.race([requeued, sleep(REQUEUE_PATIENCE_MS, undefined, { ref: false })]).catch((error: unknown) => {
      // The leases expire.
      this.#deps.log.error({ err: error }, "couldn't return attempts");
    });
  }
}
