import { createFairQueue } from "./fair-queue.ts";
import { TaskLimitError } from "./limited-thread.ts";
import type { LimitedThread } from "./limited-thread.ts";

/** Runs a task in the thread whose turn it is, and returns the thread's answer. @throws as the thread does */
export type RunTask = (task: unknown) => Promise<unknown>;

/** A part of a request: it runs one task at most. */
export type Step = (run: RunTask) => Promise<void>;

/** Thrown when a lane already has as many requests waiting as it may have. */
export class QueueFullError extends Error {
  override readonly name = "QueueFullError";
}

/** A thread, and the lanes that wait for it. */
interface Line {
  thread: Pick<LimitedThread, "run" | "close">;
  queue: ReturnType<typeof createFairQueue>;
}

/** Requests of a lane that may wait, for either thread. One that was taken waits for its next turn in any case. */
const MAX_WAITING_PER_LANE = 8;
/** How long a turn lasts after its first step, by the clock. Fifty honest checks need a tenth of it. */
const TURN_MS = 1_000;
/** For how long a lane stays slow. */
const SLOW_MS = 600_000;

/**
 * Runs the steps of requests on two threads. All steps of a request are one turn, so a request of many steps doesn't
 * wait for others before each. A lane is slow for ten minutes once a task of its exceeds a limit or its turn takes too
 * long: the rest of the request and the lane's next ones wait for the second thread. Slow lanes therefore delay
 * only each other, and a lane delays the others by one turn before it counts as slow.
 * @param startThread called twice; a thread starts with its first task
 * @param elapsedMs milliseconds of a monotonic clock
 */
export class EvaluationTurns {
  readonly #startThread: () => Line["thread"];
  readonly #elapsedMs: () => number;
  readonly #prompt;
  readonly #slow;
  /** The end of each slow lane's penalty, on the scale of `elapsedMs`; the earliest comes first. */
  readonly #slowUntil = new Map<string, number>();
  /** Number of requests of each lane that wait for a turn. */
  readonly #waiting = new Map<string, number>();

  constructor(startThread: () => Line["thread"], elapsedMs: () => number) {
    this.#startThread = startThread;
    this.#elapsedMs = elapsedMs;
    this.#prompt = this.#line();
    this.#slow = this.#line();
  }

  /**
   * Runs a request's steps in order, in as many turns as they need.
   * @throws QueueFullError if too many requests of the lane wait, or the error of a step
   */
  async run(lane: string, steps: readonly Step[]): Promise<void> {
    if (steps.length === 0) return;
    if ((this.#waiting.get(lane) ?? 0) >= MAX_WAITING_PER_LANE) {
      throw new QueueFullError(`${MAX_WAITING_PER_LANE} requests of ${lane} wait already`);
    }
    this.#countWaiting(lane, 1);
    let rest = steps;
    while (rest.length > 0) {
      const left = rest;
      const line = this.#lineOf(lane);
      const turn = async (): Promise<number> => {
        // While this request waited, another one has made the lane slow.
        if (line !== this.#lineOf(lane)) return 0;
        this.#countWaiting(lane, -1);
        const ran = await this.#takeTurn(lane, line, left);
        if (ran < left.length) this.#countWaiting(lane, 1);
        return ran;
      };
      rest = left.slice(await line.queue.run(lane, turn));
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#prompt.thread.close(), this.#slow.thread.close()]);
  }

  #line(): Line {
    return { thread: this.#startThread(), queue: createFairQueue() };
  }

  #countWaiting(lane: string, change: 1 | -1): void {
    const count = (this.#waiting.get(lane) ?? 0) + change;
    if (count === 0) this.#waiting.delete(lane);
    else this.#waiting.set(lane, count);
  }

  #lineOf(lane: string): Line {
    const now = this.#elapsedMs();
    for (const [ended, until] of this.#slowUntil) {
      if (until > now) break;
      this.#slowUntil.delete(ended);
    }
    return this.#slowUntil.has(lane) ? this.#slow : this.#prompt;
  }

  #markSlow(lane: string): void {
    this.#slowUntil.delete(lane);
    this.#slowUntil.set(lane, this.#elapsedMs() + SLOW_MS);
  }

  /** Runs steps until the turn is over. Returns how many it ran. */
  async #takeTurn(lane: string, { thread }: Line, steps: readonly Step[]): Promise<number> {
    const turn = { isOver: false, ran: 0, endsAt: Infinity };
    const run: RunTask = async (task) => {
      try {
        return await thread.run(task);
      } catch (error) {
        if (error instanceof TaskLimitError) turn.isOver = true;
        throw error;
      }
    };
    for (const step of steps) {
      await step(run);
      turn.ran += 1;
      // The first step may have started the thread, which isn't the lane's fault. Its CPU time is limited anyway.
      if (turn.ran === 1) turn.endsAt = this.#elapsedMs() + TURN_MS;
      if (this.#elapsedMs() > turn.endsAt) turn.isOver = true;
      if (turn.isOver) break;
    }
    if (turn.isOver) this.#markSlow(lane);
    return turn.ran;
  }
}
