import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";

/** Thrown when a task used up its CPU time or memory. The thread is ended. */
export class TaskLimitError extends Error {
  override readonly name = "TaskLimitError";
}

/** Thrown when a task got no answer for another reason, such as a machine that gives the thread no CPU time. */
export class ThreadUnavailableError extends Error {
  override readonly name = "ThreadUnavailableError";
}

/** Limits of a thread. */
export interface ThreadLimits {
  /** CPU time of a task, in milliseconds. */
  cpuMs: number;
  /** Time of a task by the clock, in milliseconds: for a machine that is too busy to run it. */
  wallMs: number;
  heapMb: number;
}

const POLL_MS = 50;
const YOUNG_HEAP_MB = 16;
const MICROSECONDS_A_MS = 1_000;

/**
 * A thread for tasks that may never end. It runs one task at a time; the first task starts it, and the next one after a
 * task that was ended starts another. CPU time is limited and not time by the clock, so a busy machine doesn't change
 * a result. (piscina, the usual pool, limits neither.)
 * @param script the program of the thread: it answers each message with one message
 */
export function createLimitedThread(script: URL, limits: ThreadLimits) {
  let worker: Worker | undefined;

  function create(): Worker {
    const thread = new Worker(script, {
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMb, maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
      // Strangers' expressions get none of this process's secrets.
      env: {},
      execArgv: [],
    });
    const forget = (): void => {
      if (worker === thread) worker = undefined;
    };
    thread.on("error", forget);
    thread.on("exit", forget);
    thread.unref();
    return thread;
  }

  /**
   * Starts a thread. No task is to blame if that fails.
   * @throws ThreadUnavailableError
   */
  async function start(): Promise<Worker> {
    const ended = new AbortController();
    const { signal } = ended;
    let thread: Worker | undefined;
    try {
      thread = create();
      worker = thread;
      await Promise.race([once(thread, "online", { signal }), ...ends(thread, signal)]);
      return thread;
    } catch (error) {
      await stop(thread);
      throw new ThreadUnavailableError("The thread didn't start", { cause: error });
    } finally {
      ended.abort();
    }
  }

  async function stop(thread: Worker | undefined): Promise<void> {
    if (worker === thread) worker = undefined;
    await thread?.terminate();
  }

  /** End with an error once the thread has ended, or has had all the time that it may have. */
  function ends(thread: Worker, signal: AbortSignal): Promise<never>[] {
    return [
      once(thread, "exit", { signal }).then(() => {
        throw new ThreadUnavailableError("The thread has ended");
      }),
      sleep(limits.wallMs, undefined, { signal }).then(() => {
        throw new ThreadUnavailableError(`The thread took more than ${limits.wallMs} ms`);
      }),
    ];
  }

  /** Ends with an error once the task has used up its time. */
  async function watch(thread: Worker, signal: AbortSignal): Promise<never> {
    // A thread that has ended reports no times; its own events say why it ended.
    const timesOf = (earlier?: NodeJS.CpuUsage) => thread.cpuUsage(earlier).catch(() => whenAborted(signal));
    const before = await timesOf();
    for (;;) {
      await sleep(POLL_MS, undefined, { signal });
      const { user, system } = await timesOf(before);
      if ((user + system) / MICROSECONDS_A_MS > limits.cpuMs) {
        throw new TaskLimitError(`took more than ${limits.cpuMs} ms of CPU time`);
      }
    }
  }

  return {
    /**
     * Runs a task and returns the thread's answer. Call it again only after it has ended.
     * @throws TaskLimitError, ThreadUnavailableError
     */
    async run(task: unknown): Promise<unknown> {
      const thread = worker ?? (await start());
      const ended = new AbortController();
      const { signal } = ended;
      const answered = once(thread, "message", { signal });
      try {
        thread.postMessage(task);
        const ending = [answered, ...ends(thread, signal), watch(thread, signal)];
        const [answer] = (await Promise.race(ending)) as [unknown];
        return answer;
      } catch (error) {
        await stop(thread);
        throw asLimit(error);
      } finally {
        ended.abort();
      }
    },

    async close(): Promise<void> {
      await worker?.terminate();
    },
  };
}

/** A thread for tasks that may never end. */
export type LimitedThread = ReturnType<typeof createLimitedThread>;

/** Ends with the signal's reason, and not before. */
function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      reject(signal.reason as Error);
    });
  });
}

/** Converts a failure of the thread to an error of this module. `once` rejects with the thread's own error. */
function asLimit(error: unknown): Error {
  if (error instanceof TaskLimitError || error instanceof ThreadUnavailableError) return error;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ERR_WORKER_OUT_OF_MEMORY") return new TaskLimitError("needed too much memory");
  return new ThreadUnavailableError("The thread has failed", { cause: error });
}
