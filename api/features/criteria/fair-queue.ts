/**
 * Runs work one at a time, and the lanes in turn: a lane with much work delays another's by one piece at most.
 * It takes any amount of work, so its callers limit what waits.
 */
export function createFairQueue() {
  const lanes = new Map<string, (() => Promise<void>)[]>();
  let isRunning = false;

  /** The lane whose turn it is: not the last one again if another waits. */
  function nextLane(last: string | undefined): string | undefined {
    return lanes.keys().find((lane) => lane !== last) ?? lanes.keys().next().value;
  }

  async function runAll(): Promise<void> {
    isRunning = true;
    for (let lane = nextLane(undefined); lane !== undefined; lane = nextLane(lane)) {
      const waiting = lanes.get(lane) ?? [];
      const work = waiting.shift();
      // To the end of the line, behind the other lanes.
      lanes.delete(lane);
      if (waiting.length > 0) lanes.set(lane, waiting);
      await work?.();
    }
    isRunning = false;
  }

  return {
    /** Runs work when it is its lane's turn. */
    run<T>(lane: string, work: () => Promise<T>): Promise<T> {
      const waiting = lanes.get(lane) ?? [];
      return new Promise<T>((resolve, reject) => {
        waiting.push(() => work().then(resolve, reject));
        lanes.set(lane, waiting);
        if (!isRunning) void runAll();
      });
    },
  };
}
