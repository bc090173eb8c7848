import type { JobDefinition } from "../../jobs/define-job.ts";
import { embedJobs } from "../../search/embedding/embed-jobs.ts";
import { embedEntries } from "./index/embed-pending.ts";
import type { EmbedEntriesDeps } from "./index/embed-pending.ts";
import { sweepExpired } from "./entries/sweep.ts";
import type { SweepDeps } from "./entries/sweep.ts";

const SWEEP_EVERY_MS = 5_000;

/** Jobs of the memory feature. */
export function memoryJobs(deps: SweepDeps & EmbedEntriesDeps): JobDefinition[] {
  return [
    {
      name: "memory.sweep-expired",
      everyMs: SWEEP_EVERY_MS,
      run: async ({ signal }) => {
        await sweepExpired(deps, signal);
      },
    },
    ...embedJobs("memory", (run) => embedEntries(deps, run)),
  ];
}
