import type { JobDefinition } from "../../jobs/define-job.ts";
import { embedEntries } from "./index/embed-pending.ts";
import type { EmbedEntriesDeps } from "./index/embed-pending.ts";
import { sweepExpired } from "./entries/sweep.ts";
import type { SweepDeps } from "./entries/sweep.ts";

const SWEEP_EVERY_MS = 5_000;
const EMBED_EVERY_MS = 5_000;
/** Long enough for the first run with a new model, which embeds every entry. */
const EMBED_LOCK_MS = 10 * 60_000;

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
    {
      name: "memory.embed-pending",
      everyMs: EMBED_EVERY_MS,
      lockLifetimeMs: EMBED_LOCK_MS,
      run: async ({ signal }) => {
        await embedEntries(deps, signal);
      },
    },
  ];
}
