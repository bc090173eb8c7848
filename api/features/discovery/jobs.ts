import type { JobDefinition } from "../../jobs/define-job.ts";
import { embedPending } from "./embed-pending.ts";
import type { EmbedPendingDeps } from "./embed-pending.ts";

const EMBED_EVERY_MS = 15_000;
/** Long enough for the first run with a new model, which embeds every listing. */
const LOCK_LIFETIME_MS = 10 * 60_000;

/** Jobs of the discovery feature. */
export function searchJobs(deps: EmbedPendingDeps): JobDefinition[] {
  return [
    {
      name: "search.embed-pending",
      everyMs: EMBED_EVERY_MS,
      lockLifetimeMs: LOCK_LIFETIME_MS,
      run: async ({ log, signal }) => {
        await embedPending(deps, log, signal);
      },
    },
  ];
}
