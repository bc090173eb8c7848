/** Tests that run one after the other: a file, a few files, or a whole runner. */
export interface Job {
  /** How long it takes, by its last run. */
  expectedSeconds: number;
  run: () => Promise<void>;
}

/** Runs jobs side by side in that many lanes, the longest first. */
export async function runJobs(jobs: readonly Job[], lanes: number): Promise<void> {
  const queue = [...jobs].sort((a, b) => b.expectedSeconds - a.expectedSeconds);
  const lane = async (): Promise<void> => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) await job.run();
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** One job that runs the given ones in turn. */
export function inTurn(jobs: readonly Job[]): Job {
  return {
    expectedSeconds: jobs.reduce((sum, { expectedSeconds }) => sum + expectedSeconds, 0),
    async run() {
      for (const job of jobs) await job.run();
    },
  };
}
